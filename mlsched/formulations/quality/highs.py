"""Quality as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has).

Every running job gets the instance's `least` cores. A job's table matters only where it changes: its steps are the
numbers b_1 < b_2 < ... of further cores at which its gain (for the total) or its loss (for the worst loss) improves.
y[i, s] = 1 when job i gets b_s further cores or more:

    y[i, s] <= y[i, s - 1],    sum over i, s of (b_s - b_{s-1}) y[i, s] <= available - least * jobs
    total_loss_reduction = sum weight (gain after step s - gain before it) y[i, s]  +  what `least` brings

The worst loss is expressed by levels, without a big M. Let v_0 be the largest of the losses that no core can improve,
and v_1 < v_2 < ... the distinct weighted losses above it; z[k] = 1 when the worst loss is v_k or more. A job without
step s keeps its loss before that step, so y[i, s] + z[rank of that loss] >= 1. The objective
v_0 + sum (v_k - v_{k-1}) z[k] is exact in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.fields import IntArray
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, Term
from mlsched.core.registry import model_builder
from mlsched.instances.quality import Instance, Plan

#: An objective's constant, its expression, and variables that are 1 where it is at least so large.
Expressed = tuple[int, Any, list[tuple[Any, int]]]


def _total(mip: Any, value: dict[int, list[int]], deadline: Deadline) -> Expressed:
    """The sum of the jobs' values."""
    rise = sum((value[i][s] - value[i][s - 1]) * mip.y[i, s] for i, s in deadline.over(mip.y))
    return sum(values[0] for values in value.values()), rise, []


def _worst(mip: Any, loss: dict[int, list[int]], deadline: Deadline) -> Expressed:
    """The largest of the jobs' losses, by levels."""
    import pyomo.environ as pyo

    # The largest of the losses that no core can improve: below it there is nothing to decide.
    lower_bound = max((values[-1] for values in loss.values()), default=0)
    levels = sorted({lower_bound, *(v for values in loss.values() for v in values if v > lower_bound)})
    rank = {level: k for k, level in enumerate(levels)}
    mip.z = pyo.Var(range(1, len(levels)), domain=pyo.Binary)
    mip.level = pyo.ConstraintList()
    for k in deadline.over(range(2, len(levels))):
        mip.level.add(mip.z[k] <= mip.z[k - 1])
    for i, values in deadline.over(loss.items()):
        for s in range(1, len(values)):
            if values[s - 1] > lower_bound and values[s] < values[s - 1]:
                mip.level.add(mip.y[i, s] + mip.z[rank[values[s - 1]]] >= 1)
    rise = sum((levels[k] - levels[k - 1]) * mip.z[k] for k in range(1, len(levels)))
    return lower_bound, rise, [(mip.z[k], levels[k]) for k in range(1, len(levels))]


#: Objective -> the table of the jobs' values, and what expresses it; that is given job i's values by steps.
OBJECTIVES = {"total_loss_reduction": ("gain", _total), "worst_loss": ("loss", _worst)}


@model_builder("highs", problem="quality", backend="highs", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """A binary for each step of each job's table; the worst loss by levels, without a big M."""
    import pyomo.environ as pyo

    mip, deadline = pyo.ConcreteModel(), Deadline(limits.seconds)
    running, least = instance.running.tolist(), instance.least
    steps = {i: _steps(instance, i, objectives) for i in deadline.over(running)}
    mip.y = pyo.Var([(i, s) for i in running for s in range(1, len(steps[i]))], domain=pyo.Binary)
    mip.order = pyo.ConstraintList()
    for i, s in deadline.over(mip.y):
        if s > 1:
            mip.order.add(mip.y[i, s] <= mip.y[i, s - 1])
    used = sum(int(steps[i][s] - steps[i][s - 1]) * mip.y[i, s] for i, s in deadline.over(mip.y))
    if len(mip.y):
        mip.capacity = pyo.Constraint(expr=used <= instance.available - least * len(running))
    terms: dict[str, tuple[Term, ...]] = {}
    constant: dict[str, int] = {}
    levels: dict[str, list[tuple[Any, int]]] = {}
    for name in objectives:
        table, express = OBJECTIVES[name]
        rows = getattr(instance, table)
        value = {i: (instance.weight[i] * rows[i, least + steps[i]]).tolist() for i in running}
        constant[name], expression, levels[name] = express(mip, value, deadline)
        terms[name] = (Term(1, expression),)

    def decode(value_of: Callable[[Any], int]) -> Plan:
        taken = dict.fromkeys(running, 0)
        for i, s in mip.y:
            if value_of(mip.y[i, s]):
                taken[i] = max(taken[i], int(steps[i][s]))
        return instance.plan(np.array([least + taken[i] for i in running], dtype=np.int64))

    def encode(plan: Plan) -> list[tuple[Any, int]]:
        values = [(mip.y[i, s], int(plan.cores[i] >= least + steps[i][s])) for i, s in mip.y]
        reached = instance.evaluate(plan)
        return values + [(z, int(reached[name] >= level)) for name in levels for z, level in levels[name]]

    return Formulation(mip, terms, decode, encode, constant)


def _steps(instance: Instance, job: int, objectives: tuple[str, ...]) -> IntArray:
    """0 and the numbers of cores beyond `least`, up to cap and room, at which one of the objectives improves."""
    room = instance.available - instance.least * len(instance.running)
    stop = min(int(instance.most[job]), instance.least + room) + 1
    improves = np.zeros(stop - instance.least - 1, dtype=bool)
    for name in objectives:
        improves |= np.diff(getattr(instance, OBJECTIVES[name][0])[job, instance.least : stop]) != 0
    return np.concatenate([[0], np.flatnonzero(improves) + 1])
