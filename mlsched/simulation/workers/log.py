"""Events of a run of the Chic world."""

from __future__ import annotations

from mlsched.simulation import log

#: Work is counted in thousandths of an iteration.
PARTS = 1000


class Log(log.Log):
    """One row for every segment in which a job used its workers and PSs.

    A row has [start, end) in ms, the numbers of workers and PSs, and the remaining thousandths of an iteration at the
    end. A segment ends when the job is done, or at a re-schedule (with floor = "changed": at a re-schedule that changes
    it).
    """

    names = ("job", "start", "end", "workers", "ps", "left")
