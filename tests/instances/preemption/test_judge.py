"""The judge: optima known by hand, the sentence for every violation, D."""

from __future__ import annotations

import pytest
from preemption_examples import SCORES, WAITING, row, small

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.preemption import Plan, generate

NAMES = ["total_score", "victim_count", "max_grace_period"]
#: (changes to the example, optimal value of each objective), worked out by hand from the docstring of the example.
OPTIMA = [
    ({}, [SCORES[2], 1, 0]),
    ({"job_preemptions": [0, 0, 1]}, [SCORES[0], 1, 60]),
    ({"te_demand": [[5, 2], [5, 2]]}, [SCORES[0] + SCORES[2], 2, 60]),
    ({"te_demand": [[5, 2]] * 3}, [8_255_924 + SCORES[0] + SCORES[2], 4 + 2, 121 + 60]),
    ({"te_demand": [[8, 4]]}, [SCORES[2], 1, 0]),
    ({"te_demand": [[8, 4]], "job_preemptions": [0, 0, 1]}, [SCORES[0] + SCORES[1], 2, 120]),
    ({"te_demand": [[9, 1]]}, [8_255_924, 4, 121]),
    ({"te_demand": [[2, 1]]}, [0, 0, 0]),
    ({"te_demand": [[1, 0], [2, 1]]}, [0, 0, 0]),
    ({"te_demand": [[0, 0]]}, [0, 0, 0]),
    ({"te_demand": [[4, 2], [4, 2]]}, [SCORES[2], 1, 0]),
    ({"preemption_limit": 0}, [1, 1, 1]),
    ({"node_capacity": [[8, 4], [12, 8]], "node_draining": [[0, 0], [3, 1]]}, [0, 0, 0]),
]


@pytest.mark.parametrize(("changes", "values"), OPTIMA, ids=range(len(OPTIMA)))
@pytest.mark.parametrize("solver", ["brute-force", "cp-sat", "highs"])
def test_optima_worked_out_by_hand(solver, changes, values):
    inst = small(**changes)
    assert [api.solve(inst, solver, objective=name).sort_key for name in NAMES] == values


def test_three_small_victims_or_one_that_is_slow():
    # One resource, two equal nodes with jobs of 1, 1, 1 and 3; a TE job needs 3. Sizes are 1/3, 1/3, 1/3 and 1.
    inst = row([1, 1, 1, 3], [3], grace=[0, 0, 0, 60, 10, 10, 10, 60])
    best = {name: api.solve(inst, "cp-sat", objective=name) for name in NAMES}
    assert best["max_grace_period"].sort_key == 0
    assert best["max_grace_period"].plan.victims.tolist() == [0, 1, 2]
    assert best["victim_count"].sort_key == 1
    assert best["total_score"].sort_key == 3 * 333_333, "three thirds beat 1 + 4"


VIOLATIONS = [
    ([0], [0], []),
    ([-1], [], []),
    ([1], [2], []),
    ([1], [0, 2], []),
    ([0, 0], [], ["te_node has 2 entries, expected 1, one for each TE job"]),
    ([], [], ["te_node has 0 entries, expected 1, one for each TE job"]),
    ([2], [], ["TE job 0 is placed on node 2: there are 2"]),
    ([0], [0, 3], ["victim 3 does not exist: there are 3 BE jobs"]),
    ([0], [0, 0], ["BE job 0 is listed as a victim twice"]),
    ([0], [0, 1, 1], ["BE job 1 is listed as a victim twice"]),
    ([0], [1], ["node 0: its TE jobs need 5 cpu, free and released are 4"]),
    (
        [0],
        [2],
        [
            "node 0: its TE jobs need 5 cpu, free and released are 1",
            "node 0: its TE jobs need 2 gpu, free and released are 0",
        ],
    ),
    (
        [1],
        [],
        [
            "node 1: its TE jobs need 5 cpu, free and released are 2",
            "node 1: its TE jobs need 2 gpu, free and released are 1",
        ],
    ),
]


@pytest.mark.parametrize(("te_node", "victims", "sentences"), VIOLATIONS)
def test_each_violation_has_its_sentence(te_node, victims, sentences):
    assert small().violations(Plan(te_node=te_node, victims=victims)) == sentences


def test_a_victim_at_the_limit_is_a_violation_even_where_nothing_else_is_wrong():
    inst = small(job_preemptions=[0, 0, 3], preemption_limit=3)
    assert inst.violations(Plan(te_node=[1], victims=[2])) == ["victim 2 has been preempted 3 times: the limit is 3"]
    assert inst.replace(preemption_limit=4).violations(Plan(te_node=[1], victims=[2])) == []


def test_te_jobs_on_one_node_share_it():
    inst = small(te_demand=[[5, 2], [4, 2]])
    assert inst.violations(Plan(te_node=[1, 1], victims=[2])) == [
        "node 1: its TE jobs need 9 cpu, free and released are 8"
    ]


def test_draining_resources_count():
    inst = small(node_capacity=[[8, 4], [11, 5]], node_draining=[[0, 0], [3, 1]])
    assert inst.violations(Plan(te_node=[1], victims=[])) == []


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (None, "a NoneType"),
        (3, "an int"),
        ("plan", "a str"),
        ([0], "a list"),
        ({"te_node": [0], "victims": []}, "a dict"),
    ],
)
def test_anything_but_a_plan_is_one_violation(answer, named):
    assert small().violations(answer) == [f"the answer is {named}, expected a preemption.plan"]


def test_values_by_hand():
    inst = small(te_demand=[[5, 2], [5, 2], [9, 9]])
    values = inst.evaluate(Plan(te_node=[-1, 0, -1], victims=[0, 1]))
    assert values == {
        "total_score": SCORES[0] + SCORES[1] + 2 * WAITING["total_score"],
        "victim_count": 2 + 2 * WAITING["victim_count"],
        "max_grace_period": 120 + 2 * WAITING["max_grace_period"],
    }


def test_a_plan_that_is_not_well_formed_has_no_value():
    with pytest.raises(InvalidInput, match="the plan cannot be evaluated: BE job 0 is listed as a victim twice"):
        small().evaluate(Plan(te_node=[0], victims=[0, 0]))


def test_waiting_costs_one_more_than_all_candidates_together():
    inst = small(job_preemptions=[0, 0, 1])
    nothing = Plan(te_node=[-1], victims=[])
    assert inst.evaluate(nothing) == {
        "total_score": 1 + SCORES[0] + SCORES[1],
        "victim_count": 3,
        "max_grace_period": 121,
    }


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_that_defers_fewer_is_always_better(seed):
    import numpy as np

    inst = generate(np.random.default_rng(seed), tes=3)
    candidates = np.flatnonzero(inst.preemptible).tolist()
    worst_with_one = inst.evaluate(Plan(te_node=[-1, 0, 0], victims=candidates))
    best_with_two = inst.evaluate(Plan(te_node=[-1, -1, 0], victims=[]))
    assert all(worst_with_one[name] < best_with_two[name] for name in NAMES)


def test_the_order_of_victims_does_not_matter():
    inst = small()
    one, other = Plan(te_node=[0], victims=[0, 1]), Plan(te_node=[0], victims=[1, 0])
    assert inst.violations(other) == []
    assert inst.evaluate(one) == inst.evaluate(other)
