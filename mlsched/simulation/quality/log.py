"""Events of a run of the SLAQ world."""

from __future__ import annotations

from mlsched.simulation import log


class Log(log.Log):
    """One row for every segment between two scheduling events in which a job used cores.

    A row has [start, end) in s, the number of cores, the total core-milliseconds of work done by the end, and the loss
    at the end (10^-9 of the job's unit).
    """

    names = ("job", "start", "end", "cores", "served", "loss")
