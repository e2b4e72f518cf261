"""The Hypothesis strategy: within its limits, and adversarial enough to meet every special case."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from mlsched import api
from mlsched.instances import strategies
from mlsched.instances.quality import PROBLEM


@given(instance=strategies.quality(jobs=2, cores=5))
def test_limits_are_kept(instance):
    assert len(instance.most) <= 2
    assert instance.cores <= 5


def optimum(instance):
    return api.solve(instance, "brute-force").plan


CASES = sorted(PROBLEM.cases(api.generate("quality"), optimum(api.generate("quality"))))
SEARCH = settings(
    max_examples=2000, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("case", CASES)
def test_every_special_case_occurs(case):
    find(strategies.quality(), lambda i: PROBLEM.cases(i, optimum(i))[case], settings=SEARCH)


@pytest.mark.parametrize("objective", ["total_loss_reduction", "worst_loss"])
@pytest.mark.parametrize("constraint", ["core caps", "reservation", "least", "capacity"])
def test_every_constraint_binds_somewhere(constraint, objective):
    def binds(instance) -> bool:
        relaxed = PROBLEM.relaxations(instance)[constraint]
        return (
            api.solve(relaxed, "dp", objective=objective).sort_key
            != api.solve(instance, "dp", objective=objective).sort_key
        )

    find(strategies.quality(), binds, settings=SEARCH)
