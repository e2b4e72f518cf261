"""A model for CP-SAT: x[j, m] = 1 where job j is on machine m."""

from collections.abc import Callable
from typing import Any

from balance.instances import Instance, Plan
from mlsched.core.formulation import Formulation, Limits, Term
from mlsched.core.registry import model_builder


@model_builder("cp-sat", problem="balance", backend="cp-sat", objectives=("largest_load", "moves"))
def cp_sat(instance: Instance, *, objectives: tuple[str, ...], limits: Limits) -> Formulation:
    """Assign jobs to machines in 0-1 variables."""
    from ortools.sat.python import cp_model

    model, work, before = cp_model.CpModel(), instance.work.tolist(), instance.before.tolist()
    jobs, machines = range(len(work)), range(instance.machines)
    x = {(j, m): model.new_bool_var(f"x_{j}_{m}") for j in jobs for m in machines}
    largest = model.new_int_var(0, sum(work), "largest")
    for j in jobs:
        model.add_exactly_one(x[j, m] for m in machines)
    for m in machines:
        model.add(sum(work[j] * x[j, m] for j in jobs) <= largest)
    terms = {"largest_load": largest, "moves": len(work) - sum(x[j, before[j]] for j in jobs)}

    def decode(value_of: Callable[[Any], int]) -> Plan:
        return Plan(machine=[next(m for m in machines if value_of(x[j, m])) for j in jobs])

    def encode(plan: Plan) -> list[tuple[Any, int]]:
        return [(x[j, m], int(plan.machine[j] == m)) for j in jobs for m in machines]

    return Formulation(model, {name: (Term(1, terms[name]),) for name in objectives}, decode, encode)
