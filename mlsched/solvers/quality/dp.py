"""Quality exactly: dynamic programming over cores for the total, a threshold search for the worst loss.

Total loss reduction. Every running job gets the instance's `least` cores; V_i[c] is the largest gain of the first i
jobs with c additional cores:

    V_i[c] = max over b of V_{i-1}[c - b] + value[i, b]                       (vectorised over c)

which takes O(jobs * cores * options). The Lagrangian relaxation (`formulations/quality/relaxation.py`) shrinks it, and
the result is still exact: with the upper bound B = p R + sum_j m_j at price p and a plan of value L, a strictly better
plan can only use

- options b with B - (m_j - (value[j, b] - p b)) > L, and
- states c of V_i with V_i[c] + sum of m_j over the later jobs + p (R - c) > L.

Options that are not better than a smaller option are also dropped. If no state remains, L was optimal; on concave
tables B - L is often 0, and the states are never built. `reduce=false` runs the plain recursion, for tests.

Worst loss. need_j(t) is the smallest number of cores with weight * loss <= t. The optimum is the smallest t with
need_j(t) <= most_j for all j and sum_j need_j(t) <= available. Both conditions are monotone in t: bisection finds it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mlsched.core.deadline import Deadline
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.formulations.quality.relaxation import Choices, bound, choices, clearing_price, fill
from mlsched.instances.quality import Instance, Plan

_NEVER = np.iinfo(np.int64).min // 2


def least_worst(instance: Instance) -> Outcome:
    """Return the smallest worst loss, with the fewest cores that reach it."""
    running, least = instance.running, instance.least
    table = instance.loss[running, least:] * instance.weight[running, None]
    last = instance.most[running] - least
    room = instance.available - least * len(running)
    # The optimum is at least every job's loss at its cap, and at most the largest loss at `least`.
    if not len(running):
        return Outcome("optimal", instance.plan(running), 0, work={"steps": 0})
    at_cap = np.take_along_axis(table, last[:, None], axis=1)
    low, high = int(at_cap.max()) - 1, int(table[:, 0].max())
    need, steps = np.zeros(len(running), dtype=np.int64), 0
    while high - low > 1:
        middle, steps = (low + high) // 2, steps + 1
        target_gain = (table > middle).sum(axis=1)
        if int(target_gain.sum()) <= room:
            high, need = middle, target_gain
        else:
            low = middle
    return Outcome("optimal", instance.plan(need + least), high, work={"steps": steps})


@dataclasses.dataclass
class _Stage:
    """V_i on the cores `first`, `first` + 1, ...; `option[c]` is the index of the i-th job's option in V_i[c]."""

    first: int
    value: IntArray
    option: npt.NDArray[np.int32]


def most_gain(instance: Instance, limits: Limits, *, reduce: bool = True) -> Outcome:
    """Return the largest total loss reduction."""
    deadline = Deadline(limits.seconds)
    problem = choices(instance)
    base = problem.base
    price, purchase = clearing_price(problem)
    plan = fill(problem, purchase)
    known_value = int(np.take_along_axis(problem.value, plan[:, None], axis=1).sum()) if len(plan) else 0
    limit, net = bound(problem, price)
    work: dict[str, float] = {"states": 0}
    if reduce and limit <= known_value:
        return Outcome("optimal", instance.plan(plan + instance.least), base + known_value, work=work)
    if not reduce:
        known_value, price, net = -1, 0, problem.value.max(axis=1, initial=0)
        limit = int(net.sum())
    options = [_useful_options(problem, i, price, int(net[i]), limit - known_value) for i in range(len(plan))]
    stages: list[_Stage] = []
    stage = _Stage(0, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32))
    later = int(net.sum())
    for i, choice in enumerate(options):
        if deadline.passed():
            return Outcome("feasible", instance.plan(plan + instance.least), base + limit, "time limit", work)
        later -= int(net[i])
        stage = _next_stage(stage, choice, problem.value[i, choice], problem.room)
        stage = _trim_stage(stage, later + price * problem.room, price, known_value)
        work["states"] += len(stage.value)
        if not len(stage.value):
            break
        stages.append(stage)
    if len(stages) == len(options) and int(stage.value.max()) > known_value:
        plan = _trace_allocation(stages, options)
        known_value = int(stage.value.max())
    return Outcome("optimal", instance.plan(plan + instance.least), base + known_value, work=work)


#: Objective -> its algorithm.
OBJECTIVES: dict[str, Callable[[Instance, Limits, bool], Outcome]] = {
    "total_loss_reduction": lambda instance, limits, reduce: most_gain(instance, limits, reduce=reduce),
    "worst_loss": lambda instance, limits, reduce: least_worst(instance),
}


@exact_algorithm("dp", problem="quality", objectives=tuple(OBJECTIVES))
def answer(
    instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None, reduce: bool = True
) -> Outcome:
    """Dynamic programming over cores (total), threshold search (worst loss): exact at any size."""
    return OBJECTIVES[objective](instance, limits, reduce)


def _useful_options(problem: Choices, i: int, price: int, net: int, slack: int) -> IntArray:
    """Return the options of job i that a plan better than the known one may use; `slack` is B - L."""
    value = problem.value[i, : int(problem.last[i]) + 1]
    cheaper = np.concatenate([[True], value[1:] > value[:-1]])
    reachable = slack - (net - (value - price * np.arange(len(value)))) > 0
    return np.flatnonzero(cheaper & reachable)


def _next_stage(stage: _Stage, choice: IntArray, values: IntArray, room: int) -> _Stage:
    """Compute V_i from V_{i-1}: the best of the job's options for every number of cores up to `room`."""
    if not choice.size:
        return _Stage(0, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))
    first = stage.first + int(choice[0])
    last = min(stage.first + len(stage.value) - 1 + int(choice[-1]), room)
    count = max(0, last - first + 1)
    best = np.full(count, _NEVER, dtype=np.int64)
    option = np.zeros(count, dtype=np.int32)
    for k, (b, value) in enumerate(zip(choice.tolist(), values.tolist(), strict=True)):
        at = stage.first + b - first
        reach = min(len(stage.value), count - at)
        if reach <= 0:
            break
        here = best[at : at + reach]
        offer = stage.value[:reach] + value
        better = offer > here
        here[better] = offer[better]
        option[at : at + reach][better] = k
    return _Stage(first, best, option)


def _trim_stage(stage: _Stage, later: int, price: int, known_value: int) -> _Stage:
    """Drop the states at either end from which no plan better than `known` can be reached."""
    cores = stage.first + np.arange(len(stage.value), dtype=np.int64)
    alive = np.flatnonzero(stage.value + (later - price * cores) > known_value)
    if not alive.size:
        return _Stage(0, stage.value[:0], stage.option[:0])
    low, high = int(alive[0]), int(alive[-1]) + 1
    return _Stage(stage.first + low, stage.value[low:high], stage.option[low:high])


def _trace_allocation(stages: list[_Stage], options: list[IntArray]) -> IntArray:
    """Return the allocation of the best state of the last stage (the fewest cores among equals)."""
    cores = np.zeros(len(stages), dtype=np.int64)
    if not stages:
        return cores
    state = stages[-1].first + int(np.argmax(stages[-1].value))
    for i in range(len(stages) - 1, -1, -1):
        cores[i] = options[i][stages[i].option[state - stages[i].first]]
        state -= int(cores[i])
    return cores
