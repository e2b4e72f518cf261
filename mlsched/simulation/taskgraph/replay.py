"""Independent check of a finished task-graph run, using only the workload, the options and the log.

1. Every job runs its iterations in order without gaps, each of its tasks once in each of them. Their number is the last
limit it was given, between its least and its most.
2. Work is done: the segments of a run, less their costs, add up to the task's true duration. The costs are a move to
another node (the delay of the task's edge of lag 1 to itself) and, of each segment but the first, the workload's
`pause_cost`. If pauses lose work, only the segments since the last pause count. Runs pause and move only if the options
allow it; a run that moves continues at once, elsewhere.
3. Segments are on eligible nodes. A task keeps its node throughout, or inside each iteration, as set by the movement.
4. Segments never start before their job's arrival, before the job's previous iteration is complete, or before the
inputs from its sources have arrived: their ends, and `edge_delay` later from another node.
5. On every node, at every time, for every resource: demand of the segments in progress <= capacity.
6. If the GPUs of a node are individual, a segment uses the number its task needs, or a part of one GPU; on every GPU,
at every time: the parts in use <= `gpu_unit`.
7. With ticks only, segments start, pause and move at ticks, or at wakes requested by rounds.

The module shares no code with the world and uses plain Python integers.
"""

from __future__ import annotations

from collections import defaultdict

from mlsched.instances.taskgraph import Instance
from mlsched.simulation.findings import Findings
from mlsched.simulation.taskgraph.log import FINISH, MOVE, PAUSE, Log
from mlsched.simulation.taskgraph.options import Options
from mlsched.simulation.taskgraph.workload import Workload
from mlsched.simulation.wake import Wake

#: (node, start, end, outcome) of one segment.
Segment = tuple[int, int, int, int]
#: (task, iteration) -> its segments by time.
Runs = dict[tuple[int, int], list[Segment]]


def violations(workload: Workload, options: Options, wake: Wake, log: Log) -> list[str]:
    """Return the violations in the `log` of a run, by kind; empty if it is sound."""
    findings = Findings()
    runs = _read_rows(workload, log, findings)
    total = _check_counts(workload, log, runs, findings)
    movement = workload.horizon.movement if options.movement == "given" else options.movement
    homes: dict[int, int] = {}
    for (task, iteration), segments in sorted(runs.items(), key=lambda run: (run[0][1], run[0][0])):
        _check_work(workload, options, movement, task, iteration, segments, findings)
        _check_places(workload, movement, homes, task, iteration, segments, findings)
    _check_order(workload, runs, total, findings)
    _check_capacity(workload, log, findings)
    _check_gpus(workload.horizon, log, findings)
    if wake.interval and not wake.events:
        _check_ticks(wake, workload.horizon.tick_ms or 1000, runs, set(log.wakes), findings)
    return findings.sentences()


def _read_rows(workload: Workload, log: Log, findings: Findings) -> Runs:
    """Return the rows by run; invalid rows are reported and left out."""
    horizon = workload.horizon
    runs: Runs = defaultdict(list)
    for row in log.rows:
        job, iteration, task, node, start, end, outcome = row
        is_known = 0 <= task < len(horizon.task_job) and 0 <= node < len(horizon.node_capacity) and iteration >= 0
        if is_known and job == int(horizon.task_job[task]) and start <= end and outcome in (PAUSE, FINISH, MOVE):
            runs[task, iteration].append((node, start, end, outcome))
        else:
            findings.add("log", f"the row {tuple(row)} names no job, task or node, or ends before it starts")
    for segments in runs.values():
        # An empty segment comes before the next that starts at the same time.
        segments.sort(key=lambda s: (s[1], s[2], s[3] == FINISH))
    return dict(runs)


def _check_counts(workload: Workload, log: Log, runs: Runs, findings: Findings) -> list[int]:
    """Check that each task runs every iteration once; return the required iterations of each job (rule 1)."""
    horizon = workload.horizon
    total = [int(n) for n in horizon.max_iterations]
    for job, iterations, time in sorted(log.stops, key=lambda stop: stop[2]):
        if not 0 <= job < len(total):
            findings.add("log", f"the stop {(job, iterations, time)} names no job")
            continue
        low, high = int(horizon.min_iterations[job]), int(horizon.max_iterations[job])
        if not low <= iterations <= high:
            findings.add(
                "stop", f"job {job} is told at {time} to stop after {iterations} iterations: {low} to {high} may be"
            )
        total[job] = iterations
    for task in range(len(horizon.task_job)):
        job = int(horizon.task_job[task])
        for iteration in range(total[job]):
            ends = [s for s in runs.get((task, iteration), []) if s[3] == FINISH]
            if len(ends) != 1:
                findings.add("lost run", f"task {task} finishes iteration {iteration} {len(ends)} times")
    for task, iteration in runs:
        if iteration >= total[int(horizon.task_job[task])]:
            findings.add("lost run", f"task {task} runs iteration {iteration}, after the last of its job")
    return total


def _move_price(workload: Workload, task: int) -> int:
    """Return the ticks lost if the task moves before its run has ended: the delay of its edge of lag 1 to itself."""
    horizon = workload.horizon
    delays = [0]
    for e in range(len(horizon.edge_from)):
        if int(horizon.edge_lag[e]) == 1 and int(horizon.edge_from[e]) == int(horizon.edge_to[e]) == task:
            delays.append(int(horizon.edge_delay[e]))
    return max(delays)


def _check_work(
    workload: Workload,
    options: Options,
    movement: str,
    task: int,
    iteration: int,
    segments: list[Segment],
    findings: Findings,
) -> None:
    """Check the work, pauses and moves of one run (rule 2)."""
    name, work_done, before = f"task {task}, iteration {iteration}", 0, None
    for node, start, end, outcome in segments:
        if before is not None:
            if before[3] == FINISH or start < before[2]:
                findings.add("two places", f"{name}: starts at {start}, it left at {before[2]}")
            elsewhere = node != before[0] or workload.horizon.gpu_unit  # possibly another GPU of the same node
            if before[3] == MOVE and (start != before[2] or not elsewhere):
                findings.add(
                    "move", f"{name}: moves at {before[2]} from node {before[0]}, is on node {node} at {start}"
                )
        has_moved = before is not None and before[0] != node
        overhead = (_move_price(workload, task) if has_moved else 0) + (0 if before is None else workload.pause_cost)
        work_done += max(0, end - start - overhead)
        if outcome == PAUSE and options.pausing == "none":
            findings.add("pause", f"{name}: pauses at {end}: runs do not pause here")
        if outcome == PAUSE and options.pausing == "restart":
            work_done = 0
        if outcome == MOVE and movement != "anytime":
            findings.add("move", f"{name}: moves at {end}: movement is '{movement}'")
        before = (node, start, end, outcome)
    if segments[-1][3] != FINISH:
        findings.add("lost run", f"{name}: does not go on after {segments[-1][2]}")
    elif work_done != int(workload.true_duration[task]):
        findings.add("work", f"{name}: did {work_done} ticks of its {int(workload.true_duration[task])}")


def _check_places(
    workload: Workload,
    movement: str,
    homes: dict[int, int],
    task: int,
    iteration: int,
    segments: list[Segment],
    findings: Findings,
) -> None:
    """Check the nodes of one run (rule 3); `homes` has the nodes that tasks must keep, and is extended."""
    for node, start, _, _ in segments:
        if not int(workload.horizon.eligible[task, node]):
            findings.add("place", f"task {task}, iteration {iteration}: node {node} is not eligible")
        bound = segments[0][0] if movement == "between_iterations" else homes.setdefault(task, node)
        if movement != "anytime" and node != bound:
            findings.add(
                "place", f"task {task}, iteration {iteration}: on node {node} at {start}, must stay on {bound}"
            )


def _check_order(workload: Workload, runs: Runs, total: list[int], findings: Findings) -> None:
    """Check that runs start after the job's arrival, the previous iteration, and their inputs (rule 4)."""
    horizon = workload.horizon
    complete: dict[tuple[int, int], int] = defaultdict(int)
    for (task, iteration), segments in runs.items():
        key = (int(horizon.task_job[task]), iteration)
        complete[key] = max(complete[key], segments[-1][2])
    for (task, iteration), segments in runs.items():
        job = int(horizon.task_job[task])
        earliest = complete[job, iteration - 1] if iteration else int(horizon.arrival[job])
        if segments[0][1] < earliest:
            what = "iteration before is complete" if iteration else "job arrives"
            findings.add(
                "early start",
                f"task {task}, iteration {iteration}: starts at {segments[0][1]}, its {what} at {earliest}",
            )
    for e in range(len(horizon.edge_from)):
        u, v, lag = int(horizon.edge_from[e]), int(horizon.edge_to[e]), int(horizon.edge_lag[e])
        for iteration in range(lag, total[int(horizon.task_job[v])]):
            source, target = runs.get((u, iteration - lag)), runs.get((v, iteration))
            if not source or not target:
                continue  # reported as a lost run
            place, _, end, _ = source[-1]
            for node, start, _, _ in target:
                arrives = end + (int(horizon.edge_delay[e]) if node != place else 0)
                if start < arrives:
                    findings.add(
                        "order",
                        f"task {v}, iteration {iteration}: is on node {node} at {start}, "
                        f"what task {u} sends arrives at {arrives}",
                    )


def _check_capacity(workload: Workload, log: Log, findings: Findings) -> None:
    """Check rule 5: every node's starts and ends in time order; at one instant, ends come before starts."""
    horizon = workload.horizon
    changes: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for _, _, task, node, start, end, _ in log.rows:
        if end > start and 0 <= task < len(horizon.task_job) and 0 <= node < len(horizon.node_capacity):
            changes[node] += [(start, 1, task), (end, -1, task)]
    for node, events in changes.items():
        capacity = horizon.node_capacity[node].tolist()
        use = [0] * len(capacity)
        for time, sign, task in sorted(events):
            for r, amount in enumerate(horizon.demand[task].tolist()):
                use[r] += sign * amount
                if sign > 0 and use[r] > capacity[r]:
                    findings.add(
                        "capacity",
                        f"node {node} at {time}: {use[r]} {horizon.resources[r]} in use, its capacity is {capacity[r]}",
                    )


def _check_gpus(horizon: Instance, log: Log, findings: Findings) -> None:
    """Check the number of GPUs of each run, and the use of each GPU (rule 6)."""
    unit = horizon.gpu_unit
    if len(log.gpus) != (len(log.rows) if unit else 0):
        findings.add("gpu", f"{len(log.gpus)} of {len(log.rows)} rows say which GPUs they hold, and gpu_unit = {unit}")
        return
    column = next((r for r, name in enumerate(horizon.resources) if name in ("gpu", "gpu_percent", "gpu_milli")), 0)
    changes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for (_, iteration, task, node, start, end, _), held_values in zip(log.rows, log.gpus, strict=False):
        if end == start or not (0 <= task < len(horizon.task_job) and 0 <= node < len(horizon.node_capacity)):
            continue
        need, gpus = int(horizon.demand[task, column]), int(horizon.node_capacity[node, column]) // unit
        if (
            len(set(held_values)) != len(held_values)
            or len(held_values) != -(-need // unit)
            or not set(held_values) <= set(range(gpus))
        ):
            findings.add(
                "gpu",
                f"task {task}, iteration {iteration}: needs {need} and holds the GPUs {held_values} of node {node}",
            )
        for gpu in held_values:
            changes[node, gpu] += [(start, min(need, unit)), (end, -min(need, unit))]
    for (node, gpu), events in changes.items():
        use = 0
        for time, amount in sorted(events):  # at one instant, releases come before starts
            use += amount
            if amount > 0 and use > unit:
                findings.add("gpu", f"node {node}, GPU {gpu} at {time}: {use} in use, it has {unit}")


def _check_ticks(wake: Wake, tick: int, runs: Runs, requested: set[int], findings: Findings) -> None:
    """Check that runs start, pause and move only at ticks, or at `requested` wakes (rule 7)."""
    for (task, iteration), segments in runs.items():
        for _, start, end, outcome in segments:
            for time in (start, end) if outcome != FINISH else (start,):
                if time * tick % (1000 * wake.interval) and time not in requested:
                    findings.add(
                        "wake",
                        f"task {task}, iteration {iteration}: changes at {time}, no multiple of "
                        f"{wake.interval} s, unasked",
                    )
