"""Task graphs: a Boolean a task and node, an optional interval a run and node, cumulatives, delays behind literals.

It covers clusters that start empty: no finished iterations and no runs under way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ortools.sat.python import cp_model

from mlsched.instances.taskgraph import Instance, Timetable


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Timetable]]:
    """The model of one objective, and the reader of its plan."""
    assert not instance.now, "the plain model starts with an empty cluster"
    model, moves = cp_model.CpModel(), instance.movement != "none"
    job_of, duration = instance.task_job.tolist(), instance.duration.tolist()
    least, most = instance.min_iterations.tolist(), instance.max_iterations.tolist()
    arrival, capacity = instance.arrival.tolist(), instance.node_capacity.tolist()
    columns = (instance.edge_from, instance.edge_to, instance.edge_lag, instance.edge_delay, instance.edge_volume)
    edges = list(zip(*(column.tolist() for column in columns), strict=True))
    horizon = max(arrival) + sum(p * most[j] for p, j in zip(duration, job_of, strict=True))
    horizon += sum(delay * most[job_of[v]] for _, v, _, delay, _ in edges)

    # Which iterations run; then where and when each run of a task is.
    runs: dict[tuple[int, int], Any] = {}
    for j, iterations in enumerate(most):
        for i in range(iterations):
            runs[j, i] = model.new_bool_var("") if i >= least[j] else model.new_constant(1)
            if i > least[j]:
                model.add_implication(runs[j, i], runs[j, i - 1])
    start: dict[tuple[int, int], Any] = {}
    here: dict[tuple[int, int], dict[int, Any]] = {}
    intervals: list[list[tuple[int, Any]]] = [[] for _ in capacity]
    for k, j in enumerate(job_of):
        home = {n: model.new_bool_var("") for n in instance.eligible[k].nonzero()[0].tolist()}
        model.add_exactly_one(home.values())
        for i in range(most[j]):
            start[k, i] = model.new_int_var(arrival[j], horizon, "")
            if i:
                model.add(start[k, i] >= start[k, i - 1] + duration[k])
            if moves or i >= least[j]:
                here[k, i] = {n: model.new_bool_var("") for n in home}
                model.add(sum(here[k, i].values()) == runs[j, i])
                for n in home if not moves else ():
                    model.add_implication(here[k, i][n], home[n])
            else:
                here[k, i] = home
            for n, literal in here[k, i].items():
                interval = model.new_optional_fixed_size_interval_var(start[k, i], duration[k], literal, "")
                intervals[n].append((k, interval))
    for n, rooms in enumerate(capacity):
        for r, room in enumerate(rooms):
            used = [(x, q) for k, x in intervals[n] if (q := int(instance.demand[k, r])) and duration[k]]
            model.add_cumulative([x for x, _ in used], [q for _, q in used], room)

    # An edge delays what follows, and counts as traffic, where its two runs are on different nodes.
    away: dict[tuple[int, ...], Any] = {}
    traffic = []
    for u, v, lag, delay, volume in edges:
        for i in range(lag, most[job_of[v]]):
            model.add(start[v, i] >= start[u, i - lag] + duration[u])
            key = (u, v) if here[v, i] is here[v, 0] else (u, v, lag, i)
            if key not in away:
                away[key] = model.new_bool_var("")
                for n, sends in here[u, i - lag].items():
                    model.add(away[key] >= sends - here[v, i].get(n, 0)).only_enforce_if(runs[job_of[v], i])
            model.add(start[v, i] >= start[u, i - lag] + duration[u] + delay).only_enforce_if(away[key])
            traffic.append(volume * away[key])

    ends = {(k, i): begin + duration[k] for (k, i), begin in start.items()}
    if objective == "traffic":
        model.minimize(sum(traffic))
    elif "accuracy" in objective:
        _accuracy(model, instance, objective, runs, ends)
    else:
        _completions(model, instance, objective, horizon, runs, ends)

    def plan(solver: cp_model.CpSolver) -> Timetable:
        rows = [
            (i, k, n, solver.value(start[k, i])) for k, i in start for n in here[k, i] if solver.value(here[k, i][n])
        ]
        rows = [row for row in rows if solver.value(runs[job_of[row[1]], row[0]])]
        return instance.timetable(*map(list, zip(*rows, strict=True))) if rows else instance.timetable([], [], [], [])

    return model, plan


def _completions(
    model: cp_model.CpModel,
    instance: Instance,
    objective: str,
    horizon: int,
    runs: dict[tuple[int, int], Any],
    ends: dict[tuple[int, int], Any],
) -> None:
    """The objectives that look at the completions of jobs."""
    arrival = instance.arrival.tolist()
    done = [model.new_int_var(a, horizon, "") for a in arrival]
    for (k, i), end in ends.items():
        j = int(instance.task_job[k])
        model.add(done[j] >= end).only_enforce_if(runs[j, i])
    if objective == "total_jct":
        model.minimize(sum(done) - sum(arrival))
    elif objective == "makespan":
        last = model.new_int_var(0, horizon, "")
        model.add_max_equality(last, done)
        model.minimize(last - min(arrival))
    else:
        met = [model.new_bool_var("") for _ in done]
        for j, deadline in enumerate(instance.deadline.tolist()):
            model.add(done[j] <= deadline).only_enforce_if(met[j])
        model.maximize(sum(met))


def _accuracy(
    model: cp_model.CpModel,
    instance: Instance,
    objective: str,
    runs: dict[tuple[int, int], Any],
    ends: dict[tuple[int, int], Any],
) -> None:
    """The objectives that look at the accuracy of the iterations that count: those finished by the deadline, or all."""
    counts = {}
    for j, i in runs:
        counts[j, i] = model.new_bool_var("")
        model.add_implication(counts[j, i], runs[j, i])
        if i:
            model.add_implication(counts[j, i], counts[j, i - 1])
    for (k, i), end in ends.items() if instance.accuracy_at == "deadline" else ():
        j = int(instance.task_job[k])
        model.add(end <= int(instance.deadline[j])).only_enforce_if(counts[j, i])
    reached = []
    for j, table in enumerate(instance.accuracy.tolist()):
        gains = [(table[i + 1] - table[i]) * counts[j, i] for i in range(int(instance.max_iterations[j]))]
        reached.append(table[0] + sum(gains))
    if objective == "total_accuracy":
        model.maximize(sum(reached))
    else:
        met = [model.new_bool_var("") for _ in reached]
        for j, required in enumerate(instance.required.tolist()):
            model.add(reached[j] >= required).only_enforce_if(met[j])
        model.maximize(sum(met))
