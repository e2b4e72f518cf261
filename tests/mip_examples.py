"""Small Pyomo models as formulations, for the tests of backends."""

from __future__ import annotations

import pyomo.environ as pyo

from mlsched.core.formulation import Formulation, Term
from mlsched.instances.preemption import Plan


def formulation(model, *terms: Term, variables=()) -> Formulation:
    """A formulation whose plan holds the values of `variables` as its victims."""
    return Formulation(
        model,
        {"o": terms},
        lambda value_of: Plan(te_node=[], victims=[value_of(v) for v in variables]),
        lambda plan: [],
    )


def knapsack():
    """max 5a + 4b + 3c, 2a + 3b + c <= 5, 4a + b + 2c <= 11, 3a + 4b + 2c <= 8: 13 at (2, 0, 1)."""
    model = pyo.ConcreteModel()
    model.v = pyo.Var(range(3), domain=pyo.NonNegativeIntegers, bounds=(0, 10))
    model.rows = pyo.ConstraintList()
    for coefficients, limit in (((2, 3, 1), 5), ((4, 1, 2), 11), ((3, 4, 2), 8)):
        model.rows.add(sum(k * model.v[i] for i, k in enumerate(coefficients)) <= limit)
    return model, 5 * model.v[0] + 4 * model.v[1] + 3 * model.v[2]
