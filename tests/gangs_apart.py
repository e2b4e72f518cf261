"""A simulator of gangs on GPUs, written apart from mlsched: plain Python, one event after another, exact fractions.

A job asks for GPUs and runs for so many ticks. Its tasks are what it holds on one node: whole nodes and a remainder, or
single GPUs (`anywhere`). At every time at which a job ends or arrives, ends free their nodes, arrivals queue, and the
policy decides:

- "fifo": in order of arrival, each on the fullest nodes with room; the first without room holds up all behind it;
- "best-effort": as that, but others pass;
- "srpt": as "best-effort", in order of remaining ticks x GPUs;
- "refill": the same order over running jobs, too, which come first of equals; the cluster is filled anew. A running job
  stays where it is, or moves (if it may), or pauses; who pauses goes on later, on any nodes (if it may, else on its
  own).

Whoever goes on after a pause or a move holds its nodes for `cost` ticks before it makes progress.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction


@dataclasses.dataclass
class Job:
    """`nodes`: of each task, where it runs now, [] while it waits; `last`: where it ran last."""

    number: int
    arrival: int
    remaining: Fraction
    tasks: list[int]
    nodes: list[int] = dataclasses.field(default_factory=list)
    last: list[int] = dataclasses.field(default_factory=list)
    since: int = 0
    loading: Fraction = Fraction(0)
    starts: list[tuple[int, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    end: int = -1

    def left(self, now: int) -> Fraction:
        """Ticks of work that remain at a time."""
        return self.remaining - max(Fraction(0), now - self.since - self.loading) if self.nodes else self.remaining

    def key(self, now: int) -> tuple[int, int, int, int]:
        """Place in the order of remaining work; a scheduler sees whole ticks, rounded up."""
        return (math.ceil(self.left(now)) * sum(self.tasks), int(not self.nodes), self.arrival, self.number)

    def ends(self) -> int:
        return self.since + math.ceil(self.loading + self.remaining)


class Apart:
    """Run it with `run`; then `jobs` hold their starts (time, node of each task) and ends."""

    def __init__(self, submits, ticks, gpus, *, nodes, per_node, policy, cost=Fraction(0), anywhere=False, moves=True):
        self.size, self.count, self.policy = per_node, nodes, policy
        self.cost, self.moves = cost, moves
        self.jobs = [
            Job(j, submit, Fraction(length), self.shape(asked, anywhere))
            for j, (submit, length, asked) in enumerate(zip(submits, ticks, gpus, strict=True))
        ]

    def shape(self, gpus: int, anywhere: bool) -> list[int]:
        if anywhere:
            return [1] * gpus
        full, rest = divmod(gpus, self.size)
        return [self.size] * full + ([rest] if rest else [])

    def run(self) -> Apart:
        waiting: list[Job] = []
        running: list[Job] = []
        upcoming = sorted(self.jobs, key=lambda job: (job.arrival, job.number))
        while upcoming or running or waiting:
            times = [job.ends() for job in running] + [job.arrival for job in upcoming[:1]]
            now = min(times)
            for job in [job for job in running if job.ends() == now]:
                running.remove(job)
                job.end = now
            while upcoming and upcoming[0].arrival == now:
                waiting.append(upcoming.pop(0))
            self.refill(now, running, waiting) if self.policy == "refill" else self.list(now, running, waiting)
        return self

    def free(self, running: list[Job]) -> list[int]:
        free = [self.size] * self.count
        for job in running:
            for task, node in zip(job.tasks, job.nodes, strict=True):
                free[node] -= task
        return free

    def list(self, now: int, running: list[Job], waiting: list[Job]) -> None:
        """The policies that never pause."""
        free = self.free(running)
        for job in sorted(waiting, key=(lambda job: job.key(now)) if self.policy == "srpt" else lambda job: job.number):
            nodes = self.place(free, job.tasks)
            if nodes is None and self.policy == "fifo":
                return
            if nodes is not None:
                waiting.remove(job)
                running.append(job)
                self.start(job, now, nodes)

    def refill(self, now: int, running: list[Job], waiting: list[Job]) -> None:
        free = [self.size] * self.count
        order = sorted(running + waiting, key=lambda job: job.key(now))
        for job in order:
            own = job.nodes if job.nodes else [] if self.moves else job.last
            nodes = self.hold(free, job.tasks, own) if own else None
            if nodes is None and (self.moves or not job.last):
                nodes = self.place(free, job.tasks)
            if nodes == job.nodes:
                continue
            if job.nodes:
                job.remaining = job.left(now)
                running.remove(job)
                waiting.append(job)
                job.nodes = []
            if nodes is not None:
                waiting.remove(job)
                running.append(job)
                self.start(job, now, nodes)

    def start(self, job: Job, now: int, nodes: list[int]) -> None:
        job.loading = self.cost if job.last else Fraction(0)
        job.nodes, job.last, job.since = nodes, nodes, now
        job.starts.append((now, tuple(nodes)))

    @staticmethod
    def hold(free: list[int], tasks: list[int], nodes: list[int]) -> list[int] | None:
        """These very nodes, if all of them have room."""
        after = list(free)
        for task, node in zip(tasks, nodes, strict=True):
            after[node] -= task
        if min(after) < 0:
            return None
        free[:] = after
        return nodes

    @staticmethod
    def place(free: list[int], tasks: list[int]) -> list[int] | None:
        """Each task on the fullest node with room, the first of these; None if one finds none."""
        after, nodes = list(free), []
        for task in tasks:
            able = [(room, node) for node, room in enumerate(after) if room >= task]
            if not able:
                return None
            nodes.append(min(able)[1])
            after[nodes[-1]] -= task
        free[:] = after
        return nodes
