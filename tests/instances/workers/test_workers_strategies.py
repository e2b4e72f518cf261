"""The Hypothesis strategy: within its limits, and adversarial enough to meet every special case."""

from __future__ import annotations

from draws import never_met
from hypothesis import given

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


RESOURCES = ("resource-0", "resource-1", "resource-2")


def optimum(instance):
    return api.solve(instance, "brute-force").plan


def test_every_special_case_occurs():
    names = set(PROBLEM.cases(api.generate("workers", "small"), optimum(api.generate("workers", "small"))))
    assert len(names) > 5
    assert never_met(strategies.workers(), lambda i: PROBLEM.cases(i, optimum(i)), names) == set()


def test_every_resource_binds_somewhere():
    def binding(instance) -> dict[str, bool]:
        best = api.solve(instance, "dp").value
        relaxed = PROBLEM.relaxations(instance)
        return {name: api.solve(relaxed[name], "dp").value < best for name in RESOURCES if name in relaxed}

    assert never_met(strategies.workers(), binding, set(RESOURCES)) == set()
