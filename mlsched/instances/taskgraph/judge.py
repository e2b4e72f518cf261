"""The judge of the task-graph problem, written only from the problem statement.

1. A job runs the iterations from `finished` up to some n - 1, `min_iterations <= n <= max_iterations`, and in each of
them every task of the job exactly once.
2. A run is on an eligible node. It starts neither before its job's arrival nor before `now`, except the `fixed` runs,
which are unchanged.
3. A task runs all its iterations on one node, its `home` if it has one, unless `movement` allows changes.
4. A task's runs follow one another. An edge u -> v: v's run starts no earlier than u's run in the same (lag 0) or the
previous iteration (lag 1) ends, and `edge_delay` later when the two are on different nodes.
5. On every node, for every resource and at every time: demand of the current runs <= capacity.
6. With a `gpu_unit`, on every node and at every time from `now` on: the parts of GPUs with one label (`gpu`, which is
mandatory) sum to at most the unit, and labels in use + complete GPUs in use <= GPUs of the node.

Rule 6 means that every run can have its own GPUs, or its label's, from its start to its end. The uninterrupted times of
a label, and the times of complete GPUs, are intervals that need one GPU each. Interval graphs are perfect, so the
largest number of overlapping intervals is enough GPUs (assigned in order of the starts, which leaves GPUs in use
unchanged).

Objectives: see `Instance.objectives`. A job without (further) iterations completes when its last finished one did, or
at its arrival. Plain loops over Python integers; it does not share code with the models and rules it judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.errors import InvalidInput, with_article
from mlsched.instances.taskgraph.gpus import gpu_column

if TYPE_CHECKING:
    from mlsched.instances.taskgraph.instance import Instance, Timetable

#: (task, iteration) -> (node, start).
Runs = dict[tuple[int, int], tuple[int, int]]
#: (task, iteration) -> its label of a GPU, or -1.
Labels = dict[tuple[int, int], int]


def violations(instance: Instance, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(instance.plan_type.kind)}"]
    answer: Any = plan
    if malformed := _malformed(instance, answer) or _check_counts(instance, answer):
        return malformed
    runs, total = _runs_of_plan(answer), _iterations(instance, answer)
    return (
        _misplaced(instance, runs)
        + _check_started_runs(instance, runs)
        + _too_early(instance, runs)
        + _out_of_order(instance, runs, total)
        + _overfull(instance, runs)
        + _unshareable(instance, runs, _gpu_labels(answer))
    )


def _gpu_labels(plan: Timetable) -> Labels:
    keys = zip(plan.task.tolist(), plan.iteration.tolist(), strict=True)
    return dict(zip(keys, plan.gpu.tolist(), strict=True))


def _runs_of_plan(plan: Timetable) -> Runs:
    keys = zip(plan.task.tolist(), plan.iteration.tolist(), strict=True)
    return dict(zip(keys, zip(plan.node.tolist(), plan.start.tolist(), strict=True), strict=True))


def _malformed(instance: Instance, plan: Timetable) -> list[str]:
    tasks, nodes = len(instance.task_job), len(instance.node_capacity)
    faults = []
    runs_so_far = set()
    rows = zip(plan.job.tolist(), plan.iteration.tolist(), plan.task.tolist(), plan.node.tolist(), strict=True)
    for row, (job, iteration, task, node) in enumerate(rows):
        if task >= tasks:
            faults.append(f"row {row}: task {task} does not exist: there are {tasks}")
        elif job != int(instance.task_job[task]):
            faults.append(f"row {row}: task {task} belongs to job {int(instance.task_job[task])}, not to job {job}")
        elif node >= nodes:
            faults.append(f"row {row}: node {node} does not exist: there are {nodes}")
        elif (task, iteration) in runs_so_far:
            faults.append(f"row {row}: task {task} runs iteration {iteration} a second time")
        runs_so_far.add((task, iteration))
    return faults


def _iterations(instance: Instance, plan: Timetable) -> list[int]:
    """Return the number of iterations of each job, the finished iterations included."""
    last = [int(f) for f in instance.finished]
    for job, iteration in zip(plan.job.tolist(), plan.iteration.tolist(), strict=True):
        last[job] = max(last[job], iteration + 1)
    return last


def _check_counts(instance: Instance, plan: Timetable) -> list[str]:
    """Return faults in the iterations: their number, and missing or finished runs (rule 1); the plan is well-formed."""
    faults = []
    have = set(zip(plan.task.tolist(), plan.iteration.tolist(), strict=True))
    total = _iterations(instance, plan)
    for j, n in enumerate(total):
        if not int(instance.min_iterations[j]) <= n <= int(instance.max_iterations[j]):
            low, high = int(instance.min_iterations[j]), int(instance.max_iterations[j])
            faults.append(f"job {j} runs {n} iterations: expected {low} to {high}")
    for task, iteration in sorted(have):
        if iteration < int(instance.finished[instance.task_job[task]]):
            faults.append(f"task {task} runs iteration {iteration}, which is finished already")
    for task in range(len(instance.task_job)):
        j = int(instance.task_job[task])
        for i in range(int(instance.finished[j]), min(total[j], int(instance.max_iterations[j]))):
            if (task, i) not in have:
                faults.append(f"task {task} lacks its run in iteration {i}, which job {j} runs")
    return faults


def _misplaced(instance: Instance, runs: Runs) -> list[str]:
    """Return runs on ineligible nodes (rule 2), or away from the node that a task must keep (rule 3)."""
    faults = []
    homes = {k: int(h) for k, h in enumerate(instance.home.tolist()) if h >= 0}
    for (task, iteration), (node, _) in sorted(runs.items()):
        if not int(instance.eligible[task, node]):
            faults.append(f"task {task}, iteration {iteration}: node {node} is not eligible")
        home = homes.setdefault(task, node)
        if instance.movement == "none" and node != home:
            faults.append(f"task {task}, iteration {iteration}: runs on node {node}, must stay on node {home}")
    return faults


def _started_runs(instance: Instance) -> Runs:
    columns = (instance.fixed_task.tolist(), instance.fixed_node.tolist(), instance.fixed_start.tolist())
    return {(t, int(instance.finished[instance.task_job[t]])): (n, s) for t, n, s in zip(*columns, strict=True)}


def _check_started_runs(instance: Instance, runs: Runs) -> list[str]:
    """Return runs that have started and are changed by the plan (rule 2)."""
    faults = []
    for (task, iteration), (node, start) in sorted(_started_runs(instance).items()):
        if runs.get((task, iteration)) != (node, start):
            faults.append(f"task {task}, iteration {iteration}: started at {start} on node {node}; that cannot change")
    return faults


def _too_early(instance: Instance, runs: Runs) -> list[str]:
    """Check the times of rule 2."""
    faults = []
    fixed_runs = _started_runs(instance)
    for (task, iteration), (_, start) in sorted(runs.items()):
        job = int(instance.task_job[task])
        earliest = max(int(instance.arrival[job]), instance.now)
        if start < earliest and (task, iteration) not in fixed_runs:
            reason = "now is" if instance.now > int(instance.arrival[job]) else f"job {job} arrives at"
            faults.append(f"task {task}, iteration {iteration}: starts at {start}, {reason} {earliest}")
    return faults


def _previous(instance: Instance, runs: Runs, task: int, iteration: int) -> tuple[int, int] | None:
    """Return node and end of a task's run; None if it is absent."""
    if (task, iteration) in runs:
        node, start = runs[task, iteration]
        return node, start + int(instance.duration[task])
    if iteration >= 0 and iteration == int(instance.finished[instance.task_job[task]]) - 1:
        return int(instance.home[task]), int(instance.last_end[task])
    return None


def _iterations_of(instance: Instance, task: int, total: list[int]) -> range:
    """Return the iterations in which the plan runs a task."""
    job = int(instance.task_job[task])
    return range(int(instance.finished[job]), total[job])


def _out_of_order(instance: Instance, runs: Runs, total: list[int]) -> list[str]:
    """Return runs that start before the task's previous run ends or an input arrives (rule 4); fixed runs are past."""
    faults = []
    fixed_runs = _started_runs(instance)
    for (task, iteration), (_, start) in sorted(runs.items()):
        before = _previous(instance, runs, task, iteration - 1)
        if before is not None and start < before[1] and (task, iteration) not in fixed_runs:
            faults.append(f"task {task}, iteration {iteration}: starts at {start}, its run before ends at {before[1]}")
    for e in range(len(instance.edge_from)):
        u, v = int(instance.edge_from[e]), int(instance.edge_to[e])
        for iteration in _iterations_of(instance, v, total):
            source = _previous(instance, runs, u, iteration - int(instance.edge_lag[e]))
            node, start = runs[v, iteration]
            if source is None or (v, iteration) in fixed_runs:
                continue
            away = source[0] != node
            ready = source[1] + (int(instance.edge_delay[e]) if away else 0)
            if start < ready:
                how = "from another node " if away else ""
                faults.append(
                    f"task {v}, iteration {iteration}: starts at {start}, what task {u} sends {how}arrives at {ready}"
                )
    return faults


def _overfull(instance: Instance, runs: Runs) -> list[str]:
    """Return nodes and times with more use than capacity; use rises only at starts (rule 5)."""
    faults = []
    for node in range(len(instance.node_capacity)):
        here = [
            (start, start + int(instance.duration[task]), task)
            for (task, _), (place, start) in runs.items()
            if place == node
        ]
        for r, resource in enumerate(instance.resources):
            capacity = int(instance.node_capacity[node, r])
            changes = sorted(
                [(end, -int(instance.demand[task, r])) for _, end, task in here]
                + [(start, int(instance.demand[task, r])) for start, _, task in here]
            )
            use = 0
            # At equal times, releases (negative) sort first: a run of duration 0 uses nothing.
            for time, change in changes:
                use += change
                if use > capacity:
                    faults.append(f"node {node} at {time}: {use} {resource} in use, its capacity is {capacity}")
                    break
    return faults


def _unshareable(instance: Instance, runs: Runs, labels: Labels) -> list[str]:
    """Return wrong labels of GPUs, or the times at which a node has too few GPUs, found after every start (rule 6)."""
    unit = instance.gpu_unit
    if not unit:
        return []
    column = gpu_column(instance.resources)
    faults = _wrong_labels(instance, runs, labels, column)
    if faults:
        return faults
    for node in range(len(instance.node_capacity)):
        changes = []
        for (task, iteration), (place, start) in runs.items():
            need, end = int(instance.demand[task, column]), start + int(instance.duration[task])
            if place == node and need and max(start, instance.now) < end:
                label = labels[task, iteration]
                changes += [(start, need, label), (end, -need, label)]
        faults += _first_crowded_time(
            instance, node, sorted(changes), int(instance.node_capacity[node, column]) // unit
        )
    return faults


def _wrong_labels(instance: Instance, runs: Runs, labels: Labels, column: int) -> list[str]:
    """Return parts of GPUs without a label, labels beyond a node's GPUs, and changed labels of fixed runs."""
    unit, faults, fixed = instance.gpu_unit, [], _started_runs(instance)
    fixed_labels = dict(zip(instance.fixed_task.tolist(), instance.fixed_gpu.tolist(), strict=True))
    for (task, iteration), (node, start) in sorted(runs.items()):
        label, need = labels[task, iteration], int(instance.demand[task, column])
        name, gpus = f"task {task}, iteration {iteration}", int(instance.node_capacity[node, column]) // unit
        part = 0 < need < unit and max(start, instance.now) < start + int(instance.duration[task])
        if label >= gpus:
            faults.append(f"{name}: names GPU {label}, and node {node} has {gpus}, numbered from 0")
        elif part and label < 0:
            faults.append(f"{name}: needs {need} of a GPU's {unit} and names no GPU")
        elif part and (task, iteration) in fixed and label != fixed_labels[task]:
            faults.append(f"{name}: started on GPU {fixed_labels[task]} of node {node}; that cannot change")
    return faults


def _first_crowded_time(instance: Instance, node: int, changes: list[tuple[int, int, int]], gpus: int) -> list[str]:
    """Return the first time with too few GPUs; changes: (time, need, label) in order of time."""
    unit, whole = instance.gpu_unit, 0
    parts: dict[int, int] = {}
    for time, change, label in changes:  # at equal times, releases (negative) sort first
        if abs(change) >= unit:
            whole += change // unit
        else:
            parts[label] = parts.get(label, 0) + change
            if parts[label] > unit:
                return [f"node {node} at {time}: {parts[label]} of GPU {label} in use, it has {unit}"]
        shared_gpus = sum(1 for use in parts.values() if use)
        if shared_gpus + whole > gpus:
            return [f"node {node} at {time}: {whole} GPUs in use whole and {shared_gpus} in parts, it has {gpus}"]
    return []


def evaluate(instance: Instance, plan: Timetable) -> dict[str, int]:
    """Evaluate the objectives of a well-formed `plan`; `violations` checks feasibility."""
    if malformed := _malformed(instance, plan) or _check_counts(instance, plan):
        raise InvalidInput(f"the plan cannot be evaluated: {malformed[0]}")
    runs = _runs_of_plan(plan)
    total = _iterations(instance, plan)
    values = {
        "total_jct": 0,
        "deadlines_met": 0,
        "traffic": _total_traffic(instance, runs, total),
        "accuracy_met": 0,
        "total_accuracy": 0,
        "makespan": 0,
    }
    completions = []
    for j, n in enumerate(total):
        ends = _iteration_ends(instance, runs, j, n)
        arrival, deadline = int(instance.arrival[j]), int(instance.deadline[j])
        completion = max(ends) if ends else _last_completion(instance, j)
        completions.append(completion)
        iteration_count = n
        if instance.accuracy_at == "deadline":
            iteration_count = int(instance.on_time[j])
            # Iterations finish in order of their number, or at once: the first late one ends the count.
            if iteration_count == int(instance.finished[j]):
                for end in ends:
                    if end > deadline:
                        break
                    iteration_count += 1
        accuracy = int(instance.accuracy[j, iteration_count])
        values["total_jct"] += completion - arrival
        values["deadlines_met"] += completion <= deadline
        values["accuracy_met"] += accuracy >= int(instance.required[j])
        values["total_accuracy"] += accuracy
    if completions:
        values["makespan"] = max(completions) - min(int(a) for a in instance.arrival)
    return values


def _iteration_ends(instance: Instance, runs: Runs, job: int, iterations: int) -> list[int]:
    """Return the end of each planned iteration: the last end of its and all earlier iterations' runs."""
    tasks = [k for k in range(len(instance.task_job)) if int(instance.task_job[k]) == job]
    ends = []
    latest = 0
    for i in range(int(instance.finished[job]), iterations):
        latest = max([latest] + [runs[k, i][1] + int(instance.duration[k]) for k in tasks])
        ends.append(latest)
    return ends


def _last_completion(instance: Instance, job: int) -> int:
    """Return the completion of a job without further runs: its last finished iteration, else its arrival."""
    if not int(instance.finished[job]):
        return int(instance.arrival[job])
    return max(int(instance.last_end[k]) for k in range(len(instance.task_job)) if int(instance.task_job[k]) == job)


def _total_traffic(instance: Instance, runs: Runs, total: list[int]) -> int:
    volume = 0
    for e in range(len(instance.edge_from)):
        u, v = int(instance.edge_from[e]), int(instance.edge_to[e])
        for iteration in _iterations_of(instance, v, total):
            source = _previous(instance, runs, u, iteration - int(instance.edge_lag[e]))
            if source is not None and source[0] != runs[v, iteration][0]:
                volume += int(instance.edge_volume[e])
    return volume
