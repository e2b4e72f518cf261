"""Workers: a Boolean per job and combination of workers and PSs, at most one per job, within the capacities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ortools.sat.python import cp_model

from mlsched.core.aliases import Expression
from mlsched.instances.workers import NEVER, Instance, Plan

#: Objective -> function that sets it from the jobs' costs.
OBJECTIVES: dict[str, Callable[[cp_model.CpModel, list[Expression]], None]] = {
    "total_jct": lambda model, cost: model.minimize(sum(cost))
}


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Plan]]:
    """Return the model of one objective, and the reader of its plan."""
    model, cost = cp_model.CpModel(), []
    jobs, most_workers, most_ps = instance.cost.shape
    literals = {}
    for j, table in enumerate(instance.cost.tolist()):
        waits = model.new_bool_var("")
        choices = [waits]
        cost.append(int(instance.waiting[j]) * waits)
        for w in range(1, most_workers + 1):
            for p in range(1, most_ps + 1):
                if table[w - 1][p - 1] != NEVER:
                    literals[j, w, p] = model.new_bool_var("")
                    choices.append(literals[j, w, p])
                    cost.append(table[w - 1][p - 1] * literals[j, w, p])
        model.add_exactly_one(choices)
    workers, ps = instance.worker_demand.tolist(), instance.ps_demand.tolist()
    for r, capacity in enumerate(instance.capacity.tolist()):
        need = [(w * workers[j][r] + p * ps[j][r]) * literal for (j, w, p), literal in literals.items()]
        model.add(sum(need) <= capacity)
    OBJECTIVES[objective](model, cost)

    def plan(solver: cp_model.CpSolver) -> Plan:
        choice_of = {j: (w, p) for (j, w, p), literal in literals.items() if solver.value(literal)}
        tasks = np.array([choice_of.get(j, (0, 0)) for j in range(jobs)], dtype=np.int64).reshape(jobs, 2)
        return Plan(workers=tasks[:, 0], ps=tasks[:, 1])

    return model, plan
