"""Adapters between question types: rollouts of rules over a horizon, and planners that answer a snapshot.

`residual` turns a snapshot into the horizon instance of the rest: the known jobs, estimated durations, and the past
part of the current iterations as fixed runs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.instances.taskgraph import Instance, Round, Snapshot, Timetable, gpus
from mlsched.instances.taskgraph.snapshot import SHARED
from mlsched.instances.taskgraph.states import DONE, RUNNING, WAITING
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph.options import Options
from mlsched.simulation.taskgraph.workload import impossible
from mlsched.simulation.taskgraph.world import TaskgraphWorld
from mlsched.simulation.wake import Wake


def rollout(instance: Instance, rule: Rule, seed: int = 0) -> Timetable | None:
    """Return the plan of `rule` for a horizon whose jobs it sees at their arrival, woken at every event.

    Runs are neither paused nor moved inside an iteration, as a Timetable cannot represent that. Jobs run their maximum
    number of iterations unless the rule stops them.

    Returns:
        The plan, or None if the horizon is infeasible.

    Raises:
        SolverError: The rule leaves the run stuck.
    """
    if impossible(instance):
        return None
    world = TaskgraphWorld(instance, instance.duration, Options())
    run(world, rule, scheduling_events=Wake.parse("events"), seed=seed)
    return timetable(world)


def timetable(world: TaskgraphWorld) -> Timetable:
    """Return the finished runs of a world, without pauses and moves inside an iteration, as a plan of its horizon."""
    rows = world.log.rows
    return world.horizon.timetable(
        [row[1] for row in rows],
        [row[2] for row in rows],
        [row[3] for row in rows],
        [row[4] for row in rows],
        [gpus[0] if len(gpus) == 1 else -1 for gpus in world.log.gpus],
    )


def receding(snapshot: Snapshot, planner: Callable[[Instance], Timetable | None]) -> Round | None:
    """Return the round that follows a planner's timetable for the rest: current starts and iteration limits of jobs.

    The round requests a wake at the next start of the timetable. Runs of an iteration that has not begun are left for
    later, as are those that become ready only now (after runs of duration 0).

    Returns:
        The round, or None if the planner finds no timetable.
    """
    question, shift = residual(snapshot)
    plan = planner(question)
    if plan is None:
        return None
    if wrong := question.violations(plan):
        raise SolverError(f"at {snapshot.now}: the planner's plan for the rest is infeasible: {wrong[0]}")
    starts, later = [], []
    columns = (plan.task, plan.iteration, plan.node, plan.start, plan.gpu)
    for task, iteration, node, start, label in zip(*(column.tolist() for column in columns), strict=True):
        job = int(snapshot.task_job[task])
        if start - shift > snapshot.now:
            later.append(start - shift)
        elif iteration == snapshot.finished[job] and snapshot.startable[task] and snapshot.may_start_on(task)[node]:
            starts.append((task, node, label))
    return snapshot.round(
        start=_starts_on_gpus(snapshot, starts), stop=_changed_limits(snapshot, plan), wake_at=min(later, default=0)
    )


def _starts_on_gpus(snapshot: Snapshot, starts: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return (task, node, GPU) of starts with a plan's GPU labels.

    The GPU is that of co-running tasks, else the first free GPU; the count in the judge's rule 6 ensures that one
    exists.
    """
    unit, needs, free = snapshot.gpu_unit, snapshot.gpu_demand, snapshot.gpu_free
    parts = (needs > 0) & (needs < unit)
    running = np.flatnonzero(parts & (snapshot.state == RUNNING)).tolist()
    gpu_names = {(int(snapshot.node[task]), int(snapshot.gpu[task])): int(snapshot.gpu[task]) for task in running}
    placed = []
    for task, node, label in starts:
        if parts[task] and (node, label) not in gpu_names:
            (gpu,) = gpus.taken(free[node], unit, unit)
            free[node, gpu], gpu_names[node, label] = 0, gpu
        placed.append((task, node, gpu_names[node, label] if parts[task] else -1))
    return placed


def _changed_limits(snapshot: Snapshot, plan: Timetable) -> list[tuple[int, int]]:
    """Return the jobs whose number of iterations the plan changes."""
    runs = snapshot.finished.copy()
    np.maximum.at(runs, plan.job, plan.iteration + 1)
    changed = np.flatnonzero(runs != snapshot.stop_after)
    return [(int(j), int(runs[j])) for j in changed]


def residual(snapshot: Snapshot) -> tuple[Instance, int]:
    """Return the horizon instance of the rest of a snapshot, and the lead of its clock over the snapshot's in ticks.

    A run that has outlasted its estimate is assumed to end at the next tick. Resources in use beyond the running tasks
    are taken off the capacity permanently.

    Raises:
        InvalidInput: The snapshot has interrupted runs, which timetables cannot represent, or individual GPUs are in
            use beyond the running tasks, which instances cannot represent.
    """
    running, is_done = snapshot.state == RUNNING, snapshot.state == DONE
    if not np.isin(snapshot.state, (WAITING, RUNNING, DONE)).all() or snapshot.progress.any():
        raise InvalidInput("the snapshot has paused runs, which a horizon instance cannot express")
    begin = np.maximum(snapshot.start, snapshot.now + 1 - snapshot.duration)
    starts = np.where(running, begin, snapshot.end - snapshot.duration)
    fixed_rows = np.flatnonzero(running | is_done)
    shift = max(0, -int(starts[fixed_rows].min(initial=0)))
    use = np.zeros(snapshot.node_capacity.shape, dtype=np.int64)
    now_running = np.flatnonzero(running)
    np.add.at(use, snapshot.node[now_running], snapshot.demand[now_running])
    if snapshot.node_type.any():
        raise InvalidInput("the snapshot has nodes of several types, which a horizon instance cannot express")
    if snapshot.gpu_unit and (snapshot.in_use - use)[:, gpus.gpu_column(snapshot.resources)].any():
        raise InvalidInput("the snapshot has used GPUs without a running task; a horizon instance cannot express them")
    fields = {name: getattr(snapshot, name) for name in SHARED}
    instance = Instance(
        **fields
        | {
            "node_capacity": np.maximum(snapshot.node_capacity - (snapshot.in_use - use), 0),
            "arrival": snapshot.arrival + shift,
            "deadline": _in_later_iteration(snapshot.deadline, shift),
            "last_end": np.where(snapshot.home >= 0, snapshot.last_end + shift, 0),
            "eligible": snapshot.eligible[snapshot.task_class],
            "accuracy": _write_out_tables(snapshot),
            "now": snapshot.now + shift,
        },
        movement="between_iterations" if snapshot.movement == "anytime" else snapshot.movement,
        fixed_task=fixed_rows,
        fixed_node=snapshot.node[fixed_rows],
        fixed_start=starts[fixed_rows] + shift,
        fixed_gpu=snapshot.gpu[fixed_rows],
        gpu_unit=snapshot.gpu_unit,
    )
    return instance, shift


def _write_out_tables(snapshot: Snapshot) -> IntArray:
    """Return the tables of a snapshot in full, shape (jobs, 0 to the most iterations)."""
    columns = np.arange(int(snapshot.max_iterations.max(initial=0)) + 1)
    inside = np.minimum(columns, snapshot.accuracy.shape[1] - 1)
    return np.asarray(snapshot.accuracy[snapshot.accuracy_table][:, inside])


def _in_later_iteration(deadline: IntArray, shift: int) -> IntArray:
    return np.asarray(np.where(deadline == UNLIMITED, UNLIMITED, np.minimum(deadline + shift, UNLIMITED)))
