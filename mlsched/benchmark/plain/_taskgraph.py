"""Task graphs: a Boolean per task and node, an optional interval per run and node, a cumulative per resource of a node.

An edge delays its target if a literal states that its two runs are on different nodes. With a `gpu_unit`, each run and
GPU has one more Boolean and optional interval: a part of a GPU, or several complete ones.

The model covers clusters that start empty: without finished iterations and running tasks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ortools.sat.python import cp_model

from mlsched.core.aliases import Expression
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.instances.taskgraph.gpus import counts, gpu_column


@dataclasses.dataclass(frozen=True)
class ModelParts:
    """Model without an objective: whether (job, iteration) runs, the end of (task, iteration), and the traffic."""

    model: cp_model.CpModel
    instance: Instance
    horizon: int
    runs: dict[tuple[int, int], Expression]
    ends: dict[tuple[int, int], Expression]
    traffic: Expression

    def completions(self) -> list[cp_model.IntVar]:
        """Return variables for when each job is complete, or later."""
        completion_of = [self.model.new_int_var(a, self.horizon, "") for a in self.instance.arrival.tolist()]
        for (k, i), end in self.ends.items():
            j = int(self.instance.task_job[k])
            self.model.add(completion_of[j] >= end).only_enforce_if(self.runs[j, i])
        return completion_of

    def accuracies(self) -> list[Expression]:
        """Return each job's accuracy with the iterations that count: those finished by the deadline, or all."""
        counts = {}
        for j, i in self.runs:
            counts[j, i] = self.model.new_bool_var("")
            self.model.add_implication(counts[j, i], self.runs[j, i])
            if i:
                self.model.add_implication(counts[j, i], counts[j, i - 1])
        for (k, i), end in self.ends.items() if self.instance.accuracy_at == "deadline" else ():
            j = int(self.instance.task_job[k])
            self.model.add(end <= int(self.instance.deadline[j])).only_enforce_if(counts[j, i])
        accuracy_of = []
        for j, table in enumerate(self.instance.accuracy.tolist()):
            gains = [(table[i + 1] - table[i]) * counts[j, i] for i in range(int(self.instance.max_iterations[j]))]
            accuracy_of.append(table[0] + sum(gains))
        return accuracy_of

    def maximize_true(self, conditions: list[cp_model.BoundedLinearExpression]) -> None:
        """Maximise the number of conditions that are satisfied."""
        satisfied = [self.model.new_bool_var("") for _ in conditions]
        for literal, condition in zip(satisfied, conditions, strict=True):
            self.model.add(condition).only_enforce_if(literal)
        self.model.maximize(sum(satisfied))


def _total_jct(posed: ModelParts) -> None:
    posed.model.minimize(sum(posed.completions()) - sum(posed.instance.arrival.tolist()))


def _makespan(posed: ModelParts) -> None:
    last = posed.model.new_int_var(0, posed.horizon, "")
    posed.model.add_max_equality(last, posed.completions())
    posed.model.minimize(last - min(posed.instance.arrival.tolist()))


def _deadlines_met(posed: ModelParts) -> None:
    due = posed.instance.deadline.tolist()
    posed.maximize_true([completion <= deadline for completion, deadline in zip(posed.completions(), due, strict=True)])


def _accuracy_met(posed: ModelParts) -> None:
    wanted = posed.instance.required.tolist()
    posed.maximize_true([accuracy >= least for accuracy, least in zip(posed.accuracies(), wanted, strict=True)])


OBJECTIVES: dict[str, Callable[[ModelParts], None]] = {
    "total_jct": _total_jct,
    "deadlines_met": _deadlines_met,
    "traffic": lambda posed: posed.model.minimize(posed.traffic),
    "accuracy_met": _accuracy_met,
    "total_accuracy": lambda posed: posed.model.maximize(sum(posed.accuracies())),
    "makespan": _makespan,
}


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Timetable]]:
    """Return the model of one objective, and the reader of its plan."""
    assert not instance.now, "the plain model starts with an empty cluster"
    model, moves = cp_model.CpModel(), instance.movement != "none"
    job_of, duration = instance.task_job.tolist(), instance.duration.tolist()
    least, most = instance.min_iterations.tolist(), instance.max_iterations.tolist()
    arrival, capacity = instance.arrival.tolist(), instance.node_capacity.tolist()
    columns = (instance.edge_from, instance.edge_to, instance.edge_lag, instance.edge_delay, instance.edge_volume)
    edges = list(zip(*(column.tolist() for column in columns), strict=True))
    horizon = max(arrival) + sum(p * most[j] for p, j in zip(duration, job_of, strict=True))
    horizon += sum(delay * most[job_of[v]] for _, v, _, delay, _ in edges)

    # Which iterations run; then node and time of each run of a task.
    runs: dict[tuple[int, int], Expression] = {}
    for j, iterations in enumerate(most):
        for i in range(iterations):
            runs[j, i] = model.new_bool_var("") if i >= least[j] else model.new_constant(1)
            if i > least[j]:
                model.add_implication(runs[j, i], runs[j, i - 1])
    start: dict[tuple[int, int], Expression] = {}
    here: dict[tuple[int, int], dict[int, Expression]] = {}
    intervals: list[list[tuple[int, Expression]]] = [[] for _ in capacity]
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
    held = _gpus(model, instance, start, here) if instance.gpu_unit else {}

    # An edge delays its target, and counts as traffic, if its two runs are on different nodes.
    away: dict[tuple[int, ...], Expression] = {}
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
    OBJECTIVES[objective](ModelParts(model, instance, horizon, runs, ends, sum(traffic)))

    def plan(solver: cp_model.CpSolver) -> Timetable:
        rows = [
            (i, k, n, solver.value(start[k, i])) for k, i in start for n in here[k, i] if solver.value(here[k, i][n])
        ]
        rows = [row for row in rows if solver.value(runs[job_of[row[1]], row[0]])]
        names = [[g for g, x in enumerate(held.get((k, i, n), ())) if solver.value(x)] for i, k, n, _ in rows]
        # Only a part of a GPU names its GPU.
        gpus = [
            on[0] if on and 0 < instance.demand[k, gpu_column(instance.resources)] < instance.gpu_unit else -1
            for on, (_, k, _, _) in zip(names, rows, strict=True)
        ]
        iteration, task, node, begin = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
        return instance.timetable(iteration, task, node, begin, gpus)

    return model, plan


def _gpus(
    model: cp_model.CpModel, instance: Instance, start: dict[Any, Expression], here: dict[Any, Expression]
) -> dict[Any, Expression]:
    """Return, by (task, iteration, node), Booleans of the GPUs that a run uses: one in part, or some completely."""
    unit, column, many = instance.gpu_unit, gpu_column(instance.resources), counts(instance).tolist()
    literals: dict[Any, Expression] = {}
    on: list[list[list[tuple[Any, int]]]] = [[[] for _ in range(gpus)] for gpus in many]
    for (k, i), begin in start.items():
        need, lasts = int(instance.demand[k, column]), int(instance.duration[k])
        for n, literal in here[k, i].items() if need and lasts else ():
            literals[k, i, n] = [model.new_bool_var("") for _ in range(many[n])]
            model.add(sum(literals[k, i, n]) == max(1, need // unit) * literal)
            for g, holds in enumerate(literals[k, i, n]):
                interval = model.new_optional_fixed_size_interval_var(begin, lasts, holds, "")
                on[n][g].append((interval, min(need, unit)))
    for intervals in (gpu for node in on for gpu in node):
        model.add_cumulative([x for x, _ in intervals], [q for _, q in intervals], unit)
    return literals
