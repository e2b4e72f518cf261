"""Quality as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has).

Every running job gets the instance's `least` cores. A job's table matters only at its changes. Its steps are the
numbers b_1 < b_2 < ... of cores above `least` at which its gain (for the total) or its loss (for the worst loss)
improves; in a complete model, all numbers up to its cap. cores[i, b] = 1 when job i gets b cores or more:

    cores[i, b_s] <= cores[i, b_{s-1}],    sum over i, s of (b_s - b_{s-1}) cores[i, b_s] <= available - least * jobs
    total_loss_reduction = sum weight (gain after step s - gain before it) cores[i, b_s]  +  gain of `least` cores

The worst loss is expressed by levels, without a big M. Let v_0 be the largest of the losses that cores cannot
improve, and v_1 < v_2 < ... the distinct weighted losses above it; worst[v] = 1 when the worst loss is v or more. A
job without step s keeps its loss v before that step, so cores[i, b_s] + worst[v] >= 1. The objective v_0 + sum (v_k -
v_{k-1}) worst[v_k] is exact in integers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core.aliases import BackendModel, Expression, Variable
from mlsched.core.deadline import Deadline
from mlsched.core.fields import IntArray
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, Term
from mlsched.core.models import FAST, Size
from mlsched.core.registry import model_builder
from mlsched.instances.quality import Instance, Plan

#: An objective's constant, its expression, and (level, variable) pairs: 1 if the objective is at least the level.
Expressed = tuple[int, Any, list[tuple[Any, int]]]
#: Numbers of cores of each running job: `least`, then the steps.
Steps = dict[int, list[int]]


def _express_total(mip: BackendModel, steps: Steps, value: dict[int, list[int]], deadline: Deadline) -> Expressed:
    """Return the sum of the jobs' values."""
    rise = sum(
        (after - before) * mip.cores[i, count]
        for i, values in deadline.over(value.items())
        for count, (before, after) in zip(steps[i][1:], itertools.pairwise(values), strict=True)
    )
    return sum(values[0] for values in value.values()), rise, []


def _express_worst(mip: BackendModel, steps: Steps, loss: dict[int, list[int]], deadline: Deadline) -> Expressed:
    """Express the largest of the jobs' losses as a sum of steps between levels.

    The binary worst[v] is 1 if some job's loss is at least v.

    Args:
        mip: Model, extended in place.
        steps: Job -> its numbers of cores, `least` first.
        loss: Job -> its loss with each of these numbers.
        deadline: Time limit of the construction.
    """
    import pyomo.environ as pyo

    # The largest of the losses that cores cannot improve is a lower bound.
    lower_bound = max((values[-1] for values in loss.values()), default=0)
    levels = sorted({lower_bound, *(v for values in loss.values() for v in values if v > lower_bound)})
    mip.worst = pyo.Var(levels[1:], domain=pyo.Binary)
    mip.falling, mip.level = pyo.Constraint(pyo.Any), pyo.Constraint(pyo.Any)
    for low, high in deadline.over(itertools.pairwise(levels[1:])):
        mip.falling[high] = mip.worst[high] <= mip.worst[low]
    for i, values in deadline.over(loss.items()):
        for count, (before, after) in zip(steps[i][1:], itertools.pairwise(values), strict=True):
            if before > lower_bound and after < before:
                mip.level[i, count] = mip.cores[i, count] + mip.worst[before] >= 1
    rise = sum((high - low) * mip.worst[high] for low, high in itertools.pairwise(levels))
    return lower_bound, rise, [(mip.worst[level], level) for level in levels[1:]]


#: Objective -> the table of the jobs' values, and the function that expresses it from job i's values by steps.
OBJECTIVES = {"total_loss_reduction": ("gain", _express_total), "worst_loss": ("loss", _express_worst)}


@model_builder("highs", problem="quality", backend="highs", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """A binary for each step of each job's table; the worst loss by levels, without a big M."""
    return model(instance, objectives, deadline=Deadline(limits.seconds))


def model(
    instance: Instance, objectives: tuple[str, ...], size: Size = FAST, deadline: Deadline | None = None
) -> Formulation:
    """Return the model of this module's docstring."""
    import pyomo.environ as pyo

    mip, deadline = pyo.ConcreteModel(), deadline or Deadline()
    running, least = instance.running.tolist(), instance.least
    steps: Steps = {
        i: (least + _steps_of_job(instance, i, objectives, size.complete)).tolist() for i in deadline.over(running)
    }
    size.check(sum(len(counts) - 1 for counts in steps.values()))
    mip.cores = pyo.Var([(i, count) for i in running for count in steps[i][1:]], domain=pyo.Binary)
    mip.order = pyo.Constraint(pyo.Any)
    for i in deadline.over(running):
        for before, count in itertools.pairwise(steps[i][1:]):
            mip.order[i, count] = mip.cores[i, count] <= mip.cores[i, before]
    use = sum(
        (count - before) * mip.cores[i, count]
        for i in deadline.over(running)
        for before, count in itertools.pairwise(steps[i])
    )
    if len(mip.cores):
        mip.capacity = pyo.Constraint(expr=use <= instance.available - least * len(running))
    terms: dict[str, tuple[Term, ...]] = {}
    constant: dict[str, int] = {}
    levels: dict[str, list[tuple[Expression, int]]] = {}
    for name in objectives:
        table, express = OBJECTIVES[name]
        rows = getattr(instance, table)
        value = {i: (instance.weight[i] * rows[i, steps[i]]).tolist() for i in running}
        constant[name], expression, levels[name] = express(mip, steps, value, deadline)
        terms[name] = (Term(1, expression),)

    def decode(value_of: Callable[[Variable], int]) -> Plan:
        picks = dict.fromkeys(running, least)
        for i, count in mip.cores:
            if value_of(mip.cores[i, count]):
                picks[i] = max(picks[i], count)
        return instance.plan(np.array([picks[i] for i in running], dtype=np.int64))

    def encode(plan: Plan) -> list[tuple[Variable, int]]:
        values = [(mip.cores[i, count], int(plan.cores[i] >= count)) for i, count in mip.cores]
        reached = instance.evaluate(plan)
        return values + [(z, int(reached[name] >= level)) for name in levels for z, level in levels[name]]

    return Formulation(mip, terms, decode, encode, constant)


def _steps_of_job(instance: Instance, job: int, objectives: tuple[str, ...], every: bool) -> IntArray:
    """Return 0 and the numbers of cores beyond `least`, up to cap and room, at which an objective improves, or all."""
    room = instance.available - instance.least * len(instance.running)
    stop = min(int(instance.most[job]), instance.least + room) + 1
    if every:
        return np.arange(stop - instance.least)
    improves = np.zeros(stop - instance.least - 1, dtype=bool)
    for name in objectives:
        improves |= np.diff(getattr(instance, OBJECTIVES[name][0])[job, instance.least : stop]) != 0
    return np.concatenate([[0], np.flatnonzero(improves) + 1])
