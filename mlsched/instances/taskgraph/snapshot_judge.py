"""The judge of a round, written only from the problem statement.

1. A round names a task at most once, and a job at most once among its stops.
2. `start`: the task waits or is paused in its job's current iteration, and its inputs are present: every source of an
edge of lag 0 is done, and the data of it and of the sources of lag 1 (in the last finished iteration) have arrived:
`edge_delay` after the source's end when the source ran on another node.
3. `pause`: the task runs, and `pausing` allows it.
4. `migrate`: the task runs, `movement` is "anytime", the node (or the named GPU of it) is another one, and the task's
inputs are present (2).
5. A task goes to an eligible node. `movement = "none"`: to its home, or, in the first iteration, to the node on which
the run began; "between_iterations": a paused run resumes on its old node; "anytime": anywhere.
6. `stop`: after no fewer iterations than the job's least, the finished, or the begun ones (with this round's starts),
and after no more than its most.
7. On every node to which a task comes: use, less the leaving tasks, plus the coming tasks <= capacity. A run of
duration 0 uses nothing.
8. A job with `gang` 1 starts all of its tasks or none of them, and pauses all or none.
9. If `gpu_unit` is given: a task that comes with a fraction of a GPU names the GPU, a task of a single GPU may, all
others must not. On every named GPU: use, less the leaving tasks, plus the coming tasks <= the unit. Of the node's GPUs,
enough are completely free for the coming tasks with unnamed complete GPUs. Without `gpu_unit`, naming is forbidden.
10. All tasks of a job with `gang` 1 are on nodes of one type after the round (`node_type`).

If `simulator` is "iterations", a start is not a single run: sources of lag 0 need not be done (2).

Plain loops over Python integers; it does not share code with the rules and the world. Loops visit only the tasks and
nodes that the round names: a round is judged at every scheduling event of a simulation, and is short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.errors import with_article
from mlsched.instances.taskgraph.gpus import GPU_UNITS
from mlsched.instances.taskgraph.states import DONE, PAUSED, RUNNING, STATES, WAITING

if TYPE_CHECKING:
    from mlsched.instances.taskgraph.round import Round
    from mlsched.instances.taskgraph.snapshot import Snapshot

Pairs = list[tuple[int, int]]


def violations(snapshot: Snapshot, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, snapshot.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(snapshot.plan_type.kind)}"]
    answer: Any = plan
    if malformed := _malformed(snapshot, answer):
        return malformed
    starts = _zip_columns(answer.start_task, answer.start_node)
    moves = _zip_columns(answer.migrate_task, answer.migrate_node)
    return (
        _wrong_state(snapshot, answer)
        + _wrong_place(snapshot, starts + moves)
        + _not_ready(snapshot, starts + moves)
        + _wrong_stops(snapshot, answer)
        + _overfull(snapshot, answer)
        + _incomplete_gangs(snapshot, answer)
        + _wrong_gpus(snapshot, answer)
        + _gangs_of_mixed_types(snapshot, answer, starts + moves)
    )


def _zip_columns(first: Any, second: Any) -> Pairs:
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _malformed(snapshot: Snapshot, plan: Round) -> list[str]:
    """Return tasks, nodes and jobs that do not exist, and tasks and stops that are named twice (rule 1)."""
    tasks, nodes, jobs = len(snapshot.task_job), len(snapshot.node_capacity), len(snapshot.arrival)
    faults = []
    task_set: set[int] = set()
    for verb, named in (("start", plan.start_task), ("pause", plan.pause_task), ("migrate", plan.migrate_task)):
        for task in named.tolist():
            if task >= tasks:
                faults.append(f"{verb}: task {task} does not exist: there are {tasks}")
            elif task in task_set:
                faults.append(f"{verb}: task {task} is named a second time")
            task_set.add(task)
    for verb, places in (("start", plan.start_node), ("migrate", plan.migrate_node)):
        faults += [f"{verb}: node {n} does not exist: there are {nodes}" for n in places.tolist() if n >= nodes]
    stop_jobs = plan.stop_job.tolist()
    for place, job in enumerate(stop_jobs):
        if job >= jobs:
            faults.append(f"stop: job {job} does not exist: there are {jobs}")
        elif job in stop_jobs[:place]:
            faults.append(f"stop: job {job} is named a second time")
    return faults


def _wrong_state(snapshot: Snapshot, plan: Round) -> list[str]:
    """Return actions that the task's state or the options forbid (rules 2 to 4)."""
    faults = []
    for task in plan.start_task.tolist():
        if int(snapshot.state[task]) not in (WAITING, PAUSED):
            faults.append(f"start: task {task} {STATES[int(snapshot.state[task])]}")
    for verb, named in (("pause", plan.pause_task), ("migrate", plan.migrate_task)):
        for task in named.tolist():
            if int(snapshot.state[task]) != RUNNING:
                faults.append(f"{verb}: task {task} {STATES[int(snapshot.state[task])]}: must run")
    if len(plan.pause_task) and snapshot.pausing == "none":
        faults.append(f"pause: task {int(plan.pause_task[0])} may not pause: pausing is 'none'")
    if len(plan.migrate_task) and snapshot.movement != "anytime":
        faults.append(f"migrate: task {int(plan.migrate_task[0])} may not move: movement is '{snapshot.movement}'")
    for task, node, gpu in zip(
        plan.migrate_task.tolist(), plan.migrate_node.tolist(), plan.migrate_gpu.tolist(), strict=True
    ):
        if node == int(snapshot.node[task]) and gpu in (-1, int(snapshot.gpu[task])):
            faults.append(f"migrate: task {task} runs on node {node} already")
    return faults


def _wrong_place(snapshot: Snapshot, places: Pairs) -> list[str]:
    """Return tasks that go to an ineligible node, or to a node that their movement forbids (rule 5)."""
    faults = []
    for task, node in places:
        if not int(snapshot.eligible[snapshot.task_class[task], node]):
            faults.append(f"task {task}: node {node} is not eligible")
        here, home = int(snapshot.node[task]), int(snapshot.home[task])
        if snapshot.movement == "none" and max(here, home) >= 0:
            bound = home if home >= 0 else here
        elif snapshot.movement == "between_iterations" and int(snapshot.state[task]) == PAUSED:
            bound = here
        else:
            continue
        if node != bound:
            faults.append(f"task {task}: goes to node {node}, must stay on node {bound}")
    return faults


def _not_ready(snapshot: Snapshot, places: Pairs) -> list[str]:
    """Return tasks that go to a node before their inputs are there (rules 2 and 4)."""
    faults: list[str] = []
    target = dict(places)
    if not len(snapshot.edge_to) or not target:
        return faults
    receives = np.zeros(len(snapshot.task_job), dtype=bool)
    receives[list(target)] = True
    for e in np.flatnonzero(receives[snapshot.edge_to]).tolist():
        u, v = int(snapshot.edge_from[e]), int(snapshot.edge_to[e])
        if int(snapshot.edge_lag[e]) == 0:
            if snapshot.simulator == "iterations":
                continue
            if int(snapshot.state[u]) != DONE:
                faults.append(f"task {v}: what it needs of task {u} is not there: task {u} is not done")
                continue
            source, end = int(snapshot.node[u]), int(snapshot.end[u])
        else:
            if int(snapshot.finished[snapshot.task_job[u]]) == 0:
                continue
            source, end = int(snapshot.home[u]), int(snapshot.last_end[u])
        arrives = end + (int(snapshot.edge_delay[e]) if source != target[v] else 0)
        if arrives > snapshot.now:
            faults.append(
                f"task {v}: what task {u} sends arrives at node {target[v]} at {arrives}, now is {snapshot.now}"
            )
    return faults


def _wrong_stops(snapshot: Snapshot, plan: Round) -> list[str]:
    """Return stops outside the limits of the job's iterations (rule 6)."""
    faults: list[str] = []
    if not len(plan.stop_job):
        return faults
    has_begun = np.zeros(len(snapshot.arrival), dtype=bool)
    has_begun[snapshot.task_job[snapshot.state != WAITING]] = True
    has_begun[snapshot.task_job[plan.start_task]] = True
    for job, iterations in _zip_columns(plan.stop_job, plan.stop_after):
        low = max(int(snapshot.min_iterations[job]), int(snapshot.finished[job]) + bool(has_begun[job]))
        high = int(snapshot.max_iterations[job])
        if not low <= iterations <= high:
            faults.append(f"stop: job {job} after {iterations} iterations: expected {low} to {high}")
    return faults


def _overfull(snapshot: Snapshot, plan: Round) -> list[str]:
    """Return nodes whose use exceeds their capacity after the round, among those to which tasks come (rule 7)."""
    coming = _zip_columns(plan.start_task, plan.start_node) + _zip_columns(plan.migrate_task, plan.migrate_node)
    coming = [(task, node) for task, node in coming if int(snapshot.duration[task]) > 0]
    use: dict[int, list[int]] = {node: snapshot.in_use[node].tolist() for _, node in coming}
    for task, node in coming:
        for r, amount in enumerate(snapshot.demand[task].tolist()):
            use[node][r] += amount
    for task in plan.pause_task.tolist() + plan.migrate_task.tolist():
        node = int(snapshot.node[task])
        # A task that does not run uses nothing.
        if node in use and int(snapshot.state[task]) == RUNNING and int(snapshot.duration[task]) > 0:
            for r, amount in enumerate(snapshot.demand[task].tolist()):
                use[node][r] -= amount
    faults = []
    for node in sorted(use):
        for r, resource in enumerate(snapshot.resources):
            capacity = int(snapshot.node_capacity[node, r])
            if use[node][r] > capacity:
                faults.append(f"node {node}: {use[node][r]} {resource} in use, its capacity is {capacity}")
    return faults


def _incomplete_gangs(snapshot: Snapshot, plan: Round) -> list[str]:
    """Return gangs of which the round starts or pauses only some tasks (rule 8)."""
    faults = []
    for verb, tasks in (("starts", plan.start_task), ("pauses", plan.pause_task)):
        named: dict[int, int] = {}
        for task in tasks.tolist():
            job = int(snapshot.task_job[task])
            named[job] = named.get(job, 0) + 1
        for job, count in named.items():
            first, end = snapshot.task_job.searchsorted((job, job + 1)).tolist()
            if int(snapshot.gang[job]) and count < end - first:
                faults.append(f"job {job} is a gang: {verb} {count} of its {end - first} tasks, expected all or none")
    return faults


def _gangs_of_mixed_types(snapshot: Snapshot, plan: Round, coming: Pairs) -> list[str]:
    """Return gangs on nodes of several types after the round; `coming`: (task, node) of starts and moves (rule 10)."""
    if not snapshot.node_type.any():
        return []
    target, leaving = dict(coming), set(plan.pause_task.tolist())
    faults = []
    for job in sorted({int(snapshot.task_job[task]) for task in target}):
        first, end = np.searchsorted(snapshot.task_job, (job, job + 1)).tolist()
        stays = [t for t in range(first, end) if int(snapshot.state[t]) == RUNNING and t not in leaving]
        at = {task: int(snapshot.node[task]) for task in stays} | target
        kinds = sorted({int(snapshot.node_type[at[task]]) for task in range(first, end) if task in at})
        if int(snapshot.gang[job]) and len(kinds) > 1:
            faults.append(f"job {job} is a gang: holds nodes of types {', '.join(map(str, kinds))}, expected of one")
    return faults


def _wrong_gpus(snapshot: Snapshot, plan: Round) -> list[str]:
    """Return GPUs that are named without need, not named, or too small for the tasks that come (rule 9)."""
    columns = [
        first.tolist() + second.tolist()
        for first, second in (
            (plan.start_task, plan.migrate_task),
            (plan.start_node, plan.migrate_node),
            (plan.start_gpu, plan.migrate_gpu),
        )
    ]
    coming = list(zip(*columns, strict=True))
    unit = snapshot.gpu_unit
    if not unit:
        named_gpus = [(task, gpu) for task, _, gpu in coming if gpu >= 0]
        return [f"task {task}: names GPU {gpu}: the GPUs of a node are one pool here" for task, gpu in named_gpus]
    column = next(r for r, name in enumerate(snapshot.resources) if name in GPU_UNITS)
    faults, free = [], _after_leaving(snapshot, plan, column, sorted({node for _, node, _ in coming}))
    count = dict.fromkeys(free, 0)  # unnamed complete GPUs of each node
    for task, node, gpu in coming:
        need = int(snapshot.demand[task, column]) * (int(snapshot.duration[task]) > 0)
        if gpu >= len(free[node]):
            faults.append(f"task {task}: GPU {gpu} does not exist on node {node}, which has {len(free[node])}")
        elif gpu < 0 and 0 < need < unit:
            faults.append(f"task {task}: takes {need} of {unit} of a GPU and must name it")
        elif gpu >= 0 and not 0 < need <= unit:
            faults.append(f"task {task}: names GPU {gpu} and takes {need}: only a task of at most one GPU names it")
        elif gpu >= 0:
            free[node][gpu] -= need
        else:
            count[node] += need // unit
    for node, rooms in free.items():
        faults += [f"node {node}, GPU {g}: {-room} more in use than it has" for g, room in enumerate(rooms) if room < 0]
        if count[node] > rooms.count(unit):
            faults.append(f"node {node}: {count[node]} whole GPUs are asked for, {rooms.count(unit)} are wholly free")
    return faults


def _after_leaving(snapshot: Snapshot, plan: Round, column: int, nodes: list[int]) -> dict[int, list[int]]:
    """Return the free amount of each GPU of these nodes without the tasks that pause or move."""
    unit, free = snapshot.gpu_unit, {}
    leaving = {t for t in plan.pause_task.tolist() + plan.migrate_task.tolist() if int(snapshot.state[t]) == RUNNING}
    for node in nodes:
        count = int(snapshot.node_capacity[node, column]) // unit
        free[node] = [unit - amount for amount in snapshot.gpu_in_use[node].tolist()[:count]]
        if not leaving:
            continue
        for gpu, task in enumerate(snapshot.gpu_holder[node].tolist()):
            if task in leaving:
                free[node][gpu] += unit
    for task in leaving:
        need = int(snapshot.demand[task, column])
        if int(snapshot.gpu[task]) >= 0 and need < unit and int(snapshot.node[task]) in free:
            free[int(snapshot.node[task])][int(snapshot.gpu[task])] += need
    return free
