"""The judge: each violation has its sentence, and values agree with what was worked out by hand."""

from __future__ import annotations

import pytest
from workers_examples import small

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT
from mlsched.instances.workers import NEVER, Plan
from mlsched.instances.workers.judge import CANNOT

VALUES = [
    ([0, 0], [0, 0], 500),
    ([1, 1], [1, 1], 190),
    ([1, 2], [2, 1], 130),
    ([2, 0], [2, 0], 240),
    ([0, 2], [0, 1], 350),
]


@pytest.mark.parametrize(("workers", "ps", "value"), VALUES)
def test_values_worked_out_by_hand(workers, ps, value):
    inst, plan = small(), Plan(workers=workers, ps=ps)
    assert inst.violations(plan) == []
    assert inst.evaluate(plan) == {"total_jct": value}


VIOLATIONS = [
    ([1, 0], [0, 0], ["job 0 has 1 workers and 0 PSs, expected at least one of each, or neither"]),
    ([1, 0], [1, 2], ["job 1 has 0 workers and 2 PSs, expected at least one of each, or neither"]),
    ([3, 0], [1, 0], ["job 0 has 3 workers and 1 PSs: its table ends at 2 and 2"]),
    ([1, 0], [3, 0], ["job 0 has 1 workers and 3 PSs: its table ends at 2 and 2"]),
    ([0, 2], [0, 2], ["job 1 has 2 workers and 2 PSs: it cannot train with so many"]),
    ([2, 2], [1, 1], ["the jobs need 4 gpu: the capacity is 3", "the jobs need 9 cpu: the capacity is 8"]),
    ([2, 1], [2, 1], ["the jobs need 9 cpu: the capacity is 8"]),
    ([1], [1, 1], ["workers has 1 entries, expected 2, one for each job"]),
    ([1, 1, 1], [1, 1, 1], ["workers has 3 entries, expected 2, one for each job"]),
]


@pytest.mark.parametrize(("workers", "ps", "sentences"), VIOLATIONS)
def test_each_violation_has_its_sentence(workers, ps, sentences):
    # The lengths of a plan's two arrays must agree with each other before the judge sees them.
    if len(workers) != len(ps):
        with pytest.raises(InvalidInput, match="ps: length is 2, expected 1"):
            Plan(workers=workers, ps=ps)
        return
    assert small().violations(Plan(workers=workers, ps=ps)) == sentences


@pytest.mark.parametrize(
    ("answer", "named"), [(None, "a NoneType"), (3, "an int"), ("plan", "a str"), ({"workers": [], "ps": []}, "a dict")]
)
def test_anything_but_a_plan_is_one_violation(answer, named):
    assert small().violations(answer) == [f"the answer is {named}, expected a workers.plan"]


def test_a_plan_that_is_not_well_formed_has_no_value():
    with pytest.raises(InvalidInput, match="the plan cannot be evaluated: job 1 has 2 workers and 2 PSs"):
        small().evaluate(Plan(workers=[0, 2], ps=[0, 2]))


def test_the_judge_and_the_instance_mean_the_same_by_never():
    assert CANNOT == NEVER == EXACT
