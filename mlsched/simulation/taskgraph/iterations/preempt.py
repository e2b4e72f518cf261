"""One preemptive round: capacity first, then pauses, then places (`heuristics/taskgraph/_preemption`, on queues).

1. Capacity. In order of their ranks, jobs are chosen as long as the capacity of the cluster has room for them.
2. Pauses. A running job that is chosen keeps its place. A running job that is not chosen may be preempted.
3. Places. A chosen job that waits starts where it preempts no job, if there is such a place. If the free room is too
   scattered, the running jobs behind it release their nodes; each of them, at its own turn, takes these again, or
   others, or pauses. If a chosen job finds no place, jobs that were not chosen stay, or start, in their order.
"""

from __future__ import annotations

import heapq
import operator
from typing import TYPE_CHECKING, Any

from mlsched.heuristics.taskgraph._capacity import FreeCapacity, Shape, places
from mlsched.simulation.taskgraph.iterations.log import MOVE, PAUSE

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.engine import Engine, Entry, Queue
    from mlsched.simulation.taskgraph.iterations.state import JobState

#: So many waiting jobs at most are tried without preemption first.
FEW = 32
rank = operator.itemgetter(0)
#: A job with its rank.
Ranked = tuple[Any, Any]


def serve(engine: Engine) -> None:
    """Serve the jobs of an engine: jobs that run are preempted by those before them."""
    if not engine.waiting or _all_fit(engine):
        return
    chosen, leaving = _chosen(engine)
    if not chosen:
        return  # jobs that run fit together, so none leaves
    if not leaving:
        world, started = engine.world, 0
        ranked = list(engine.ranked)
        touched: set[int] = set()
        for _, job in chosen:
            nodes = places(world.shapes[job.template], world.room, world.alive)
            if nodes is None:
                break
            engine.start(job, tuple(nodes))
            touched.update(nodes)
            started += 1
        if started < len(chosen):
            _Round(engine, ranked, chosen[started:], leaving, {job.number for _, job in chosen}, touched).serve()
        return
    _Round(engine, list(engine.ranked), chosen, leaving, {job.number for _, job in chosen}, set()).serve()


def _all_fit(engine: Engine) -> bool:
    """Start all jobs that wait beside those that run, if there is room for all of them in sum: then none leaves."""
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


def _chosen(engine: Engine) -> tuple[list[Ranked], list[Ranked]]:
    """The waiting jobs that are within the capacity of the cluster, and the running jobs that are not."""
    world = engine.world
    heads = [(entry, number, engine.queues[number].head) for entry, number in engine.heads()]
    heapq.heapify(heads)
    at = engine.rank_from(heads[0][0])
    ranked, shapes, guard = engine.ranked, world.shapes, world.room.layout.guard
    left = world.room.total + sum([shapes[job.template].whole for _, job in ranked[at:]])
    chosen: list[Ranked] = []
    leaving: list[Ranked] = []
    while True:
        if heads and (at == len(ranked) or heads[0][0] < ranked[at][0]):
            entry, number, position = heads[0]
            whole = shapes[number].whole
            if (left + guard - whole) & guard == guard:
                left -= whole
                chosen.append((entry, world.jobs[entry[-1]]))
                _next(engine.queues[number], heads, position + 1)
            else:
                heapq.heappop(heads)
        elif at < len(ranked):
            whole = shapes[ranked[at][1].template].whole
            if (left + guard - whole) & guard == guard:
                left -= whole
            else:
                leaving.append(ranked[at])
            at += 1
        else:
            return chosen, leaving


def _next(queue: Queue, heads: list[tuple[Entry, int, int]], position: int) -> None:
    """The first of the heads is that of this queue; replace it by the entry at a position."""
    if position < len(queue.entries):
        heapq.heapreplace(heads, (queue.entries[position], queue.number, position))
    else:
        heapq.heappop(heads)


class _Round:
    """A round under way: which jobs hold their nodes, which have released them for now, and which pause.

    `free`: free room; `spare`: the part of it that no job has to leave for.
    """

    def __init__(
        self,
        engine: Engine,
        ranked: list[Ranked],
        chosen: list[Ranked],
        leaving: list[Ranked],
        picked: set[int],
        touched: set[int],
    ) -> None:
        """picked: numbers of all jobs that were chosen; touched: the nodes on which some of them have started."""
        self._engine, self._world = engine, engine.world
        self._ranked, self._chosen, self._leaving, self._picked, self._touched = (
            ranked,
            chosen,
            leaving,
            picked,
            touched,
        )
        self._free: FreeCapacity = engine.world.room.copy()
        self._spare = engine.world.room.copy()
        self._holds = {job.number for _, job in ranked}
        self._starts: list[tuple[JobState, tuple[int, ...]]] = []
        self._moves: list[tuple[JobState, tuple[int, ...]]] = []
        self._pauses: list[JobState] = []

    def serve(self) -> None:
        """Find places, and carry the round out."""
        self._release(self._leaving)
        waiting = [(entry, number, job) for number, (entry, job) in enumerate(self._chosen)]
        settled, number = True, len(waiting)
        while waiting:
            entry, _, job = heapq.heappop(waiting)
            if self._place(job):
                continue
            worse = [other for other in self._ranked if other[0] > entry and other[1].number in self._holds]
            self._release(worse)
            placed = self._place(job)
            for other in self._return(worse):
                number += 1
                heapq.heappush(waiting, (*other[:1], number, other[1]))
            if placed:
                continue
            settled = False
            if job.segment is not None:
                self._pause(job)
            elif (shape := self._shape(job)).equal:
                shapes = self._world.shapes
                waiting = [row for row in waiting if row[2].segment or not shapes[row[2].template].no_less_than(shape)]
                heapq.heapify(waiting)
        if settled:  # all that was chosen has a place, and the others would not fit beside it
            for _, job in self._leaving:
                self._pause(job)
        else:
            self._serve_others()
        self._carry_out()

    def _carry_out(self) -> None:
        world = self._world
        for job in self._pauses:
            world.halt(job, PAUSE)
        for job, nodes in self._moves:
            before = _nodes(job)
            changed = [(MOVE, task, node) for task, node in enumerate(nodes) if node != before[task]]
            if changed:
                world.change(job, changed)
        for job, nodes in self._starts:
            self._engine.start(job, nodes)

    def _serve_others(self) -> None:
        """Jobs that were not chosen stay or start in their order, as far as there is room."""
        leaving = self._leaving
        heads = [(entry, number, self._engine.queues[number].head) for entry, number in self._engine.heads()]
        heapq.heapify(heads)
        while heads:
            entry, number, position = heads[0]
            if entry[-1] not in self._picked:
                if self._found(self._world.shapes[number]) is None:
                    heapq.heappop(heads)
                    continue
                before = 0
                while before < len(leaving) and leaving[before][0] < entry:
                    before += 1
                self._stay(leaving[:before])
                leaving = leaving[before:]
                if not self._place(self._world.jobs[entry[-1]]):
                    heapq.heappop(heads)
                    continue
            _next(self._engine.queues[number], heads, position + 1)
        self._stay(leaving)

    def _stay(self, leaving: list[Ranked]) -> None:
        """Running jobs that have released their nodes take them again, in their order; or move, or pause."""
        while leaving:
            unsure = [at for at, flag in enumerate(self._unsure(leaving)) if flag]
            moved, done = len(self._moves), 0
            while unsure and len(self._moves) == moved:
                at = unsure.pop(0)
                self._keep(leaving[done:at])
                if not self._place(leaving[at][1]):
                    self._pause(leaving[at][1])
                done = at + 1
            if len(self._moves) == moved:
                self._keep(leaving[done:])
                return
            leaving = leaving[done:]

    def _shape(self, job: JobState) -> Shape:
        return self._world.shapes[job.template]

    def _found(self, shape: Shape) -> tuple[int, ...] | None:
        nodes = places(shape, self._free, self._world.alive, self._spare)
        return None if nodes is None else tuple(nodes)

    def _place(self, job: JobState) -> bool:
        """A job that waits starts; a job that has released its nodes takes them again, or moves."""
        if job.segment is not None and self._hold(job):
            return True
        shape = self._shape(job)
        nodes = self._found(shape)
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
            self._give(self._spare, job)
        return True

    def _give(self, room: FreeCapacity, job: JobState, sign: int = -1) -> None:
        for node, need in zip(_nodes(job), self._shape(job).needs, strict=True):
            room.take(node, sign * need)

    def _release(self, jobs: list[Ranked]) -> None:
        """These running jobs release their nodes for now."""
        for _, job in jobs:
            self._give(self._free, job)
            self._holds.discard(job.number)

    def _keep(self, jobs: list[Ranked]) -> None:
        """These running jobs take their nodes again, which have room."""
        for _, job in jobs:
            self._give(self._free, job, 1)
            self._holds.add(job.number)

    def _hold(self, job: JobState) -> bool:
        """A running job takes its nodes again, if there is room on all of them."""
        self._give(self._free, job, 1)
        free, guard = self._free.free, self._free.layout.guard
        if all((free[node] + guard) & guard == guard for node in _nodes(job)):
            self._holds.add(job.number)
            return True
        self._give(self._free, job)
        return False

    def _return(self, jobs: list[Ranked]) -> list[Ranked]:
        """These take their nodes again, in their order; returns those that cannot."""
        unsure = self._unsure(jobs)
        self._keep([job for job, flag in zip(jobs, unsure, strict=True) if not flag])
        return [job for job, flag in zip(jobs, unsure, strict=True) if flag and not self._hold(job[1])]

    def _unsure(self, jobs: list[Ranked]) -> list[bool]:
        """For each of these jobs, whether another one has started on nodes that it has released."""
        spare, guard, touched = self._spare.free, self._spare.layout.guard, self._touched
        return [
            any(node in touched or (spare[node] + guard) & guard != guard for node in _nodes(job)) for _, job in jobs
        ]

    def _pause(self, job: JobState) -> None:
        """A running job that has no place leaves."""
        self._give(self._spare, job)
        self._pauses.append(job)


def _nodes(job: JobState) -> tuple[int, ...]:
    assert job.segment is not None, "the job holds nodes"
    return job.segment.nodes
