"""Detection of runs that pause jobs again and again without progress, to end or remark on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.errors import shorten
from mlsched.simulation.taskgraph.iterations.workload import WHOLE

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.placements import Placements

#: Pauses without progress after which a run is stuck, plus a number per unfinished job.
FRUITLESS, PER_JOB = 1000, 10
#: Least number of pauses for a remark that most of them were shorter than their cost.
MANY = 100
REMEDY = "use a longer quantum or higher thresholds"


class Thrashing:
    """Pauses of a run since the last progress of a job, and the pauses that were shorter than their cost."""

    def __init__(self) -> None:
        self._since = self._pauses = self._short = 0
        self._jobs: set[int] = set()
        self._running: dict[int, tuple[int, int]] = {}

    def advanced(self) -> None:
        """Record the progress of a job."""
        self._since = 0
        self._jobs.clear()
        self._running.clear()

    def paused(self, job: int, progress: bool) -> None:
        """Record a pause of a job; `progress` is True if it progressed since it last started."""
        if progress:
            self.advanced()
        else:
            self._since += 1
            self._jobs.add(job)

    def resumed(self, idle: int, cost: int) -> None:
        """Record that a job continues after `idle` ticks, at a cost in 10^-6 ticks."""
        self._pauses += 1
        self._short += idle * WHOLE < cost

    def found(self, world: Placements) -> str:
        """Return a sentence if only fruitless pauses have occurred for too long; else ""."""
        if self._since <= FRUITLESS + PER_JOB * world.unfinished():
            return ""
        running = {job.number: job.segment.progress(world.now)[:2] for job in world.segments.values() if job.segment}
        if any(before < running[job] for job, before in self._running.items() if job in running):
            self.advanced()
            return ""
        if not self._running:  # check again before the run is aborted: a running job may progress
            self._since, self._running = FRUITLESS, running
            return ""
        names = world.workload.job_names
        jobs = ", ".join(names[job] if names else str(job) for job in sorted(self._jobs))
        return f"{len(self._jobs)} jobs are paused again and again and get no further ({shorten(jobs, 40)}); {REMEDY}"

    def remark(self) -> str:
        """Return a sentence if most pauses were shorter than their cost; else ""."""
        if self._pauses < MANY or 2 * self._short <= self._pauses:
            return ""
        return f"{self._short} of {self._pauses} pauses were shorter than their pause cost; {REMEDY}"
