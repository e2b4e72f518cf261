"""EASY backfilling over the queues of an engine: the rule of `heuristics/taskgraph/easy_backfill`, incrementally.

The first job without room gets a reservation at the earliest time with enough free resources, if all running jobs end
at their estimates. A later job starts if it ends by then, or leaves the reservation's resources free.

Only ends up to the reservation count. Estimates of running jobs change a little while they run, since ticks are
integers. So `ends` is sorted by a lower bound of the estimates, and the estimates themselves are computed on demand.
"""

from __future__ import annotations

import dataclasses
import heapq
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph._capacity import FreeCapacity, Layout, Shape, fitted, places
from mlsched.heuristics.taskgraph._reserve import NOT_BY_COUNT
from mlsched.simulation.taskgraph.iterations.workload import WHOLE

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.engine import Engine, Entry
    from mlsched.simulation.taskgraph.iterations.state import JobState


@dataclasses.dataclass
class Reservation:
    """Planned start of a job, and the remaining room at that time.

    Attributes:
        nodes: Room beside the job on each of its nodes, packed.
        tasks: By count, the number of tasks.
    """

    start: int
    nodes: dict[int, int]
    tasks: int | None = None


class Backfill:
    """Estimates behind reservations, and the resulting rounds."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._world = engine, engine.world
        layout = self._world.room.layout
        self._raw = Layout([1] * layout.count, 1)  # fullness is the sum of the free amounts
        self._raw.bits, self._raw.half, self._raw.guard = layout.bits, layout.half, layout.guard
        self._ends: list[tuple[int, int]] = []  # of running jobs: a lower bound of the end, and the job
        self._bound: dict[int, int] = {}  # job -> its lower bound
        self._ticks: dict[int, int] = {}  # waiting job -> its estimated ticks
        #: Waiting jobs of each queue by these ticks.
        self._by_ticks: defaultdict[int, list[tuple[int, Entry]]] = defaultdict(list)
        self._needs = [set(shape.needs) - {0} for shape in self._world.shapes]
        self._there = [0] * len(self._needs)  # jobs in the system by template

    # -- changes in the world -----------------------------------------------------------------------------------------

    def count(self, job: JobState, more: int) -> None:
        """Count a job that arrives (1) or leaves (-1)."""
        self._there[job.template] += more

    def wait(self, job: JobState) -> None:
        """Add a waiting job."""
        ticks = self._ticks[job.number] = self._ticks_left(job)
        insort(self._by_ticks[job.template], (ticks, job.entry))

    def take(self, job: JobState) -> None:
        """Remove a waiting job."""
        rows = self._by_ticks[job.template]
        del rows[bisect_left(rows, (self._ticks.pop(job.number), job.entry))]

    def run(self, job: JobState) -> None:
        """Add a running job."""
        bound = self._bound[job.number] = self._earliest_end(job)
        insort(self._ends, (bound, job.number))

    def stop(self, job: JobState) -> None:
        """Remove a running job."""
        del self._ends[bisect_left(self._ends, (self._bound.pop(job.number), job.number))]

    def _ticks_left(self, job: JobState) -> int:
        """Return the estimated remaining ticks of a job."""
        facts = self._engine.facts
        limit = facts.time_limit[job.number]
        ticks_left = limit - self._engine.shown(job).executed if limit else facts.remaining(job)
        return ticks_left if ticks_left > 1 else 1

    def _earliest_end(self, job: JobState) -> int:
        """Return a lower bound on the estimated ends of a job that starts now.

        Its estimate is linear in the finished iterations, except for integer ticks and overdue time.
        """
        now, number, facts = self._world.now, job.number, self._engine.facts
        earliest = now + self._ticks_left(job)
        iterations = facts.iterations[number] - job.finished
        if iterations > 1 and not facts.time_limit[number]:
            for iterations_done in (1, iterations - 1):
                boundary = job.begin + (job.head + (iterations_done - 1) * job.cycle) // WHOLE
                earliest = min(earliest, boundary + (iterations - iterations_done) * facts.true[number])
        return earliest

    # -- decisions ----------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Reserve for the first waiting job, and start others that do not delay it."""
        engine, world = self._engine, self._world
        by_count = self._counts()
        passed_jobs: set[int] = set()  # jobs without room even after all ends
        while heads := [(entry, number) for entry, number in self._first_entries(passed_jobs)]:
            entry, number = min(heads)
            job, shape = world.jobs[entry[-1]], world.shapes[number]
            if passed_jobs or not shape.equal:  # otherwise the lack of room is already known
                nodes = places(shape, world.room, world.alive) or fitted(shape, self._free_room(), world.alive)
                if nodes is not None:
                    engine.start(job, tuple(nodes))
                    continue
            open_to = [n for n in engine.filled if places(world.shapes[n], world.room, world.alive) is not None]
            if not open_to:
                return
            reservation = self._reserve_shape(shape, by_count)
            if reservation is not None:
                self._backfill(reservation, open_to, passed_jobs | {job.number})
                return
            passed_jobs.add(job.number)

    def _first_entries(self, passed_jobs: set[int]) -> list[tuple[Entry, int]]:
        """Return the first entry of each queue that was not passed over, with its number."""
        if not passed_jobs:
            return self._engine.heads()
        earliest = []
        for number, queue in self._engine.filled.items():
            entry = next((entry for entry in queue if entry[-1] not in passed_jobs), None)
            if entry is not None:
                earliest.append((entry, number))
        return earliest

    def _counts(self) -> bool:
        """Check whether reservations count room without regard to nodes; that is exact if all tasks are equal."""
        world, reserve = self._world, self._engine.order.reserves
        if reserve == "nodes":
            return False
        needs = set().union(*(needs for needs, jobs in zip(self._needs, self._there, strict=True) if jobs))
        same = len(needs) == 1 and bool(world.eligible.all()) and not world.workload.node_type.any()
        if reserve == "count" and not same:
            raise InvalidInput(NOT_BY_COUNT)
        return same

    def _free_room(self) -> FreeCapacity:
        """Return the free room; among fitting nodes, reservations take those with the least."""
        room = self._world.room.copy()
        room.layout = self._raw
        return room

    def _reserve_shape(self, shape: Shape, by_count: bool) -> Reservation | None:
        """Return the reservation of a shape; None if it does not fit even after all jobs have ended."""
        world, room = self._world, self._free_room()
        every = world.alive
        tasks = room.number(shape.need, shape.count, every) if by_count else 0
        estimates: list[tuple[int, int]] = []
        at, now, jobs, shapes, ends = 0, world.now, world.jobs, world.shapes, self._ends
        guard, total = room.layout.guard, room.total
        least, whole = (shape.need if shape.equal else 0) - guard, shape.whole - guard
        ended_jobs: list[JobState] = []  # their nodes are not yet free in `room`
        while at < len(ends) or estimates:
            time = estimates[0][0] if estimates else ends[at][0]
            while at < len(ends) and ends[at][0] <= time:
                number = ends[at][1]
                heapq.heappush(estimates, (now + self._ticks_left(jobs[number]), number))
                time, at = estimates[0][0], at + 1
            while estimates and estimates[0][0] == time:
                job = jobs[heapq.heappop(estimates)[1]]
                if by_count:
                    needs = shapes[job.template].needs
                    tasks += len(needs) - needs.count(0)
                    continue
                ended_jobs.append(job)
                total += shapes[job.template].whole
            if by_count:
                if tasks >= shape.count:
                    return Reservation(time, {}, tasks - shape.count)
            elif (total - whole) & guard == guard:
                more = False  # a released node has room for a task
                for job in ended_jobs:
                    for node, need in zip(job.node, shapes[job.template].needs, strict=True):
                        room.take(node, -need)
                        more = more or (room.free[node] - least) & guard == guard
                ended_jobs.clear()
                if more and (nodes := fitted(shape, room, every)) is not None:
                    beside = {node: room.free[node] for node in nodes}
                    for node, need in zip(nodes, shape.needs, strict=True):
                        beside[node] -= need
                    return Reservation(time, beside)
        return None

    def _restricted_room(self, reservation: Reservation) -> FreeCapacity:
        """Return the room that is free now and beside a reservation."""
        room = self._world.room.copy()
        self._restrict_nodes(room, reservation, reservation.nodes)
        return room

    def _restrict_nodes(self, restricted: FreeCapacity, reservation: Reservation, nodes: Iterable[int]) -> None:
        """Update the room that is free now and beside a reservation on some nodes."""
        layout, free, beside = restricted.layout, self._world.room.free, reservation.nodes
        for node in nodes:
            least = free[node]
            if node in beside:
                least = layout.pack(map(min, layout.unpack(least), layout.unpack(beside[node])))
            if least != restricted.free[node]:
                restricted.take(node, restricted.free[node] - least)

    def _backfill(self, reservation: Reservation, open_to: list[int], skipped: set[int]) -> None:
        """Start jobs of queues with room, in their order, if they end by a reservation or fit beside it."""
        engine, world = self._engine, self._world
        longest = reservation.start - world.now
        restricted = self._restricted_room(reservation)
        heads: list[tuple[Entry, int]] = []
        beside: dict[int, bool] = {}  # queue -> its jobs still have room beside the reservation

        def follow(number: int, last: Entry) -> None:
            """Add the first job of a queue behind an entry that may start."""
            entry = self._next_entry(number, last, skipped, None if beside[number] else longest)
            if entry is not None:
                heapq.heappush(heads, (entry, number))

        for number in open_to:
            beside[number] = self._fits_beside(world.shapes[number], restricted, reservation) is not None
            follow(number, ())
        while heads:
            entry, number = heapq.heappop(heads)
            job, shape = world.jobs[entry[-1]], world.shapes[number]
            long = self._ticks[job.number] > longest
            nodes = (
                self._fits_beside(shape, restricted, reservation) if long else places(shape, world.room, world.alive)
            )
            if nodes is None:
                if long:
                    beside[number] = False
                    follow(number, entry)
                continue
            engine.start(job, tuple(nodes))
            if long:
                if reservation.tasks is not None:
                    reservation.tasks -= shape.count
                for node, need in zip(nodes, shape.needs, strict=True):
                    if node in reservation.nodes:
                        reservation.nodes[node] -= need
            self._restrict_nodes(restricted, reservation, nodes)
            follow(number, entry)

    def _fits_beside(self, shape: Shape, restricted: FreeCapacity, reservation: Reservation) -> tuple[int, ...] | None:
        """Return the nodes of a job that outlasts the start of a reservation."""
        if reservation.tasks is not None and shape.count > reservation.tasks:
            return None
        nodes = places(shape, restricted, self._world.alive)
        return None if nodes is None else tuple(nodes)

    def _next_entry(self, number: int, last: Entry, skipped: set[int], longest: int | None) -> Entry | None:
        """Return the first entry of a queue behind another entry, among jobs of at most `longest` ticks."""
        queue = self._engine.queues[number]
        first = bisect_right(queue.entries, last, queue.head) if last else queue.head
        if longest is not None:
            rows = self._by_ticks[number]
            short = bisect_left(rows, (longest + 1,))
            if short * short < len(rows):  # these are few
                return min(
                    (entry for _, entry in rows[:short] if entry > last and entry[-1] not in skipped), default=None
                )
        for at in range(first, len(queue.entries)):
            job = queue.entries[at][-1]
            if job not in skipped and (longest is None or self._ticks[job] <= longest):
                return queue.entries[at]
        return None
