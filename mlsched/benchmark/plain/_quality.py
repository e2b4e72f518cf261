"""Quality: a Boolean per job and number of cores, one per job, within the cores that are not reserved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ortools.sat.python import cp_model

from mlsched.core.aliases import Expression
from mlsched.instances.quality import Instance, Plan


def _largest_sum(model: cp_model.CpModel, values: list[Expression], most: int) -> None:
    model.maximize(sum(values))


def _least_worst(model: cp_model.CpModel, values: list[Expression], most: int) -> None:
    worst = model.new_int_var(0, most, "")
    for value in values:
        model.add(worst >= value)
    model.minimize(worst)


#: Objective -> table of the jobs' values, and function that sets it; values are at most `most`.
OBJECTIVES = {"total_loss_reduction": ("gain", _largest_sum), "worst_loss": ("loss", _least_worst)}


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Plan]]:
    """Return the model of one objective, and the reader of its plan."""
    model = cp_model.CpModel()
    weight, most = instance.weight.tolist(), instance.most.tolist()
    running = instance.running.tolist()
    literals = {j: {a: model.new_bool_var("") for a in range(instance.least, most[j] + 1)} for j in running}
    for choices in literals.values():
        model.add_exactly_one(choices.values())
    model.add(
        sum(a * x for choices in literals.values() for a, x in choices.items()) <= instance.cores - instance.reserved
    )
    name, pose = OBJECTIVES[objective]
    table = getattr(instance, name).tolist()
    most_value = max((w * max(row) for w, row in zip(weight, table, strict=True)), default=0)
    pose(model, [sum(weight[j] * table[j][a] * x for a, x in literals[j].items()) for j in running], most_value)

    def plan(solver: cp_model.CpSolver) -> Plan:
        cores = [0] * len(most)
        for j, choices in literals.items():
            cores[j] = sum(a * solver.value(x) for a, x in choices.items())
        return Plan(cores=np.array(cores, dtype=np.int64))

    return model, plan
