"""Preemption: a Boolean per victim, and per TE job and node; capacities of nodes; waiting TE jobs weigh most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from mlsched.instances.preemption import Instance, Plan


def _total_score(model: cp_model.CpModel, instance: Instance, victim: dict[int, cp_model.IntVar]) -> tuple[Any, int]:
    score = {j: int(instance.score[j]) for j in victim}
    return sum(score[j] * x for j, x in victim.items()), sum(score.values())


def _victim_count(model: cp_model.CpModel, instance: Instance, victim: dict[int, cp_model.IntVar]) -> tuple[Any, int]:
    return sum(victim.values()), len(victim)


def _max_grace_period(
    model: cp_model.CpModel, instance: Instance, victim: dict[int, cp_model.IntVar]
) -> tuple[cp_model.IntVar, int]:
    grace = {j: int(instance.job_grace[j]) for j in victim}
    longest = max(grace.values(), default=0)
    base = model.new_int_var(0, longest, "")
    for j, x in victim.items():
        model.add(base >= grace[j] * x)
    return base, longest


#: Objective -> function that returns its base value and the largest possible one.
OBJECTIVES = {"total_score": _total_score, "victim_count": _victim_count, "max_grace_period": _max_grace_period}


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Plan]]:
    """Return the model of one objective, and the reader of its plan."""
    model = cp_model.CpModel()
    te, job = instance.te_demand.tolist(), instance.job_demand.tolist()
    host, preemptions = instance.job_node.tolist(), instance.job_preemptions.tolist()
    victim = {j: model.new_bool_var("") for j in range(len(job)) if preemptions[j] < instance.preemption_limit}
    there = instance.node_free + instance.node_draining
    on = {(t, n): model.new_bool_var("") for t in range(len(te)) for n in range(len(there))}
    for t in range(len(te)):
        model.add_at_most_one(on[t, n] for n in range(len(there)))
    for n, rooms in enumerate(there.tolist()):
        for r, room in enumerate(rooms):
            released = sum(job[j][r] * x for j, x in victim.items() if host[j] == n)
            model.add(sum(te[t][r] * on[t, n] for t in range(len(te))) <= room + released)
    waiting = len(te) - sum(on.values())
    base, largest = OBJECTIVES[objective](model, instance, victim)
    model.minimize(base + (1 + largest) * waiting)

    def plan(solver: cp_model.CpSolver) -> Plan:
        nodes = [-1] * len(te)
        for (t, n), literal in on.items():
            if solver.value(literal):
                nodes[t] = n
        victims = [j for j, x in victim.items() if solver.value(x)]
        return Plan(te_node=np.array(nodes, dtype=np.int64), victims=np.array(victims, dtype=np.int64))

    return model, plan
