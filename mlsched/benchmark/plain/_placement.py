"""Placement: numbers of workers and PSs per job and server, and the slowdown of a job above that on each of its
servers.

Slowdowns are the statement's sums, multiplied to become integers; only quadratic interference needs products. The speed
is an integer division by the slowdown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from mlsched.core.aliases import Expression
from mlsched.instances.placement import Instance, Plan

#: The model knows the interference.
INFORMATION = "oracle"
#: Objective -> function that sets it from the jobs' speeds.
OBJECTIVES: dict[str, Callable[[cp_model.CpModel, list[Expression]], None]] = {
    "total_speed": lambda model, speeds: model.maximize(sum(speeds))
}


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Plan]]:
    """Return the model of one objective, and the reader of its plan."""
    model = cp_model.CpModel()
    servers, running = range(len(instance.server_free)), len(instance.run_type)
    kind = [*instance.run_type.tolist(), *instance.job_type.tolist()]
    workers: list[list[Expression]] = instance.run_workers.tolist()
    ps: list[list[Expression]] = instance.run_ps.tolist()
    placed: list[Expression] = [1] * running
    for whole, behind in zip(instance.job_workers.tolist(), instance.job_ps.tolist(), strict=True):
        placed.append(model.new_bool_var(""))
        workers.append([model.new_int_var(0, whole, "") for _ in servers])
        ps.append([model.new_int_var(0, behind, "") for _ in servers])
        model.add(sum(workers[-1]) == whole * placed[-1])
        model.add(sum(ps[-1]) == behind * placed[-1])
    model.add(sum(placed[running:]) <= min(instance.most_new, instance.most_jobs - running))
    for s in servers:
        for r, free in enumerate(instance.server_free[s].tolist()):
            need = [int(q[r]) * w[s] for q, w in zip(instance.worker_demand, workers[running:], strict=True)]
            need += [int(q[r]) * p[s] for q, p in zip(instance.ps_demand, ps[running:], strict=True)]
            model.add(sum(need) <= free)

    # Literals: a job has a worker, or any task, on a server; then pairs that must not share a server.
    works, hosts = (
        [[_positive_literal(model, row[s]) for s in servers] for row in rows]
        for rows in (workers, _tasks_per_server(workers, ps))
    )
    for j in range(running, len(kind)):
        for k in range(j):
            if instance.apart[kind[j], kind[k]]:
                for s in servers:
                    model.add(hosts[j][s] + hosts[k][s] <= 1)

    speeds = []
    million = 10**6 if instance.linear.any() or instance.quadratic.any() else 1
    for j, isolated in enumerate([*instance.run_speed.tolist(), *instance.job_speed.tolist()]):
        whole, behind = (instance.run_workers[j].sum(), instance.run_ps[j].sum()) if j < running else (0, 0)
        if j >= running:
            whole, behind = instance.job_workers[j - running], instance.job_ps[j - running]
        whole, behind = int(whole), int(behind)
        unit = million * max(1, whole - 1) * max(1, behind)
        slowdown = model.new_int_var(1000, 10**6, "")
        for s in servers:
            others = [(kind[k], workers[k][s], ps[k][s]) for k in range(len(kind)) if k != j]
            alone = _interference(model, instance, kind[j], others, unit)
            away = 0
            if behind:
                away = int(instance.rho_ps[kind[j]]) * (unit // behind) * (behind - ps[j][s])
            beside = away
            if whole > 1:
                beside = beside + int(instance.rho_worker[kind[j]]) * (unit // (whole - 1)) * (whole - workers[j][s])
            elsewhere = away if instance.network_at == "tasks" else 0
            # Rounded down: slowdown + 1 is above the exact one.
            for literal, network in ((works[j][s], beside), (hosts[j][s], elsewhere)):
                model.add(1000 * unit * (slowdown + 1) >= alone + network + 1).only_enforce_if(literal)
        speed = model.new_int_var(0, isolated, "")
        model.add_division_equality(speed, 1000 * isolated, slowdown)
        speeds.append(model.new_int_var(0, isolated, ""))
        model.add(speeds[-1] <= speed)
        model.add(speeds[-1] <= isolated * placed[j])
    OBJECTIVES[objective](model, speeds)

    def plan(solver: cp_model.CpSolver) -> Plan:
        tables = ([[solver.value(x) for x in row] for row in rows[running:]] for rows in (workers, ps))
        shape = (len(kind) - running, len(servers))
        plan_tables = [np.array(table, dtype=np.int64).reshape(shape) for table in tables]
        return Plan(workers=plan_tables[0], ps=plan_tables[1])

    return model, plan


def _tasks_per_server(workers: list[list[Expression]], ps: list[list[Expression]]) -> list[list[Expression]]:
    """Return the number of tasks of each job on each server."""
    return [[w + p for w, p in zip(*rows, strict=True)] for rows in zip(workers, ps, strict=True)]


def _positive_literal(model: cp_model.CpModel, amount: Any) -> cp_model.IntVar:
    """Return a literal for `amount` > 0."""
    if isinstance(amount, int):
        return model.new_constant(int(amount > 0))
    literal = model.new_bool_var("")
    model.add(amount >= 1).only_enforce_if(literal)
    model.add(amount == 0).only_enforce_if(~literal)
    return literal


def _interference(
    model: cp_model.CpModel, instance: Instance, kind: int, others: list[Expression], unit: int
) -> Expression:
    """Return 1 plus the interference of other jobs' tasks on the server, in 1e-6 / `unit`.

    Args:
        model: The model.
        instance: The instance.
        kind: Type of the job.
        others: Type, workers and PSs of the other jobs.
        unit: Denominator that keeps all terms integer.
    """
    total: Expression = unit * 10**6
    for other, w, p in others:
        total = (
            total + unit * int(instance.sigma_worker[kind, other]) * w + unit * int(instance.sigma_ps[kind, other]) * p
        )
    use = []
    for d in range(len(instance.pressures)):
        amounts = [int(instance.use_worker[o, d]) * w + int(instance.use_ps[o, d]) * p for o, w, p in others]
        use.append(sum(amounts))
        if instance.linear[kind, d]:
            total = total + unit // 1000 * int(instance.linear[kind, d]) * use[-1]
    for d, u in enumerate(use):
        for e, v in enumerate(use):
            if instance.quadratic[kind, d, e]:
                product = model.new_int_var(0, 10**9, "")
                model.add_multiplication_equality(product, [u, v])
                total = total + unit // 10**6 * int(instance.quadratic[kind, d, e]) * product
    return total
