"""What happened in a run of the Chic world."""

from __future__ import annotations

from mlsched.simulation import log

#: Work is counted in thousandths of an iteration.
PARTS = 1000


class Log(log.Log):
    """One row for every segment in which a job held its workers and PSs: [start, end) in ms, how many, and the
    thousandths of an iteration that were left at the end.

    A segment ends when the job is done, or at a re-schedule (with floor = "changed": at one that changes it).
    """

    names = ("job", "start", "end", "workers", "ps", "left")
