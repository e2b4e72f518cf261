"""Changes of the model of cores: each has the optimum of the changed instance, or of the plans that remain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from changed_models import Change, Changes

import mlsched

OBJECTIVES = ("total_loss_reduction", "worst_loss")


def reserve_cores(inst: Any, m: Any) -> Any:
    m.reserve = pyo.Constraint(expr=m.capacity.body <= m.capacity.upper - 2)
    return inst.replace(reserved=inst.reserved + 2)


def cap_a_job(inst: Any, m: Any) -> Any:
    m.cap = pyo.Constraint(expr=m.cores[1, 3] == 0)
    return inst.replace(most=np.where(np.arange(4) == 1, 2, inst.most))


def raise_the_least(inst: Any, m: Any) -> Any:
    m.least = pyo.Constraint(range(4), rule=lambda m, j: m.cores[j, 2] == 1)
    return inst.replace(least=2)


def keep_a_job_at_its_least(inst: Any, m: Any) -> Any:
    m.paused = pyo.Constraint(expr=m.cores[1, 2] == 0)
    return inst.replace(most=np.where(np.arange(4) == 1, 1, inst.most))


def guarantee_cores(inst: Any, m: Any) -> Any:
    m.guarantee = pyo.Constraint(expr=m.cores[0, 4] == 1)
    return lambda plan, _: plan.cores[0] >= 4


def fix_cores(inst: Any, m: Any) -> Any:
    m.fixed = pyo.Constraint(expr=m.cores[2, 3] - m.cores[2, 4] == 1)
    return lambda plan, _: plan.cores[2] == 3


def forbid_two_jobs_together(inst: Any, m: Any) -> Any:
    m.apart = pyo.Constraint(expr=m.cores[1, 2] + m.cores[3, 2] <= 1)
    return lambda plan, _: min(plan.cores[1], plan.cores[3]) == 1


def share_a_budget(inst: Any, m: Any) -> Any:
    above = sum(m.cores[j, a] for j, a in m.cores if j in (0, 1))
    m.budget = pyo.Constraint(expr=above <= 2)
    return lambda plan, _: plan.cores[:2].sum() <= 4


def treat_two_jobs_alike(inst: Any, m: Any) -> Any:
    m.alike = pyo.Constraint(range(2, 6), rule=lambda m, a: m.cores[0, a] == m.cores[1, a])
    return lambda plan, _: plan.cores[0] == plan.cores[1]


def give_pairs_of_cores(inst: Any, m: Any) -> Any:
    m.pairs = pyo.ConstraintList()
    m.pairs.add(m.cores[1, 2] == 1)
    m.pairs.add(m.cores[1, 3] == m.cores[1, 4])
    m.pairs.add(m.cores[1, 5] == 0)
    return lambda plan, _: plan.cores[1] % 2 == 0


def bound_the_worst_loss(inst: Any, m: Any) -> Any:
    most = mlsched.solve(inst, objective="worst_loss").values["worst_loss"]
    m.bound = pyo.Constraint(expr=m.value["worst_loss"] <= most)
    return lambda _, values: values["worst_loss"] <= most


CHANGES: list[Change] = [
    reserve_cores,
    cap_a_job,
    raise_the_least,
    keep_a_job_at_its_least,
    guarantee_cores,
    fix_cores,
    forbid_two_jobs_together,
    share_a_budget,
    treat_two_jobs_alike,
    give_pairs_of_cores,
    bound_the_worst_loss,
]


@pytest.fixture(scope="module")
def changes() -> Changes:
    return Changes(mlsched.generate("quality", "small", 7, jobs=4, cores=11, cap=5).replace(most=[5] * 4))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_the_model_of_the_changed_instance(changes, change, objective):
    changes.check(objective, change)


def test_most_changes_matter(changes):
    assert changes.matter("total_loss_reduction", CHANGES) >= 6
