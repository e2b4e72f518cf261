"""What happened in a run of the FitGpp world."""

from __future__ import annotations

from mlsched.simulation import log


class Log(log.Log):
    """One row for every segment in which a job held a node: [start, end), the signal that ended it (-1: none), and
    whether the job was finished by its end (1) or not (0).
    """

    names = ("job", "node", "start", "end", "signal", "finished")
