"""Victim selection as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has)."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from mlsched.core.aliases import BackendModel, Data, Expression, Variable
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, OneOf, Term
from mlsched.core.registry import model_builder
from mlsched.formulations.preemption._model import OBJECTIVES, Reduced, by_node, reduce
from mlsched.instances.preemption import Instance, Plan


@model_builder("highs", problem="preemption", backend="highs", objectives=OBJECTIVES)
def build(
    instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS, decompose: bool = True
) -> Formulation | OneOf:
    """Joint choice of hosts and victims as a MIP; by node when one TE job waits (decompose)."""
    if decompose and len(instance.te_demand) == 1 and len(objectives) == 1:
        return by_node(instance, objectives[0], lambda reduced: model(reduced, objectives))
    return model(reduce(instance), objectives)


def model(reduced: Reduced, objectives: tuple[str, ...]) -> Formulation:
    """Return the Pyomo model of `_model`'s docstring."""
    import pyomo.environ as pyo

    instance, mip = reduced.instance, pyo.ConcreteModel()
    mip.victim = pyo.Var(reduced.candidates, domain=pyo.Binary)
    mip.place = pyo.Var(reduced.places, domain=pyo.Binary)
    tes = range(len(instance.te_demand))
    mip.once, mip.capacity = pyo.Constraint(pyo.Any), pyo.Constraint(pyo.Any)
    for t in tes:
        choices = [mip.place[u, n] for u, n in reduced.places if u == t]
        if choices:
            mip.once[t] = sum(choices) <= 1
    for n, r, room in reduced.rows:
        need = sum(int(instance.te_demand[t, r]) * mip.place[t, m] for t, m in reduced.places if m == n)
        here = [j for j in reduced.candidates if instance.job_node[j] == n]
        mip.capacity[n, r] = need - sum(int(instance.job_demand[j, r]) * mip.victim[j] for j in here) <= room
    waiting = len(tes) - sum(mip.place.values())
    base: Data = {
        "total_score": sum(int(instance.score[j]) * mip.victim[j] for j in reduced.candidates),
        "victim_count": sum(mip.victim.values()),
    }
    if "max_grace_period" in objectives:
        base["max_grace_period"] = _longest_grace(mip, reduced)

    def decode(value_of: Callable[[Variable], int]) -> Plan:
        placed = [p for p in reduced.places if value_of(mip.place[p])]
        return reduced.plan(placed, [j for j in reduced.candidates if value_of(mip.victim[j])])

    def encode(plan: Plan) -> list[tuple[Variable, int]]:
        victims = set(plan.victims.tolist())
        values = [(mip.victim[j], int(j in victims)) for j in reduced.candidates]
        values += [(mip.place[t, n], int(plan.te_node[t] == n)) for t, n in reduced.places]
        return values

    terms = {name: (Term(reduced.waiting_cost[name], waiting), Term(1, base[name])) for name in objectives}
    return Formulation(mip, terms, decode, encode)


def _longest_grace(mip: BackendModel, reduced: Reduced) -> Expression:
    """Return the longest grace period among victims as a sum of steps between levels.

    The binary grace[g] is 1 if some victim needs g or more. The sum is exact for integers, and its linear relaxation
    is tighter than "grace >= grace_j x_j".
    """
    import pyomo.environ as pyo

    grace = {j: int(reduced.instance.job_grace[j]) for j in reduced.candidates}
    levels = sorted({0, *grace.values()})
    mip.grace = pyo.Var(levels[1:], domain=pyo.Binary)
    mip.level, mip.falling = pyo.Constraint(pyo.Any), pyo.Constraint(pyo.Any)
    for j, g in grace.items():
        if g > 0:
            mip.level[j] = mip.victim[j] <= mip.grace[g]
    for low, high in itertools.pairwise(levels[1:]):
        mip.falling[high] = mip.grace[high] <= mip.grace[low]
    return sum((high - low) * mip.grace[high] for low, high in itertools.pairwise(levels))
