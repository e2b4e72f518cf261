"""Hypothesis strategies of task-graph workloads, of the world's options, and of snapshots that occur in runs.

`any_round` is a rule that takes random legal actions: the world must handle its results.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import BoolArray
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.gpus import fitting, taken
from mlsched.instances.taskgraph.roomy import PAST
from mlsched.instances.taskgraph.roomy import roomy as roomy_instance
from mlsched.instances.taskgraph.strategies import instances
from mlsched.instances.values import one_of
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph.options import Options
from mlsched.simulation.taskgraph.workload import Workload, impossible
from mlsched.simulation.taskgraph.world import TaskgraphWorld
from mlsched.simulation.wake import Wake

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def workloads(*, jobs: int = 3, nodes: int = 3, tasks: int = 5, runs: int = 10) -> SearchStrategy[Workload]:
    """Return a strategy of workloads up to these numbers of jobs, nodes, tasks in all and runs in all.

    Most estimates are wrong.
    """
    from hypothesis import strategies as st

    @st.composite
    def draw_workload(draw: DrawFn) -> Workload:
        horizon = draw(instances(jobs=jobs, nodes=nodes, tasks=tasks, runs=runs))
        horizon = horizon.replace(now=0, tick_ms=1000, **dict.fromkeys(PAST, ()))
        off = draw(st.lists(one_of(-2, -1, 0, 0, 1, 3), min_size=len(horizon.task_job), max_size=len(horizon.task_job)))
        true = np.maximum(horizon.duration + np.array(off, dtype=np.int64), 1)
        cost = draw(one_of(0, 0, 1, 3))
        return Workload(horizon=horizon, true_duration=np.where(horizon.duration == 0, 0, true), pause_cost=cost)

    return draw_workload().filter(lambda workload: not impossible(workload.horizon))


def roomy(workload: Workload) -> Workload:
    """Return the same jobs on larger nodes, each of which has room for all jobs at once."""
    return workload.replace(horizon=roomy_instance(workload.horizon))


def options() -> SearchStrategy[Data]:
    """Return a strategy of the world's options, every field drawn."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "pausing": one_of("none", "keep", "restart"),
            "movement": one_of("given", "given", "none", "between_iterations", "anytime"),
            "information": one_of("observed", "oracle"),
        }
    )


def wakes() -> SearchStrategy[str]:
    """Return a strategy of cadences of every kind."""

    return one_of("events", "interval:1", "interval:3", "events+interval:2")


@functools.cache
def snapshots(**readings: str) -> SearchStrategy[Snapshot]:
    """Return a strategy of snapshots of runs of `any_round`; `interpretations` fixes options of the world."""
    from hypothesis import assume
    from hypothesis import strategies as st

    @st.composite
    def draw_snapshot(draw: DrawFn) -> Snapshot:
        workload, world_options = draw(workloads()), draw(options()) | readings
        world = TaskgraphWorld.of(workload, Options(**world_options))
        seed = draw(st.integers(0, 99))
        trip = run(world, any_rule(), scheduling_events=Wake.parse(draw(wakes())), seed=seed, record=1.0)
        assume(trip.recorded)
        snapshot = trip.recorded[draw(st.integers(0, 99)) % len(trip.recorded)].instance
        assert isinstance(snapshot, Snapshot)
        return snapshot

    return draw_snapshot()


def any_rule() -> Rule:
    """Return `any_round` as a rule of the clock."""
    call: Any = any_round
    return Rule("any", call)


def any_round(
    snapshot: Snapshot,
    memory: Any,
    rng: np.random.Generator,
    *,
    pause: float = 0.3,
    move: float = 0.5,
    start: float = 0.7,
    stop: float = 0.1,
) -> tuple[Round, Any]:
    """Draw a legal round that leaves some task running if possible. Gangs start and pause together.

    Args:
        snapshot: Current state.
        memory: Unused.
        rng: Random stream.
        pause, move, start, stop: Probability of each action if it is allowed.
    """
    room = _Room(snapshot)
    pauses: list[int] = []
    moves: list[tuple[int, int, int]] = []
    starts: list[tuple[int, int, int]] = []
    running = _task_units(snapshot, snapshot.state == 1)
    for unit in running[1:]:
        if snapshot.pausing != "none" and rng.random() < pause:
            pauses += unit
            for task in unit:
                room.leave(task)
            continue
        for task in unit:
            there = int(rng.integers(len(room.free)))
            may = snapshot.movement == "anytime" and rng.random() < move and there != snapshot.node[task]
            if may and snapshot.may_start_on(task)[there] and room.has(task, there):
                room.leave(task)
                moves.append((task, there, room.take(task, there, rng)))
    eager = start if running else 1.0
    waiting = _task_units(snapshot, snapshot.startable)
    for place in rng.permutation(len(waiting)).tolist():
        remaining, placements = room.copy(), []
        for task in waiting[place]:
            for node in rng.permutation(len(room.free)).tolist():
                if snapshot.may_start_on(task)[node] and remaining.has(task, node) and rng.random() < eager:
                    placements.append((task, node, remaining.take(task, node, rng)))
                    break
        if len(placements) == len(waiting[place]):
            starts += placements
            room = remaining
    stops = []
    begun_jobs = set(snapshot.task_job[snapshot.state != 0].tolist()) | {
        int(snapshot.task_job[k]) for k, _, _ in starts
    }
    for job in range(len(snapshot.arrival)):
        low = max(int(snapshot.min_iterations[job]), int(snapshot.finished[job]) + (job in begun_jobs))
        if rng.random() < stop:
            stops.append((job, int(rng.integers(low, int(snapshot.max_iterations[job]) + 1))))
    wake_at = snapshot.now + int(rng.integers(1, 4)) if rng.random() < 0.2 else 0
    return snapshot.round(starts, pauses, moves, stops, wake_at), memory


def empty_node(snapshot: Snapshot, *, rng: np.random.Generator) -> Round:
    """Pause all tasks on a random node, with complete gangs, as in a failure; without pauses, call `any_round`."""
    running = _task_units(snapshot, snapshot.state == 1)
    if snapshot.pausing == "none" or not running:
        return any_round(snapshot, None, rng)[0]
    node = int(rng.choice(snapshot.node[snapshot.state == 1]))
    hit = [task for unit in running if (snapshot.node[unit] == node).any() for task in unit]
    # Wakes at the next tick: if all tasks are paused, the clock has no other event.
    return snapshot.round(pause=hit, wake_at=snapshot.now + 1)


def _draw_verb(**likely: float) -> Any:
    def rule(snapshot: Snapshot, *, rng: np.random.Generator) -> Round:
        return any_round(snapshot, None, rng, **likely)[0]

    return rule


VERBS: Data = {
    "anything": _draw_verb(),
    "pause": _draw_verb(pause=1.0, move=0.0, start=0.0),
    "resume": _draw_verb(pause=0.0, move=0.0, start=1.0),
    "migrate": _draw_verb(pause=0.0, move=1.0, start=0.0),
    "stop": _draw_verb(pause=0.0, stop=1.0),
    "empty a node": empty_node,
}


def _task_units(snapshot: Snapshot, among: BoolArray) -> list[list[int]]:
    """Return the tasks that act together: those of a gang, and each other task separately."""
    units: dict[tuple[int, int], list[int]] = {}
    for task in np.flatnonzero(among).tolist():
        job = int(snapshot.task_job[task])
        units.setdefault((job, -1) if snapshot.gang[job] else (job, task), []).append(task)
    return list(units.values())


class _Room:
    """Free amounts of each node and of each of its GPUs, as tasks leave and start."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.free, self.gpus = snapshot.free.copy(), snapshot.gpu_free
        self._held = snapshot.demand * (snapshot.duration > 0)[:, None]
        self._need, self._unit = snapshot.gpu_demand.tolist(), snapshot.gpu_unit

    def copy(self) -> _Room:
        """Return a copy, for trial placements."""
        other = copy.copy(self)
        other.free, other.gpus = self.free.copy(), self.gpus.copy()
        return other

    def leave(self, task: int) -> None:
        """Release a running task."""
        node, gpu, need = (int(column[task]) for column in (self._snapshot.node, self._snapshot.gpu, self._need))
        self.free[node] += self._held[task]
        if need >= self._unit > 0:
            self.gpus[self._snapshot.gpu_holder == task] = self._unit
        elif need:
            self.gpus[node, gpu] += need

    def has(self, task: int, node: int) -> bool:
        """Check whether the task fits on the node."""
        fits = bool((self.free[node] >= self._held[task]).all())
        return fits and (not self._need[task] or fitting(self.gpus[[node]], self._need[task], self._unit)[0] > 0)

    def take(self, task: int, node: int, rng: np.random.Generator) -> int:
        """Place the task and return the GPU that it names; with a choice, sometimes none."""
        self.free[node] -= self._held[task]
        need, unit, gpus = self._need[task], self._unit, self.gpus[node]
        gpu = -1
        if 0 < need < unit or (need and need == unit and rng.random() < 0.5):
            gpu = int(rng.choice(np.flatnonzero(gpus >= need)))
        gpus[taken(gpus, need, unit, gpu)] -= min(need, unit)
        return gpu
