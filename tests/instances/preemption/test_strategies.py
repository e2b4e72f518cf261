"""The Hypothesis strategy: within its limits, and adversarial enough to meet every special case."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from mlsched import api
from mlsched.instances import strategies
from mlsched.instances.preemption import PROBLEM


@given(instance=strategies.preemption(nodes=2, jobs=3, tes=1))
def test_limits_are_kept(instance):
    assert len(instance.node_capacity) <= 2
    assert len(instance.job_node) <= 3
    assert len(instance.te_demand) == 1


def optimum(instance):
    return api.solve(instance, "brute-force").plan


CASES = sorted(PROBLEM.cases(api.generate("preemption"), optimum(api.generate("preemption"))))
SEARCH = settings(
    max_examples=2000, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("case", CASES)
def test_every_special_case_occurs(case):
    found = find(strategies.preemption(), lambda i: PROBLEM.cases(i, optimum(i))[case], settings=SEARCH)
    assert PROBLEM.cases(found, optimum(found))[case]


@pytest.mark.parametrize("constraint", ["preemption limit", "capacity of cpu", "capacity of ram", "capacity of gpu"])
def test_every_constraint_binds_somewhere(constraint):
    def binds(instance) -> bool:
        relaxed = PROBLEM.relaxations(instance).get(constraint)
        if relaxed is None:
            return False
        value = instance.evaluate(optimum(relaxed))["total_score"]
        return value < instance.evaluate(optimum(instance))["total_score"]

    found = find(strategies.preemption(), binds, settings=SEARCH)
    assert binds(found)


def test_strategies_are_found_by_the_name_of_the_problem():
    assert "preemption" in dir(strategies)
    with pytest.raises(AttributeError, match=r"unknown problem 'chess'; there are .*preemption"):
        strategies.chess  # noqa: B018
