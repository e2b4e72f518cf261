"""The rounds problem as a 0-1 formula, written from the statement alone (`instances/rounds/judge.py`).

One variable for each job and configuration in which it can run, and one for a job that waits.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mlsched.certificates.formula import Formula
from mlsched.certificates.translation import Translation

if TYPE_CHECKING:
    from mlsched.instances.rounds.instance import Instance, Plan

#: Variable -> job, configuration (-1: waits).
Chosen = dict[int, tuple[int, int]]


def _stated(claim: str, instance: Instance) -> tuple[Formula, Chosen]:
    """Rules 1 to 3."""
    formula = Formula(claim)
    chosen: Chosen = {}
    held: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for j, row in enumerate(instance.rate.tolist()):
        own = {formula.variable(f"job {j} waits"): -1}
        for c, rate in enumerate(row):
            if rate:
                x = formula.variable(f"job {j} runs in configuration {c}")
                own[x] = c
                held[int(instance.config_type[c])].append((int(instance.config_gpus[c]), x))
        formula.exactly("rule 1: a job runs in one configuration or waits", [(1, x) for x in own], 1)
        chosen |= {x: (j, c) for x, c in own.items()}
    for m, terms in held.items():
        formula.at_most("rule 3: GPUs of a type", terms, int(instance.capacity[m]))
    return formula, chosen


def _did(instance: Instance, j: int, c: int) -> int:
    """Rule 4."""
    if c < 0:
        return 0
    time = instance.length if c == int(instance.current[j]) else max(0, instance.length - instance.pause)
    return min(int(instance.remaining[j]), int(instance.rate[j, c]) * time // 10**6)


def _left(instance: Instance, j: int, c: int) -> int:
    return int(instance.remaining[j]) - _did(instance, j, c)


def _able(instance: Instance, chosen: Chosen) -> Chosen:
    """Rules 7 to 9 are about the jobs that can run."""
    return {x: (j, c) for x, (j, c) in chosen.items() if instance.rate[j].any()}


def goodput_cost(instance: Instance, plan: Plan) -> list[Formula]:
    """Rule 5."""
    formula, chosen = _stated("the least cost by goodput", instance)
    formula.optimise(
        (int(instance.goodput_cost[j, c]) if c >= 0 else int(instance.waiting_cost[j]), x)
        for x, (j, c) in chosen.items()
    )
    return [formula]


def total_steps(instance: Instance, plan: Plan) -> list[Formula]:
    """Rule 6."""
    formula, chosen = _stated("the most steps", instance)
    formula.optimise([(_did(instance, j, c), x) for x, (j, c) in chosen.items()], sense="max")
    return [formula]


def least_served(instance: Instance, plan: Plan) -> list[Formula]:
    """Rule 7: the largest shortfall below the best-served job in its best configuration is made smallest."""
    formula, chosen = _stated("the largest of what the worst-served job is served", instance)
    served = {}
    for x, (j, c) in _able(instance, chosen).items():
        share = int(instance.weight[j]) * int(instance.usual[j]) * (int(instance.age[j]) + instance.length)
        served[x] = 10**12 * (int(instance.done[j]) + _did(instance, j, c)) // share
    most = max(served.values(), default=0)
    short = formula.levels("rule 7: the shortfall", {x: most - amount for x, amount in served.items()})
    formula.optimise(short, offset=-most, weight=-1)
    return [formula]


def worst_ratio(instance: Instance, plan: Plan) -> list[Formula]:
    """Rule 8."""
    formula, chosen = _stated("the least worst finish-time ratio", instance)
    ratios = {}
    for x, (j, c) in _able(instance, chosen).items():
        fair = int(instance.fair[j])
        ends = fair * (int(instance.age[j]) + instance.length) + 10**6 * _left(instance, j, c)
        ought = fair * int(instance.isolated[j]) + 10**6 * int(instance.remaining[j])
        ratios[x] = -(-1000 * ends // ought)
    formula.optimise(formula.levels("rule 8: the worst ratio", ratios))
    return [formula]


def last_end(instance: Instance, plan: Plan) -> list[Formula]:
    """Rule 9."""
    formula, chosen = _stated("the soonest last end", instance)
    ends = {
        x: -(-(10**6) * _left(instance, j, c) // int(instance.rate[j].max()))
        for x, (j, c) in _able(instance, chosen).items()
    }
    formula.optimise(formula.levels("rule 9: the last end", ends), offset=instance.length if ends else 0)
    return [formula]


TRANSLATION = Translation(
    "rounds.instance", {f.__name__: (f, "") for f in (goodput_cost, total_steps, least_served, worst_ratio, last_end)}
)
