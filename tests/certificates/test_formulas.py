"""What the formulas of preemption, quality and workers say beyond their minimum, and cases that draws seldom have."""

from __future__ import annotations

import numpy as np
import pytest
from certificate_examples import minimum, preemption, quality, workers

from mlsched import api
from mlsched.certificates.translation import translation_of
from mlsched.instances.workers import NEVER


def formulas(instance, objective):
    best = api.solve(instance, "brute-force", objective=objective)
    made = translation_of(instance).formulas(instance, objective, best.plan)
    assert sum(f.value(minimum(f)) for f in made) == best.sort_key
    return made


@pytest.mark.parametrize("objective", ["total_score", "victim_count", "max_grace_period"])
def test_where_nobody_may_be_suspended_a_waiting_job_costs_one(objective):
    instance = preemption(np.random.default_rng(1))
    instance = instance.replace(
        job_preemptions=np.full(len(instance.job_node), instance.preemption_limit),
        te_demand=np.full(instance.te_demand.shape, 99),
    )
    fewest, least = formulas(instance, objective)
    assert fewest.value(minimum(fewest)) == len(instance.te_demand)
    assert least.value(minimum(least)) == 0


def test_claims_say_what_is_asked():
    instance = quality(np.random.default_rng(1))
    assert formulas(instance, "worst_loss")[0].claim == "the least worst loss"
    assert formulas(instance, "total_loss_reduction")[0].claim == "the largest total loss reduction"


def test_only_what_can_train_has_a_variable():
    instance = workers(np.random.default_rng(2))
    (formula,) = formulas(instance, "total_jct")
    assert len(formula.meanings) == int((instance.cost != NEVER).sum()) < instance.cost.size
