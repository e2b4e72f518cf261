"""Run under an order of jobs: queues by shape, updated at changes instead of rebuilt at every event.

It covers gangs (and single tasks) without edges and with pooled GPUs (`serves`); other workloads are served by
snapshots. Both apply the same order: the round at a time is that of `heuristics/taskgraph/_order.answer` on the
snapshot of that time.

Jobs that wait for the same shape form one queue, sorted by key. Room only shrinks within a round, so a shape without
room is skipped for the rest of it.
"""

from __future__ import annotations

import heapq
import operator
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.heuristics.taskgraph._capacity import Shape, places
from mlsched.heuristics.taskgraph._order import Order
from mlsched.heuristics.taskgraph.preemption import refuse_unless_pausing
from mlsched.instances.taskgraph.units import gpu_seconds
from mlsched.simulation.taskgraph.iterations import preempt
from mlsched.simulation.taskgraph.iterations.backfill import Backfill
from mlsched.simulation.taskgraph.iterations.facts import Facts, RunningJob
from mlsched.simulation.taskgraph.iterations.shares import Shares

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.state import JobState
    from mlsched.simulation.taskgraph.iterations.world import IterationWorld

Entry = tuple[Any, ...]


def serves(world: IterationWorld, order: Order) -> bool:
    """Return whether an order can be served without snapshots in a world."""
    jobs, options = world.workload, world.options
    if order.stop != "most" or order.nodes not in ("auto", "best-fit") or order.packs is not None:
        return False
    if len(jobs.edge_from) or jobs.gpu_unit or (order.pools and not jobs.duration.all()):
        return False
    still = options.pausing == "none" and not len(jobs.failure_node)
    if options.usage != "demand" or not (world.movement == "anytime" or still):
        return False
    first = np.array([begin for begin, _ in jobs.tasks], dtype=np.int64)
    counts = np.bincount(jobs.task_template, minlength=len(first))
    of_first = first[jobs.task_template]
    equal = all((c == c[of_first]).all() for c in (jobs.duration, jobs.estimate, jobs.task_class))
    return bool(equal and ((jobs.gang == 1) | (counts == 1)).all())


class Queue:
    """Queue of jobs that wait for one shape: their entries in order, from `head` on."""

    __slots__ = ("entries", "head", "number", "shape")

    def __init__(self, number: int, shape: Shape) -> None:
        self.number, self.shape, self.head = number, shape, 0
        self.entries: list[Entry] = []

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries[self.head :])

    def add(self, entry: Entry) -> None:
        """Add an entry at its position."""
        if not self.entries or self.entries[-1] < entry:
            self.entries.append(entry)
        else:
            insort(self.entries, entry, self.head)

    def remove(self, entry: Entry) -> None:
        """Remove an entry."""
        if self.entries[self.head] is entry:
            self.head += 1
            if self.head > 64 and self.head * 2 > len(self.entries):
                del self.entries[: self.head]
                self.head = 0
        else:
            del self.entries[bisect_left(self.entries, entry, self.head)]


class Engine:
    """Queues of the waiting jobs and, for a preemptive order, the `ranked` running jobs."""

    def __init__(self, world: IterationWorld, order: Order, name: str) -> None:
        self.world, self.order, self.name = world, order, name
        if order.needs_gpus:
            gpu_seconds(world.workload, order.needs_gpus)  # type: ignore[arg-type]
        if order.must_pause:
            refuse_unless_pausing(world.options, order.must_pause)
        self.preempts = order.preempts and world.options.pausing == "keep"
        self.facts = Facts(world)
        #: Keys of running jobs only fall, unless a first iteration may show that a job takes longer.
        self._falls = order.falls and all(map(operator.le, self.facts.true, self.facts.told))
        self.queues: dict[int, Queue] = {}
        self.waiting = self.decisions = 0
        self.filled: dict[int, Queue] = {}  # nonempty queues, by their number
        self.ranked: list[tuple[Entry, JobState]] = []
        self._first = [0 if order.pools else -priority for priority in self.facts.priority]
        self._changes: list[tuple[int, int, int]] = []  # (time, job, serial) of key changes of running jobs
        self._rises: list[tuple[int, int, int]] = []  # the same for promotions of waiting jobs
        if order.restart is not None:
            order.restart()
        #: Resources demanded by the jobs of each template, and the number of jobs in the system with each such set.
        demand = world.workload.demand > 0
        self._asked = [tuple(np.asarray(demand[first:end].any(axis=0)).tolist()) for first, end in world.workload.tasks]
        self._there: defaultdict[tuple[bool, ...], int] = defaultdict(int)
        self._demanded: tuple[bool, ...] = ()
        self._backfill = Backfill(self) if order.reserves else None
        self._shares = Shares(self) if order.pools == "user" else None
        for job in world.jobs.values():
            self.arrive(job)

    # -- changes in the world -----------------------------------------------------------------------------------------

    def arrive(self, job: JobState) -> None:
        """Add a job to the system."""
        demand_set = self._asked[job.template]
        self._there[demand_set] += 1
        if self._there[demand_set] == 1:
            self._count_demands()
        if self._backfill is not None:
            self._backfill.count(job, 1)
        self.wait(job)

    def leave(self, job: JobState) -> None:
        """Remove a job."""
        job.shown = None  # it refers to the job
        demand_set = self._asked[job.template]
        self._there[demand_set] -= 1
        if not self._there[demand_set]:
            del self._there[demand_set]
            self._count_demands()
        if self._backfill is not None:
            self._backfill.count(job, -1)

    def _count_demands(self) -> None:
        """Update the counted resources: shares and fullness count those that some job in the system demands."""
        demanded = tuple(any(column) for column in zip(*self._there, strict=True))
        if demanded and demanded != self._demanded:
            self._demanded = demanded
            self.world.room.layout.weigh(demanded)
            self.facts.count_shares(list(demanded))
            self._recompute_keys()

    def _recompute_keys(self) -> None:
        """Compute the keys of all jobs."""
        for queue in self.filled.values():
            numbers = [entry[-1] for entry in queue]
            queue.entries, queue.head = [], 0
            for number in numbers:
                job = self.world.jobs[number]
                job.entry = self._queue_entry(job)
                queue.entries.append(job.entry)
            queue.entries.sort()
        self._rerank_from(0)

    def _queue_entry(self, job: JobState) -> Entry:
        number = job.number
        arrival = self.world.arrivals[number]
        key = self.order.keyed(self.shown(job))
        if self.order.preempts:
            return (self._first[number], *key, job.segment is None, arrival, number)
        return (self._first[number], *key, arrival, number)

    def shown(self, job: JobState) -> RunningJob:
        """Return a job in the form for keys."""
        job_view: RunningJob = job.shown or RunningJob(self.facts, job)
        job.shown = job_view
        return job_view

    def _queue_number(self, job: JobState) -> int:
        """Return the number of the queue of a job."""
        return job.template if self._shares is None else self._shares.number(job)

    def wait(self, job: JobState) -> None:
        """Add a waiting job."""
        job.entry = self._queue_entry(job)
        number = self._queue_number(job)
        queue = self.queues.get(number)
        if queue is None:
            queue = self.queues[number] = Queue(number, self.world.shapes[job.template])
        queue.add(job.entry)
        self.filled[number] = queue
        self.waiting += 1
        if self._backfill is not None:
            self._backfill.wait(job)
        if self.order.rises is not None and (time := self.order.rises(self.shown(job))) is not None:
            heapq.heappush(self._rises, (time, job.number, job.serial))

    def _take_entry(self, job: JobState) -> None:
        """Remove a waiting job."""
        if self._backfill is not None:
            self._backfill.take(job)
        queue = self.queues[self._queue_number(job)]
        queue.remove(job.entry)
        if queue.head == len(queue.entries):
            del self.filled[queue.number]
        self.waiting -= 1

    def start(self, job: JobState, nodes: tuple[int, ...]) -> None:
        """Start a waiting job."""
        self._take_entry(job)
        self.world.begin(job, nodes)

    def runs(self, job: JobState) -> None:
        """Add a running job."""
        if self._backfill is not None:
            self._backfill.run(job)
        if self._shares is not None:
            self._shares.change(job, 1)
        if not self.preempts:
            return
        job.rank = self._queue_entry(job)
        insort(self.ranked, (job.rank, job), key=preempt.rank)
        if self.order.until is not None and (time := self.order.until(self.shown(job))) is not None:
            heapq.heappush(self._changes, (time, job.number, job.serial))

    def stops(self, job: JobState) -> None:
        """Remove a running job."""
        if self._backfill is not None:
            self._backfill.stop(job)
        if self._shares is not None:
            self._shares.change(job, -1)
        if self.preempts:
            at = bisect_left(self.ranked, job.rank, key=preempt.rank)
            assert self.ranked[at][1] is job, "the ranks are those that were noted"
            del self.ranked[at]

    # -- decisions ----------------------------------------------------------------------------------------------------

    def decide(self) -> int | None:
        """Serve the jobs, if there is a decision; return the time of the next requested wake."""
        if not self.world.asks():
            return None
        self.decisions += 1
        return self._serve_jobs()

    def _serve_jobs(self) -> int | None:
        if self.order.ages:
            self._recompute_keys()
        self._promote_due_jobs()
        if self._shares is not None:
            self._shares.serve()
            return None
        if not self.preempts:
            self._start_in_order()
            if self._backfill is not None and self.waiting:
                self._backfill.serve()
            return None
        self._rank_changed()
        preempt.serve(self)
        if self.order.until is None or not self.waiting:
            return None
        times = [*self._next_change(), *self._next_rise()]
        return self.world.scheduling_events(max(self.world.now + 1, min(times))) if times else None

    def heads(self) -> list[tuple[Entry, int]]:
        """Return the first entry of each nonempty queue, with its number."""
        return [(queue.entries[queue.head], number) for number, queue in self.filled.items()]

    def _start_in_order(self) -> None:
        """Start the jobs with room, in their order."""
        heads = self.heads()
        heads.sort()
        world, room, strict = self.world, self.world.room, self.order.strict
        while heads:
            entry, number = heads[0]
            queue = self.queues[number]
            nodes = places(queue.shape, room, world.alive)
            if nodes is None:
                if strict:
                    return
                del heads[0]
                continue
            self.start(world.jobs[entry[-1]], tuple(nodes))
            if queue.head < len(queue.entries):
                head = (queue.entries[queue.head], number)
                if len(heads) > 1 and head > heads[1]:
                    del heads[0]
                    insort(heads, head)
                else:
                    heads[0] = head
            else:
                del heads[0]

    # -- ranks of running jobs ----------------------------------------------------------------------------------------

    def _rank_changed(self) -> None:
        """Rank the jobs with changed keys again."""
        if self.order.until is None:
            if not self._falls:
                self._rerank_from(0)
            return
        while self._changes and self._changes[0][0] <= self.world.now:
            _, number, serial = heapq.heappop(self._changes)
            job = self.world.segments.get(number)
            if job is not None and job.serial == serial:
                self.stops(job)
                self.runs(job)

    def _rerank_from(self, first: int) -> None:
        """Rank the jobs from a position on again."""
        if self.preempts:
            leading = self.ranked[:first]
            for _, job in self.ranked[first:]:
                job.rank = self._queue_entry(job)
                leading.append((job.rank, job))
            leading.sort(key=preempt.rank)
            self.ranked = leading

    def rank_from(self, entry: Entry) -> int:
        """Return the position of the first running job that ranks behind an entry.

        Keys that fall with time are recomputed from this position on first.
        """
        at = bisect_left(self.ranked, entry, key=preempt.rank)
        if self._falls and at < len(self.ranked):
            self._rerank_from(at)
            at = bisect_left(self.ranked, entry, key=preempt.rank)
        return at

    def _next_change(self) -> list[int]:
        """Return the time of the next key change of a running job, if any."""
        return _first(self._changes, self.world.segments)

    # -- promotion of waiting jobs ------------------------------------------------------------------------------------

    def _next_rise(self) -> list[int]:
        """Return the time of the next promotion of a waiting job, if any."""
        return _first(self._rises, self.world.jobs)

    def _promote_due_jobs(self) -> None:
        """Promote the due jobs, except those that have just stopped."""
        now, just_stopped = self.world.now, []
        while (times := self._next_rise()) and times[0] <= now:
            rise = heapq.heappop(self._rises)
            job = self.world.jobs[rise[1]]
            if job.idle_since >= now:
                just_stopped.append(rise)
                continue
            assert self.order.promote is not None, "an order that tells when jobs rise promotes them"
            self.order.promote(self.shown(job))
            self._take_entry(job)
            self.wait(job)
        for rise in just_stopped:
            heapq.heappush(self._rises, rise)


def _first(events: list[tuple[int, int, int]], jobs: dict[int, JobState]) -> list[int]:
    """Return the time of the first valid event (time, job, serial), if any; invalid ones are dropped."""
    while events and ((job := jobs.get(events[0][1])) is None or job.serial != events[0][2]):
        heapq.heappop(events)
    return [events[0][0]] if events else []
