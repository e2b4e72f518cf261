"""The Hypothesis strategy: within its limits, and adversarial enough to meet every special case."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from mlsched import api
from mlsched.instances import strategies
from mlsched.instances.workers import PROBLEM


@given(instance=strategies.workers(jobs=2, workers=2, ps=1, resources=2, amount=4))
def test_limits_are_kept(instance):
    assert len(instance.waiting) <= 2
    assert instance.cost.shape[1] <= 2
    assert instance.cost.shape[2] == 1
    assert len(instance.capacity) <= 2
    assert instance.capacity.max() <= 4


def optimum(instance):
    return api.solve(instance, "brute-force").plan


CASES = sorted(PROBLEM.cases(api.generate("workers", "small"), optimum(api.generate("workers", "small"))))
SEARCH = settings(
    max_examples=2000, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("case", CASES)
def test_every_special_case_occurs(case):
    find(strategies.workers(), lambda i: PROBLEM.cases(i, optimum(i))[case], settings=SEARCH)


@pytest.mark.parametrize("number", range(3))
def test_every_resource_binds_somewhere(number):
    def binds(instance) -> bool:
        name = f"resource-{number}"
        relaxed = PROBLEM.relaxations(instance)
        return name in relaxed and api.solve(relaxed[name], "dp").sort_key < api.solve(instance, "dp").sort_key

    find(strategies.workers(), binds, settings=SEARCH)
