"""What happened in a run of the SLAQ world."""

from __future__ import annotations

from mlsched.simulation import log


class Log(log.Log):
    """One row for every segment between two scheduling events in which a job held cores: [start, end) in s, how many
    cores, the core-milliseconds of work done in all by the end, and the loss then (10^-9 of the job's unit).
    """

    names = ("job", "start", "end", "cores", "served", "loss")
