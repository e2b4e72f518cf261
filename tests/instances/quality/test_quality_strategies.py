"""The Hypothesis strategy: within its limits, and adversarial enough to meet every special case."""

from __future__ import annotations

import pytest
from draws import never_met
from hypothesis import given

from mlsched import api
from mlsched.instances import strategies
from mlsched.instances.quality import PROBLEM


@given(instance=strategies.quality(jobs=2, cores=5))
def test_limits_are_kept(instance):
    assert len(instance.most) <= 2
    assert instance.cores <= 5


def optimum(instance):
    return api.solve(instance, "brute-force").plan


def test_every_special_case_occurs():
    names = set(PROBLEM.cases(api.generate("quality"), optimum(api.generate("quality"))))
    assert len(names) > 5
    assert never_met(strategies.quality(), lambda i: PROBLEM.cases(i, optimum(i)), names) == set()


@pytest.mark.parametrize("objective", ["total_loss_reduction", "worst_loss"])
def test_every_constraint_binds_somewhere(objective):
    def value(instance) -> float:
        return api.solve(instance, "dp", objective=objective).value

    def binding(instance) -> dict[str, bool]:
        best = value(instance)
        return {name: value(relaxed) != best for name, relaxed in PROBLEM.relaxations(instance).items()}

    constraints = {"core caps", "reservation", "least", "capacity"}
    assert never_met(strategies.quality(), binding, constraints) == set()
