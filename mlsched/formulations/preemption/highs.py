"""Victim selection as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    """The Pyomo model of `_model`'s docstring."""
    import pyomo.environ as pyo

    instance, mip = reduced.instance, pyo.ConcreteModel()
    mip.x = pyo.Var(reduced.candidates, domain=pyo.Binary)
    mip.y = pyo.Var(reduced.places, domain=pyo.Binary)
    tes = range(len(instance.te_demand))
    mip.once = pyo.ConstraintList()
    for t in tes:
        choices = [mip.y[u, n] for u, n in reduced.places if u == t]
        if choices:
            mip.once.add(sum(choices) <= 1)
    mip.capacity = pyo.ConstraintList()
    for n, r, room in reduced.rows:
        need = sum(int(instance.te_demand[t, r]) * mip.y[t, m] for t, m in reduced.places if m == n)
        here = [j for j in reduced.candidates if instance.job_node[j] == n]
        mip.capacity.add(need - sum(int(instance.job_demand[j, r]) * mip.x[j] for j in here) <= room)
    waiting = len(tes) - sum(mip.y.values())
    base: dict[str, Any] = {
        "total_score": sum(int(instance.score[j]) * mip.x[j] for j in reduced.candidates),
        "victim_count": sum(mip.x.values()),
    }
    if "max_grace_period" in objectives:
        base["max_grace_period"] = _longest_grace(mip, reduced)

    def decode(value_of: Callable[[Any], int]) -> Plan:
        placed = [p for p in reduced.places if value_of(mip.y[p])]
        return reduced.plan(placed, [j for j in reduced.candidates if value_of(mip.x[j])])

    def encode(plan: Plan) -> list[tuple[Any, int]]:
        victims = set(plan.victims.tolist())
        values = [(mip.x[j], int(j in victims)) for j in reduced.candidates]
        values += [(mip.y[t, n], int(plan.te_node[t] == n)) for t, n in reduced.places]
        return values

    terms = {name: (Term(reduced.waiting_cost[name], waiting), Term(1, base[name])) for name in objectives}
    return Formulation(mip, terms, decode, encode)


def _longest_grace(mip: Any, reduced: Reduced) -> Any:
    """The longest grace period among victims by levels: z[k] = some victim needs more than the k-th distinct value.

    The sum of steps is exact in integers and its linear relaxation is tighter than `grace >= grace_j x_j`.
    """
    import pyomo.environ as pyo

    grace = {j: int(reduced.instance.job_grace[j]) for j in reduced.candidates}
    levels = sorted({0, *grace.values()})
    mip.z = pyo.Var(range(1, len(levels)), domain=pyo.Binary)
    mip.level = pyo.ConstraintList()
    for j, g in grace.items():
        if g > 0:
            mip.level.add(mip.x[j] <= mip.z[levels.index(g)])
    for k in range(2, len(levels)):
        mip.level.add(mip.z[k] <= mip.z[k - 1])
    return sum((levels[k] - levels[k - 1]) * mip.z[k] for k in range(1, len(levels)))
