"""Orders of queues, jobs and victims (rules A4, A5, A6)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Mapping

from mlsched_admission.instances.systems.kai.model import ZERO, Job, Pod, Queue, Session, Vector, sum_of_vectors


def sort_key_of_job(job: Job, leaving: Container[Pod] = ()) -> tuple[int, int, int, str]:
    """Return the sort key of jobs in a queue (A5), without pods that are gone."""
    below = any(job.active_count(name, leaving) < least for name, least in job.minima.items())
    above = any(job.active_count(name, leaving) > least for name, least in job.minima.items())
    return (-job.priority, 0 if below else 2 if above else 1, job.created, job.uid)


def compare_queues(
    first_queue: Queue, right: Queue, requests: tuple[Vector, Vector], popped: tuple[Vector, Vector]
) -> int:
    """Return below 0 if the left queue comes first (A4). popped: amounts subtracted in step 5 (A6)."""
    steps: list[Callable[[Queue, Vector, Vector], object]] = [
        lambda q, job, subtracted: any(a > f for a, f in zip(q.allocated, q.fair, strict=True)),
        lambda q, job, subtracted: not q.within_deserved(sum_of_vectors(q.allocated, job)),
        lambda q, job, subtracted: -q.priority,
        lambda q, job, subtracted: any(job[r] > 0 and q.allocatable(r) == 0 for r in range(3)),
        lambda q, job, subtracted: _dominant_share(q, sum_of_vectors(sum_of_vectors(q.allocated, job), subtracted, -1)),
        lambda q, job, subtracted: _dominant_share(q, q.allocated),
    ]
    for step in steps:
        a, b = step(first_queue, requests[0], popped[0]), step(right, requests[1], popped[1])
        if a != b:
            return -1 if a < b else 1  # type: ignore[operator]
    mine, theirs = [[q.allocatable(r) for r in range(3)] for q in (first_queue, right)]
    if mine != theirs:
        if all(a <= b for a, b in zip(mine, theirs, strict=True)):
            return -1
        if all(a >= b for a, b in zip(mine, theirs, strict=True)):
            return 1
    ends = (first_queue.created, first_queue.name), (right.created, right.name)
    return -1 if ends[0] < ends[1] else int(ends[0] > ends[1])


def _dominant_share(queue: Queue, amounts: Vector) -> float:
    """Return the largest share of the allocatable amounts."""
    shares = [0.0]
    for r, amount in enumerate(amounts):
        if amount > 0:
            most = queue.allocatable(r)
            shares.append(amount / most if most else float("inf"))
    return max(shares)


class Line:
    """Jobs by queue, level by level; the next one is taken from the first queue.

    victims: leaving pods; the next job is then the last one, of the last queue (A6).
    """

    def __init__(
        self,
        session: Session,
        jobs: Iterable[Job],
        *,
        victims: Container[Pod] | None = None,
        chunk: Callable[[Job], Iterable[Pod]] = Job.chunk_to_place,
    ) -> None:
        self.session, self.victims, self.chunk = session, victims, chunk
        self.jobs: dict[str, list[Job]] = {}
        self.popped: dict[str, Vector] = {}
        for job in jobs:
            self.add_job(job)

    def add_job(self, job: Job) -> None:
        """Add a job."""
        if job.queue in self.session.queues:
            self.jobs.setdefault(job.queue, []).append(job)

    def next_job(self) -> Job | None:
        """Return the next job; None if the line is empty."""
        best = self._best_job([q for q in self.session.queues.values() if q.parent not in self.session.queues])
        if best is None:
            return None
        _, job = best
        self.jobs[job.queue].remove(job)
        return job

    def subtract_victim(self, job: Job, amounts: Vector) -> None:
        """Take a popped victim off its queues."""
        for queue in self.session.path_to_root(job.queue):
            self.popped[queue.name] = sum_of_vectors(self.popped.get(queue.name, ZERO), amounts)

    def _best_job(self, queues: Iterable[Queue]) -> tuple[Queue, Job] | None:
        """Return the first queue among siblings, with its best leaf's best job."""
        leaders = []
        for queue in queues:
            job = self._first_job(queue)
            if job is not None:
                leaders.append((queue, job))
        if not leaders:
            return None
        requests = {queue.name: self.session.requested_amounts(self.chunk(job)) for queue, job in leaders}
        subtracted: Mapping[str, Vector] = self.popped

        def order(a: tuple[Queue, Job], b: tuple[Queue, Job]) -> int:
            names = a[0].name, b[0].name
            return compare_queues(
                a[0],
                b[0],
                (requests[names[0]], requests[names[1]]),
                (subtracted.get(names[0], ZERO), subtracted.get(names[1], ZERO)),
            )

        key = functools.cmp_to_key(order)
        return (min if self.victims is None else max)(leaders, key=lambda one: key(one))

    def _first_job(self, queue: Queue) -> Job | None:
        if queue.children:
            below = self._best_job(self.session.queues[name] for name in queue.children)
            return None if below is None else below[1]
        line = self.jobs.get(queue.name)
        if not line:
            return None
        if self.victims is None:
            return min(line, key=sort_key_of_job)
        leaving = self.victims
        return max(line, key=lambda job: sort_key_of_job(job, leaving))
