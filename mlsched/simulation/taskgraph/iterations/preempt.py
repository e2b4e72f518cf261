"""Preemptive round (`heuristics/taskgraph/preemption`) over the queues and the packed room of an engine."""

from __future__ import annotations

import heapq
import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mlsched.heuristics.taskgraph._capacity import FreeCapacity, Shape, places
from mlsched.heuristics.taskgraph.find_places import find_places
from mlsched.simulation.taskgraph.iterations.log import MOVE, PAUSE

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.engine import Engine, Entry, Queue
    from mlsched.simulation.taskgraph.iterations.state import JobState

#: Largest number of waiting jobs that are first tried without preemption.
FEW = 32
rank = operator.itemgetter(0)
#: A job with its rank.
Ranked = tuple[Any, Any]


def serve(engine: Engine) -> None:
    """Serve the jobs of an engine: running jobs are preempted by those before them."""
    if not engine.waiting or _start_all(engine):
        return
    selection, leaving = _select_jobs(engine)
    if not selection:
        return  # running jobs fit together, so all stay
    world, ranked_jobs, picked = engine.world, list(engine.ranked), {job.number for _, job in selection}
    touched_nodes: set[int] = set()
    at = 0
    while not leaving and at < len(selection):  # first, as long as all can stay
        _, job = selection[at]
        nodes = places(world.shapes[job.template], world.room, world.alive)
        if nodes is None:
            break
        engine.start(job, tuple(nodes))
        touched_nodes.update(nodes)
        at += 1
    if at < len(selection):
        room = _Room(engine, ranked_jobs, picked, touched_nodes)
        find_places(room, selection[at:], leaving)
        room.carry_out()


def _start_all(engine: Engine) -> bool:
    """Start all waiting jobs without preemption and return True; False if one finds no place or there are many.

    Jobs that were started before one without a place stay started.
    """
    world = engine.world
    if engine.waiting > FEW:
        return False
    waiting = sorted(entry for queue in engine.filled.values() for entry in queue)
    shapes = world.shapes
    if not world.room.has(sum(shapes[world.jobs[entry[-1]].template].whole for entry in waiting)):
        return False
    for entry in waiting:
        job = world.jobs[entry[-1]]
        nodes = places(shapes[job.template], world.room, world.alive)
        if nodes is None:
            return False
        engine.start(job, tuple(nodes))
    return True


def _select_jobs(engine: Engine) -> tuple[list[Ranked], list[Ranked]]:
    """Return the waiting jobs within the capacity of the cluster, and the running jobs beyond it."""
    world = engine.world
    heads = [(entry, number, engine.queues[number].head) for entry, number in engine.heads()]
    heapq.heapify(heads)
    at = engine.rank_from(heads[0][0])
    ranked_jobs, shapes, guard = engine.ranked, world.shapes, world.room.layout.guard
    room_left = world.room.total + sum([shapes[job.template].whole for _, job in ranked_jobs[at:]])
    selection: list[Ranked] = []
    leaving: list[Ranked] = []
    while True:
        if heads and (at == len(ranked_jobs) or heads[0][0] < ranked_jobs[at][0]):
            entry, number, position = heads[0]
            whole = shapes[number].whole
            if (room_left + guard - whole) & guard == guard:
                room_left -= whole
                selection.append((entry, world.jobs[entry[-1]]))
                _advance_head(engine.queues[number], heads, position + 1)
            else:
                heapq.heappop(heads)
        elif at < len(ranked_jobs):
            whole = shapes[ranked_jobs[at][1].template].whole
            if (room_left + guard - whole) & guard == guard:
                room_left -= whole
            else:
                leaving.append(ranked_jobs[at])
            at += 1
        else:
            return selection, leaving


def _advance_head(queue: Queue, heads: list[tuple[Entry, int, int]], position: int) -> None:
    """Replace the first of the heads, which is of this queue, by the entry at a position."""
    if position < len(queue.entries):
        heapq.heapreplace(heads, (queue.entries[position], queue.number, position))
    else:
        heapq.heappop(heads)


class _Room:
    """Room of an engine, for units that are (rank, job); see `Room`.

    `free` is the free room, `spare` its part that needs no preemption. The world is unchanged until `carry_out`.
    """

    def __init__(self, engine: Engine, ranked: list[Ranked], picked: set[int], touched: set[int]) -> None:
        """Create the room.

        Args:
            engine: Engine.
            ranked: Running jobs with ranks.
            picked: Numbers of the chosen waiting jobs.
            touched: Nodes on which some of them started.
        """
        self._engine, self._world = engine, engine.world
        self._ranked, self._picked, self._touched = ranked, picked, touched
        self._free: FreeCapacity = engine.world.room.copy()
        self._spare = engine.world.room.copy()
        self._holds = {job.number for _, job in ranked}
        self._starts: list[tuple[JobState, tuple[int, ...]]] = []
        self._moves: list[tuple[JobState, tuple[int, ...]]] = []
        self._pauses: list[JobState] = []

    @property
    def moves(self) -> int:
        return len(self._moves)

    def runs(self, unit: Ranked) -> bool:
        return unit[1].segment is not None

    def place(self, unit: Ranked) -> bool:
        job = unit[1]
        if job.segment is not None and self.hold(unit):
            return True
        shape = self._shape_of_job(job)
        nodes = self._find_place(shape)
        if nodes is None:
            return False
        for node, need in zip(nodes, shape.needs, strict=True):
            self._free.take(node, need)
            self._spare.take(node, need)
        self._touched.update(nodes)
        if job.segment is None:
            self._starts.append((job, nodes))
        else:
            self._moves.append((job, nodes))
            self._give_room(self._spare, job)
        return True

    def behind(self, unit: Ranked) -> list[Ranked]:
        at = bisect_right(self._ranked, unit[0], key=rank)
        return [other for other in self._ranked[at:] if other[1].number in self._holds]

    def release(self, units: Sequence[Ranked]) -> None:
        for _, job in units:
            self._give_room(self._free, job)
            self._holds.discard(job.number)

    def keep(self, units: Sequence[Ranked]) -> None:
        for _, job in units:
            self._give_room(self._free, job, 1)
            self._holds.add(job.number)

    def hold(self, unit: Ranked) -> bool:
        job = unit[1]
        free, guard = self._free.free, self._free.layout.guard
        self._give_room(self._free, job, 1)
        if all((free[node] + guard) & guard == guard for node in _nodes_of_job(job)):
            self._holds.add(job.number)
            return True
        self._give_room(self._free, job)
        return False

    def leave(self, unit: Ranked) -> None:
        self._give_room(self._spare, unit[1])
        self._pauses.append(unit[1])

    def disturbed(self, units: Sequence[Ranked]) -> list[bool]:
        spare, guard, touched_nodes = self._spare.free, self._spare.layout.guard, self._touched
        return [
            any(node in touched_nodes or (spare[node] + guard) & guard != guard for node in _nodes_of_job(job))
            for _, job in units
        ]

    def hopeful(self, units: list[Ranked], failed: Ranked) -> list[Ranked]:
        shape, shapes = self._shape_of_job(failed[1]), self._world.shapes
        if not shape.equal:
            return units
        return [unit for unit in units if unit[1].segment or not shapes[unit[1].template].no_less_than(shape)]

    def start_others(self, before: Callable[[Any], None]) -> None:
        queues, jobs = self._engine.queues, self._world.jobs
        heads = [(entry, number, queues[number].head) for entry, number in self._engine.heads()]
        heapq.heapify(heads)
        while heads:
            entry, number, position = heads[0]
            if entry[-1] not in self._picked:
                unit = (entry, jobs[entry[-1]])
                has_place = self._find_place(self._world.shapes[number]) is not None  # room only shrinks
                if has_place:
                    before(unit)
                if not has_place or not self.place(unit):
                    heapq.heappop(heads)
                    continue
            _advance_head(queues[number], heads, position + 1)

    def carry_out(self) -> None:
        """Pause, move and start the jobs."""
        world = self._world
        for job in self._pauses:
            world.halt(job, PAUSE)
        for job, nodes in self._moves:
            before = _nodes_of_job(job)
            changed = [(MOVE, task, node) for task, node in enumerate(nodes) if node != before[task]]
            if changed:
                world.change(job, changed)
        for job, nodes in self._starts:
            self._engine.start(job, nodes)

    def _shape_of_job(self, job: JobState) -> Shape:
        return self._world.shapes[job.template]

    def _find_place(self, shape: Shape) -> tuple[int, ...] | None:
        nodes = places(shape, self._free, self._world.alive, self._spare)
        return None if nodes is None else tuple(nodes)

    def _give_room(self, room: FreeCapacity, job: JobState, sign: int = -1) -> None:
        for node, need in zip(_nodes_of_job(job), self._shape_of_job(job).needs, strict=True):
            room.take(node, sign * need)


def _nodes_of_job(job: JobState) -> tuple[int, ...]:
    assert job.segment is not None, "the job holds nodes"
    return job.segment.nodes
