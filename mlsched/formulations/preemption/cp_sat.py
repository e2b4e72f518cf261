"""Victim selection for CP-SAT: the joint model, or one covering model per node for a single waiting TE job."""

from __future__ import annotations

from collections.abc import Callable

from mlsched.core.aliases import Data, Variable
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, OneOf, Term
from mlsched.core.registry import model_builder
from mlsched.formulations.preemption._model import OBJECTIVES, Reduced, by_node, reduce
from mlsched.instances.preemption import Instance, Plan


@model_builder("cp-sat", problem="preemption", backend="cp-sat", objectives=OBJECTIVES)
def build(
    instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS, decompose: bool = True
) -> Formulation | OneOf:
    """Joint choice of hosts and victims in integers; by node when one TE job waits (decompose)."""
    if decompose and len(instance.te_demand) == 1 and len(objectives) == 1:
        return by_node(instance, objectives[0], lambda reduced: model(reduced, objectives))
    return model(reduce(instance), objectives)


def model(reduced: Reduced, objectives: tuple[str, ...]) -> Formulation:
    """Return the CP-SAT model of `_model`'s docstring."""
    from ortools.sat.python import cp_model

    instance, cp = reduced.instance, cp_model.CpModel()
    x = {j: cp.new_bool_var(f"victim_{j}") for j in reduced.candidates}
    y = {(t, n): cp.new_bool_var(f"place_{t}_{n}") for t, n in reduced.places}
    tes = range(len(instance.te_demand))
    for t in tes:
        cp.add_at_most_one(y[u, n] for u, n in reduced.places if u == t)
    for n, r, room in reduced.rows:
        need = sum(int(instance.te_demand[t, r]) * v for (t, m), v in y.items() if m == n)
        released = sum(int(instance.job_demand[j, r]) * v for j, v in x.items() if instance.job_node[j] == n)
        cp.add(need <= room + released)
    waiting = len(tes) - sum(y.values())
    grace = None
    base: Data = {"total_score": sum(int(instance.score[j]) * v for j, v in x.items()), "victim_count": sum(x.values())}
    if "max_grace_period" in objectives:
        grace = cp.new_int_var(0, max((int(instance.job_grace[j]) for j in x), default=0), "longest_grace")
        for j, v in x.items():
            cp.add(grace >= int(instance.job_grace[j])).only_enforce_if(v)
        base["max_grace_period"] = grace

    def decode(value_of: Callable[[Variable], int]) -> Plan:
        return reduced.plan([p for p, v in y.items() if value_of(v)], [j for j, v in x.items() if value_of(v)])

    def encode(plan: Plan) -> list[tuple[Variable, int]]:
        victims = set(plan.victims.tolist())
        values = [(v, int(j in victims)) for j, v in x.items()]
        values += [(v, int(plan.te_node[t] == n)) for (t, n), v in y.items()]
        if grace is not None:
            values.append((grace, max((int(instance.job_grace[j]) for j in victims), default=0)))
        return values

    terms = {name: (Term(reduced.waiting_cost[name], waiting), Term(1, base[name])) for name in objectives}
    return Formulation(cp, terms, decode, encode)
