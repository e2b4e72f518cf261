"""The Hypothesis strategy: within its limits, and adversarial enough to meet every special case."""

from __future__ import annotations

import pytest
from draws import never_met
from hypothesis import given

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


def test_every_special_case_occurs():
    names = set(PROBLEM.cases(api.generate("preemption"), optimum(api.generate("preemption"))))
    assert len(names) > 5
    assert never_met(strategies.preemption(), lambda i: PROBLEM.cases(i, optimum(i)), names) == set()


def test_every_constraint_binds_somewhere():
    def binding(instance) -> dict[str, bool]:
        def value(question) -> float:
            return instance.evaluate(optimum(question))["total_score"]

        best = value(instance)
        return {name: value(relaxed) < best for name, relaxed in PROBLEM.relaxations(instance).items()}

    constraints = {"preemption limit", "capacity of cpu", "capacity of ram", "capacity of gpu"}
    assert never_met(strategies.preemption(), binding, constraints) == set()


def test_strategies_are_found_by_the_name_of_the_problem():
    assert "preemption" in dir(strategies)
    with pytest.raises(AttributeError, match=r"no problem 'chess'; there are .*preemption"):
        strategies.chess  # noqa: B018
