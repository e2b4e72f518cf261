"""Preemption instances: every rule of validation, and the score table against the paper in high precision."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from preemption_examples import SCORES, SMALL, small

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED
from mlsched.instances import strategies
from mlsched.instances.preemption import Instance, Plan, generate
from mlsched.instances.preemption.instance import largest_size, sizes

REFUSED = [
    ({"resources": ["cpu", "cpu"]}, "resources: ['cpu', 'cpu'], must not name anything twice"),
    ({"resources": ["cpu"]}, "node_capacity: length of dimension 1 is 2, expected 1 (the number of resources)"),
    ({"node_capacity": [[8, -4], [8, 4]]}, "node_capacity[0][1]: -4, expected >= 0"),
    ({"node_free": [[1, 0]]}, "node_free: length of dimension 0 is 1, expected 2 (the number of nodes)"),
    ({"node_draining": [[0, 0], [0, -1]]}, "node_draining[1][1]: -1, expected >= 0"),
    ({"job_node": [0, 0, 2]}, "job_node[2]: 2, expected below 2 (the number of nodes)"),
    ({"job_node": [0, 0, -1]}, "job_node[2]: -1, expected >= 0"),
    ({"job_node": [0, 0]}, "job_demand: length of dimension 0 is 3, expected 2 (the number of jobs)"),
    ({"job_demand": [[4, 2], [3, 2], [9, 3]]}, "job_demand[2][0]: 9, expected at most the capacity of its node"),
    ({"job_demand": [[4, 2], [3, 2]]}, "job_demand: length of dimension 0 is 2, expected 3 (the number of jobs)"),
    ({"node_free": [[1, 0], [3, 1]]}, "node_free[1][0]: 3, free + draining + running demand must not exceed"),
    ({"node_draining": [[0, 1], [0, 0]]}, "node_free[0][1]: 0, free + draining + running demand must not exceed"),
    ({"job_node": [0, 0, 0]}, "node_free[0][0]: 1, free + draining + running demand must not exceed node_capacity"),
    ({"job_grace": [60, 120]}, "job_grace: length is 2, expected 3 (the number of jobs)"),
    ({"job_grace": [60, 120, -1]}, "job_grace[2]: -1, expected >= 0"),
    ({"job_grace": [60, 120, 0.5]}, "job_grace[2]: 0.5, expected an integer"),
    ({"job_preemptions": [0, 0, -1]}, "job_preemptions[2]: -1, expected >= 0"),
    ({"job_remaining": [1, 2, 3, 4]}, "job_remaining: length is 4, expected 3 (the number of jobs)"),
    ({"te_demand": [[5]]}, "te_demand: length of dimension 1 is 1, expected 2 (the number of resources)"),
    ({"te_demand": [5, 2]}, "te_demand: has 1 dimension(s), expected 2: tes x resources"),
    ({"te_demand": [[5, -2]]}, "te_demand[0][1]: -2, expected >= 0"),
    ({"preemption_limit": -1}, "preemption_limit: -1, expected between 0 and"),
    ({"preemption_limit": UNLIMITED + 1}, f"preemption_limit: {UNLIMITED + 1}, expected between 0 and {UNLIMITED}"),
    ({"grace_weight": 4.0}, "grace_weight: 4.0, expected an integer"),
    ({"grace_weight": 10**9 + 1}, "grace_weight: 1000000001, expected between 0 and 1000000000"),
    ({"max_size": 10**9}, "max_size: 1000000000, expected at least 1060660172, the largest among the listed jobs"),
    ({"max_grace": 119}, "max_grace: 119, expected at least 120, the largest among the listed jobs"),
    (
        {"job_grace": [EXACT // 2, 120, 0]},
        f"max_grace_period can reach {EXACT + 2}, expected below 2^53; lower job_grace",
    ),
    ({"grace_weight": 10**9, "te_demand": [[1, 1]] * 10_000}, "expected below 2^53; lower grace_weight or the jobs"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_each_bad_case_is_refused_by_its_rule(changes, message):
    with pytest.raises(InvalidInput) as caught:
        small(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hand_computed_scores():
    assert small().score.tolist() == SCORES
    assert small(grace_weight=0).score.tolist() == [666_667, 589_256, 1_000_000]
    assert small().scores(1.0).tolist() == [1_166_667, 1_589_256, 1_000_000]


def test_maxima_may_come_from_jobs_that_are_not_listed():
    inst = small(max_size=2 * 1_060_660_172, max_grace=240)
    assert inst.score.tolist() == [1_333_333, 2_294_628, 500_000]


def test_the_maxima_are_filled_in_and_kept_by_replace():
    assert (small().max_size, small().max_grace) == (1_060_660_172, 120)
    assert small().replace(preemption_limit=5).max_size == 1_060_660_172


def test_no_grace_periods_leave_the_size_alone():
    assert small(job_grace=[0, 0, 0]).score.tolist() == [666_667, 589_256, 1_000_000]


def test_a_resource_a_node_does_not_have_adds_nothing_to_the_size():
    assert sizes(np.array([[4, 0]]), np.array([[8, 0]])).tolist() == [0.5]
    assert largest_size(np.zeros((0, 2)), np.zeros((0, 2))) == 0


def test_preemptible_means_below_the_limit():
    assert small(job_preemptions=[0, 1, 2], preemption_limit=2).preemptible.tolist() == [True, True, False]
    assert not small(preemption_limit=0).preemptible.any()


def high_precision(instance: Instance) -> list[mpmath.mpf]:
    """10^6 (Size / max_size + s GP / max_grace): Eqs. 1 and 3 at 50 digits, the maxima being instance data."""
    s = mpmath.mpf(instance.grace_weight) / 1000
    found = []
    for j, node in enumerate(instance.job_node.tolist()):
        pairs = zip(instance.job_demand[j].tolist(), instance.node_capacity[node].tolist(), strict=True)
        size = mpmath.sqrt(sum((mpmath.mpf(d) / c) ** 2 for d, c in pairs if c))
        relative = size * 10**9 / instance.max_size if instance.max_size else mpmath.mpf(0)
        wait = mpmath.mpf(int(instance.job_grace[j])) / instance.max_grace if instance.max_grace else 0
        found.append(10**6 * (relative + s * wait))
    return found


def check_scores(instance: Instance) -> None:
    with mpmath.workdps(50):
        for j, (exact, made) in enumerate(zip(high_precision(instance), instance.score.tolist(), strict=True)):
            tie = abs(exact - mpmath.floor(exact) - mpmath.mpf("0.5"))
            assert made == int(mpmath.nint(exact)) or (tie < 1e-6 and abs(made - exact) <= 0.5 + 1e-6), f"job {j}"


@given(instance=strategies.preemption())
def test_scores_agree_with_the_paper_in_high_precision(instance):
    check_scores(instance)


@pytest.mark.parametrize("seed", range(10))
def test_scores_of_realistic_instances_agree_with_the_paper(seed):
    instance = generate(np.random.default_rng(seed), nodes=10, jobs=40)
    check_scores(instance)
    # Against Eq. 3 itself, whose maximum is not rounded to 1e-9: at most half a millionth and what that rounding makes.
    with mpmath.workdps(50):
        exact = high_precision(instance)
        largest = max(
            mpmath.mpf(int(np.ceil(1e9 * s)))
            for s in sizes(instance.job_demand, instance.node_capacity[instance.job_node])
        )
        assert largest == instance.max_size
        assert all(abs(a - b) <= 0.501 for a, b in zip(exact, instance.score.tolist(), strict=True))


@pytest.mark.parametrize(
    ("nodes", "jobs", "tes", "resources"),
    [(0, 0, 1, 2), (0, 0, 0, 0), (1, 0, 1, 2), (1, 2, 0, 2), (2, 2, 2, 0), (1, 2, 1, 1)],
)
def test_empty_dimensions_are_instances_too(nodes, jobs, tes, resources):
    inst = Instance(
        resources=list("abc")[:resources],
        node_capacity=np.full((nodes, resources), 5),
        node_free=np.ones((nodes, resources), dtype=int),
        node_draining=np.zeros((nodes, resources), dtype=int),
        job_node=[0] * jobs,
        job_demand=np.ones((jobs, resources), dtype=int),
        job_grace=[1] * jobs,
        job_preemptions=[0] * jobs,
        job_remaining=[1] * jobs,
        te_demand=np.full((tes, resources), 2),
    )
    assert Instance.from_json(inst.to_json()) == inst


def test_plans_are_validated():
    assert Plan(te_node=[-1, 3], victims=[2]).victims.tolist() == [2]
    with pytest.raises(InvalidInput, match="te_node\\[0\\]: -2, expected >= -1"):
        Plan(te_node=[-2], victims=[])
    with pytest.raises(InvalidInput, match="victims\\[1\\]: -1, expected >= 0"):
        Plan(te_node=[], victims=[0, -1])


def test_the_example_is_what_its_docstring_says():
    assert set(SMALL) <= set(small().to_json())
