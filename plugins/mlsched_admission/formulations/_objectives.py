"""Objectives of admission as sums over the variables of its integer program (`_model.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from mlsched_admission.formulations._model import Model
from mlsched_admission.formulations._program import Sum, sum_of_terms


def sums_of_objectives(model: Model, objectives: Sequence[str]) -> dict[str, tuple[Sum, Sum]]:
    """Return the waiting rank and the base value of each objective; this may add variables."""
    waiting = _waiting_rank(model)
    return {name: (waiting, OBJECTIVES[name](model)) for name in objectives}


def _waiting_rank(model: Model) -> Sum:
    """Return the waiting rank."""
    weights = model.instance.waiting_weight.tolist()
    return sum_of_terms([(-weights[j], s) for j, s in model.start.items()], sum(weights))


def _victims(model: Model) -> Sum:
    """Count evicted units."""
    return sum_of_terms((1, x) for x in model.evict.values())


def _work_lost(model: Model) -> Sum:
    """Add up the lost work of evicted units."""
    return sum_of_terms((int(model.instance.unit_lost[u]), x) for u, x in model.evict.items())


def _top_priority(model: Model) -> Sum:
    """Return the position of the highest evicted priority among the priorities of all units."""
    levels = {level: place for place, level in enumerate(sorted(set(model.instance.unit_priority.tolist())), 1)}
    return _largest_of_evicted(model, [levels[p] for p in model.instance.unit_priority.tolist()], "priority")


def _budget_violations(model: Model) -> Sum:
    """Add up the disturbed pods of each budget beyond its limit."""
    excess = Sum()
    units = model.instance.pod_unit
    for b, (covered, remaining) in enumerate(
        zip(model.instance.pod_budget, model.instance.budget_left.tolist(), strict=True)
    ):
        disturbed: dict[int, int] = defaultdict(int)
        for u in units[covered == 1].tolist():
            for v in (model.evict.get(u), model.move.get(u)):
                if v is not None:
                    disturbed[v] += 1
        if (most := model.program.largest_value(Sum(disturbed)) - remaining) > 0:
            over = model.program.add_variable("over_budget", b, high=most)
            model.program.add_at_most(Sum({**disturbed, over: -1}), remaining, "budget", b)
            excess = excess.plus_multiple(Sum({over: 1}))
    return excess


def _moves(model: Model) -> Sum:
    """Count moved units."""
    return sum_of_terms((1, v) for v in model.move.values())


def _longest_grace(model: Model) -> Sum:
    """Return the longest grace period of an evicted unit."""
    return _largest_of_evicted(model, model.instance.unit_grace.tolist(), "grace")


def _largest_of_evicted(model: Model, numbers: Sequence[int], group: str) -> Sum:
    """Return the largest number of an evicted unit, 0 if no unit is evicted."""
    by_variable: dict[int, int] = {}
    for u, x in model.evict.items():
        by_variable[x] = max(numbers[u], by_variable.get(x, 0))
    return model.program.add_largest(by_variable, group)


#: Objective -> its base value as a sum over the program's variables, some of which it may add.
OBJECTIVES: dict[str, Callable[[Model], Sum]] = {
    "victims": _victims,
    "lost": _work_lost,
    "top_priority": _top_priority,
    "budget_violations": _budget_violations,
    "moves": _moves,
    "grace": _longest_grace,
}
