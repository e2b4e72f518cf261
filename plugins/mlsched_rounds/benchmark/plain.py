"""Plain model of rounds: one Boolean per job and configuration, GPU limits per type, the worst job as an integer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from mlsched_rounds.instances import Instance, Plan

#: Objective -> (maximised, decided by the worst job).
OBJECTIVES = {
    "goodput_cost": (False, False),
    "total_steps": (True, False),
    "least_served": (True, True),
    "worst_ratio": (False, True),
    "last_end": (False, True),
}


def _contribution_of(instance: Instance, objective: str, j: int, c: int) -> int:
    """Return the contribution of job j to the objective in configuration c (-1: it waits)."""
    time = instance.length - (instance.pause if c != instance.current[j] else 0)
    progress = 0 if c < 0 else min(int(instance.remaining[j]), int(instance.rate[j, c]) * max(0, time) // 10**6)
    rest, fair, old = (
        int(instance.remaining[j]) - progress,
        int(instance.fair[j]),
        int(instance.age[j]) + instance.length,
    )
    if objective == "goodput_cost":
        return int(instance.waiting_cost[j] if c < 0 else instance.goodput_cost[j, c])
    if objective == "total_steps":
        return progress
    if objective == "least_served":
        return 10**12 * (int(instance.done[j]) + progress) // (int(instance.weight[j]) * int(instance.usual[j]) * old)
    if objective == "worst_ratio":
        ought = fair * int(instance.isolated[j]) + 10**6 * int(instance.remaining[j])
        return -(-1000 * (fair * old + 10**6 * rest) // ought)
    return instance.length - (-(10**6) * rest // int(instance.rate[j].max()))


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Plan]]:
    """Build the model of one objective and the reader of its plan."""
    model, (largest, worst) = cp_model.CpModel(), OBJECTIVES[objective]
    runs = [{-1: model.new_bool_var("")} for _ in instance.remaining]
    for j, c in np.argwhere(instance.rate > 0).tolist():
        runs[j][c] = model.new_bool_var("")
    for own in runs:
        model.add_exactly_one(own.values())
    for m, gpus in enumerate(instance.capacity.tolist()):
        model.add(
            sum(
                int(instance.config_gpus[c]) * x
                for own in runs
                for c, x in own.items()
                if c >= 0 and instance.config_type[c] == m
            )
            <= gpus
        )
    counts = [j for j in range(len(runs)) if len(runs[j]) > 1 or not worst]
    values = [{c: _contribution_of(instance, objective, j, c) for c in runs[j]} for j in counts]
    sums = [sum(value[c] * x for c, x in runs[j].items()) for j, value in zip(counts, values, strict=True)]
    if worst:
        total = model.new_int_var(0, max((max(value.values()) for value in values), default=0), "")
        for one in sums:
            model.add(total <= one if largest else total >= one)
        goal: Any = total
    else:
        goal = sum(sums)
    if largest:
        model.maximize(goal)
    else:
        model.minimize(goal)

    def plan(solver: cp_model.CpSolver) -> Plan:
        return Plan(
            config=np.array([next(c for c, x in own.items() if solver.value(x)) for own in runs], dtype=np.int64)
        )

    return model, plan
