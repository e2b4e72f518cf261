"""Dynamic programming over the resources used, job after job, with Lagrangian bounds that limit its size.

A state after i jobs has the use of every resource by their columns, and the smallest cost of it. The next job
extends it by each of its columns. Only the cheapest of several states with equal use is kept. Among few states, only
non-dominated ones are kept: no other state has at most the same use and cost. The cheapest state
after the last job is the optimum.

The Lagrangian relaxation (`formulations/workers/relaxation.py`) keeps the states few. In a plan of value v or less the
reduced costs sum to at most v - L. Columns and states beyond that are dropped, and most resources then suffice
for every choice. The distance of the optimum above L is found by trial: v grows from just above L until a plan of
value v or less exists, the best of which is optimal, or until v reaches the value of a known plan.

After any job there may be `STATES` states. Beyond that the search refuses.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits
from mlsched.formulations.workers.columns import Columns, scarce_resources, total
from mlsched.formulations.workers.relaxation import Relaxed, round_off
from mlsched.solvers.workers._lagrangian import relax

#: Most states after any job: about 500 MB while they grow.
STATES = 1_000_000
#: The first trial is at this share of the way from the bound to the known value; each further trial GROWTH times as
#: far.
FIRST, GROWTH = 1 / 64, 4
#: Dominance is checked among at most this number of states; among more, only between states of equal use.
FEW = 3_000


@dataclasses.dataclass(frozen=True)
class Proved:
    """A plan and its proof.

    chosen: one column for each job, by index. bound: lower bound on the cost of all plans. optimal: whether the plan
    attains it.
    """

    chosen: IntArray
    bound: int
    optimal: bool
    work: dict[str, float]


def cheapest(choice: Columns, limits: Limits | None = None) -> Proved:
    """Return the cheapest plan, or the best known plan and a bound if the time limit ends the search.

    Raises TooLarge beyond `STATES` states.
    """
    clock = _Clock(limits or Limits())
    relaxed = relax(choice)
    known_plan = round_off(choice, relaxed)
    value, low = total(choice, known_plan), relaxed.bound
    reach = max(1, round(FIRST * (value - low)))
    try:
        while low < value:
            most = min(value - 1, low + reach)
            better = _search_states(choice, relaxed, most, clock)
            if better is not None:
                return Proved(better, total(choice, better), True, clock.work)
            # All plans cost more than `most`.
            low, reach = most + 1, GROWTH * reach
    except OutOfTime:
        return Proved(known_plan, low, False, clock.work)
    return Proved(known_plan, value, True, clock.work)


def cheapest_plainly(choice: Columns, limits: Limits | None = None) -> Proved | None:
    """Return the cheapest plan by the plain recursion, without bounds; None if the time limit ends it."""
    clock = _Clock(limits or Limits())
    free = Relaxed(1, np.zeros_like(choice.capacity), np.zeros_like(choice.cost), 0)
    try:
        best = _search_states(choice, free, None, clock)
    except OutOfTime:
        return None
    assert best is not None, "waiting is always possible"
    return Proved(best, total(choice, best), True, clock.work)


class _Clock:
    """The time limit, and the work done."""

    def __init__(self, limits: Limits) -> None:
        self.deadline = Deadline(limits.seconds)
        self.work: dict[str, float] = {"states": 0, "searches": 0}

    def count(self, states: int) -> None:
        self.work["states"] += states
        self.deadline.check()


@dataclasses.dataclass(frozen=True)
class _States:
    """States after a job. used: states x resources. cost: ms. spent: the sum of reduced costs.

    row, column: the state that each extends, and the column by which it does.
    """

    used: IntArray
    cost: IntArray
    spent: IntArray
    row: IntArray
    column: IntArray


def _search_states(choice: Columns, relaxed: Relaxed, most: int | None, clock: _Clock) -> IntArray | None:
    """Return the cheapest plan of value `most` or less (any if None), as columns by index; None if infeasible."""
    clock.work["searches"] += 1
    slack = None if most is None else relaxed.slack(most)
    remaining_part = np.arange(len(choice.job)) if slack is None else np.flatnonzero(relaxed.reduced <= slack)
    few = choice.keep(remaining_part)
    short = scarce_resources(few.job, few.use, few.capacity, few.jobs)
    use, capacity, first = few.use[:, short], few.capacity[short], few.first
    zero = np.zeros(1, dtype=np.int64)
    state = _States(np.zeros((1, len(capacity)), dtype=np.int64), zero, zero, zero, zero)
    stages = []
    # Jobs with a single column come first: they do not add to the number of states.
    order = np.argsort(np.diff(first), kind="stable").tolist()
    later = np.zeros(len(capacity), dtype=np.int64)
    if few.jobs and len(capacity):
        smallest = np.minimum.reduceat(use, first[:-1], axis=0)
        later = smallest.sum(axis=0)
    for j in order:
        mine = np.arange(first[j], first[j + 1])
        if len(mine) * len(state.cost) > 8 * STATES:
            raise _too_many_states()
        state = _extend_states(state, mine, few.cost[mine], relaxed.reduced[remaining_part[mine]], use[mine])
        if len(capacity):
            later = later - smallest[j]
        alive = (state.used + later <= capacity).all(axis=1)
        if slack is not None:
            alive &= state.spent <= slack
        state = _cheapest_states(_pick_states(state, np.flatnonzero(alive)))
        clock.count(len(state.cost))
        if len(state.cost) > STATES:
            raise _too_many_states()
        if not len(state.cost):
            return None
        stages.append(state)
    at = int(state.cost.argmin())
    if most is not None and int(state.cost[at]) > most:
        return None
    chosen_columns = np.zeros(few.jobs, dtype=np.int64)
    for stage in reversed(stages):
        column = int(stage.column[at])
        chosen_columns[few.job[column]], at = remaining_part[column], int(stage.row[at])
    return chosen_columns


def _too_many_states() -> TooLarge:
    return TooLarge(f"dp: more than {STATES} states: use cp-sat or highs")


def _extend_states(state: _States, mine: IntArray, cost: IntArray, reduced: IntArray, use: IntArray) -> _States:
    """Extend every state by every column of the next job."""
    count = len(mine)
    return _States(
        (state.used[:, None, :] + use[None, :, :]).reshape(len(state.cost) * count, use.shape[1]),
        np.add.outer(state.cost, cost).ravel(),
        np.add.outer(state.spent, reduced).ravel(),
        np.repeat(np.arange(len(state.cost)), count),
        np.tile(mine, len(state.cost)),
    )


def _pick_states(state: _States, index: IntArray) -> _States:
    return _States(*(getattr(state, field.name)[index] for field in dataclasses.fields(state)))


def _cheapest_states(state: _States) -> _States:
    """Return the non-dominated states, as far as `FEW` allows the check."""
    order = np.lexsort((state.cost, *state.used.T[::-1]))
    usage, cost = state.used[order], state.cost[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (usage[1:] != usage[:-1]).any(axis=1)
    if usage.shape[1] <= 1 and len(order):
        # By increasing use: a state that is not cheaper than all before it is dominated.
        new[1:] &= cost[1:] < np.minimum.accumulate(cost)[:-1]
    order, usage, cost = order[new], usage[new], cost[new]
    if usage.shape[1] > 1 and len(order) <= FEW:
        by_cost = np.argsort(cost, kind="stable")
        amounts = usage[by_cost]
        covers = np.ones((len(order), len(order)), dtype=bool)
        for r in range(usage.shape[1]):
            covers &= amounts[:, None, r] <= amounts[None, :, r]
        # All uses are different now, so two states cannot dominate each other.
        np.fill_diagonal(covers, False)
        covers &= cost[by_cost][:, None] <= cost[by_cost][None, :]
        order = order[np.sort(by_cost[~covers.any(axis=0)])]
    return _pick_states(state, order)
