"""Events of a run of the FitGpp world."""

from __future__ import annotations

from mlsched.simulation import log


class Log(log.Log):
    """One row for every segment in which a job used a node.

    A row has [start, end), the signal that ended it (-1: without a signal), and 1 if the job was finished by its end,
    else 0.
    """

    names = ("job", "node", "start", "end", "signal", "finished")
