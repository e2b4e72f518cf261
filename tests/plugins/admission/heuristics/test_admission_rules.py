"""What the systems' rules promise, and Kueue's own answers."""

from __future__ import annotations

import numpy as np
from admission_examples import kueue_questions, needs_kueue, one_node
from draws import share

from mlsched import api


def victims(instance, rule):
    return np.flatnonzero(api.solve(instance, rule).plan.evict).tolist()


@needs_kueue
def test_kueue_answers_as_kueue_does():
    questions = kueue_questions()
    for number in share(range(len(questions)), 2):
        instance, expected = questions[number]
        plan = api.solve(instance, "kueue").plan
        assert sorted(instance.unit_names[u] for u in np.flatnonzero(plan.evict)) == sorted(expected), number
    assert len(questions) == 100
    assert sum(bool(expected) for _, expected in questions) > 90


def test_strict_order_never_finds_the_one_victim_that_would_do():
    """slurm.conf(5) says that it does with enough attempts: jobs of 2, 2 and 4 GPUs, 4 wanted."""
    for attempts in (0, 1, 5, 1000):
        assert victims(one_node(), f"slurm:strict_order=true,reorder_count={attempts}") == [0, 1]
    assert api.solve(one_node(), "cp-sat").sort_key == 1


def test_slurm_takes_the_youngest_first_where_it_is_told_so():
    assert victims(one_node(unit_age=[9, 9, 1]), "slurm:youngest_first=true") == [2]


def test_kube_takes_the_node_whose_victims_matter_less():
    fields = {
        "node_free": [[0], [0]], "pod_node": [0, 1, 1], "pod_demand": [[4], [2], [2]], "shape_nodes": [[1, 1]],
    }  # fmt: skip
    assert victims(one_node(unit_priority=[5, 1, 2], **fields), "kube") == [1, 2], "lowest highest priority"
    assert victims(one_node(unit_priority=[2, 1, 2], **fields), "kube") == [0], "smallest sum"
    budget = {"budget_left": [0], "pod_budget": [[0, 1, 0]]}
    assert victims(one_node(unit_priority=[5, 1, 2], **fields, **budget), "kube") == [0], "budgets first"


def test_kube_puts_the_most_important_back():
    assert victims(one_node(unit_priority=[0, 1, 2]), "kube") == [0, 1]
    assert victims(one_node(unit_priority=[2, 2, 0]), "kube") == [2]


def test_kep_5710_reprieves_the_most_important_first():
    assert victims(one_node(unit_priority=[0, 1, 2]), "kep-5710") == [0, 1]
    assert victims(one_node(unit_age=[1, 1, 0]), "kep-5710") == [2]


def test_kai_moves_before_it_evicts():
    instance = one_node(
        node_free=[[2], [2]], pod_node=[0, 0, 1], pod_demand=[[2], [4], [6]], shape_nodes=[[1, 1]],
        unit_movable=[1, 0, 0],
    )  # fmt: skip
    plan = api.solve(instance, "kai").plan
    assert plan.evict.sum() == 0
    assert plan.move.tolist() == [1, -1, -1]
    assert api.solve(instance, "kai:consolidate=false").plan.evict.sum() == 1


def test_kai_reclaims_from_a_queue_above_its_quota():
    quotas = {
        "quota_parent": [-1, 0, 0], "quota_nominal": [[0], [4], [4]], "quota_used": [[0], [8], [0]],
        "unit_queue": [1, 1, 1], "unit_use": [[2], [2], [4]], "job_queue": [2], "job_use": [[4]],
    }  # fmt: skip
    assert victims(one_node(**quotas), "kai") == [0, 1] or victims(one_node(**quotas), "kai") == [2]


def test_kueue_leaves_a_queue_alone_that_does_not_exceed_its_quota():
    quotas = {
        "quota_parent": [-1, 0, 0], "quota_nominal": [[0], [8], [0]], "quota_used": [[0], [8], [0]],
        "unit_queue": [1, 1, 1], "unit_use": [[2], [2], [4]], "job_queue": [2], "job_use": [[4]], "above_nominal": 1,
    }  # fmt: skip
    assert victims(one_node(**quotas), "kueue") == []
    quotas["quota_nominal"] = [[0], [4], [4]]
    assert victims(one_node(**quotas), "kueue") == [0, 1], "the order in which they are listed"
