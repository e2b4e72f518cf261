"""Verdicts on decisions, and what it would take to start a job."""

from __future__ import annotations

import re

import numpy as np
import pytest
from admission_examples import incidents, needs_incidents, one_node, plan_of
from draws import draws

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.judge import base_values
from mlsched_admission.solvers.verdicts import judge_decision, what_it_takes

STARTED = {"start": [0], "place": [[1]]}


def test_two_for_one_is_on_the_front_where_they_lose_less():
    verdict = judge_decision(one_node(), [0, 1])
    assert (verdict.kind, verdict.complete, verdict.jobs) == ("on the front", True, (0,))
    assert [p.values["victims"] for p in verdict.front] == [1, 2]
    assert verdict.witness.plan.place.tolist() == [[1]]


def test_one_that_loses_more_than_another_is_dominated():
    instance = one_node(pod_demand=[[4], [2], [4]], node_free=[[0]])
    verdict = judge_decision(instance, [2])
    assert verdict.kind == "dominated"
    assert verdict.witness.values == {**verdict.values, "lost": 10}
    assert "evicting unit 0 costs 1 instead of 1 victims, 10 instead of 90 lost work" in verdict.sentence


def test_a_needless_victim_is_named():
    verdict = judge_decision(one_node(), [0, 1, 2])
    assert verdict.kind == "needless"
    assert verdict.needless == (0, 1)
    assert verdict.sentence == "units 0 and 1 need not be evicted: the other 1 suffice"


def test_a_job_that_finds_no_room_does_not_start():
    verdict = judge_decision(one_node(), [0])
    assert (verdict.kind, verdict.starts) == ("does not start", False)
    assert "no node can free more than 2 gpu (of 4)" in verdict.proof
    assert judge_decision(one_node(), plan_of(one_node(), [0], **STARTED)).kind == "does not start"


def test_who_may_not_be_evicted_is_named():
    verdict = judge_decision(one_node(may=[[1, 1, 0]]), [2])
    assert verdict.kind == "ineligible"
    assert verdict.ineligible == ((2, "no job that starts may evict it"),)


def test_waiting_is_dominated_where_the_job_could_start():
    assert judge_decision(one_node(), []).kind == "dominated"
    assert judge_decision(one_node(may=[[0, 0, 0]]), []).sentence == "on the front: nothing can start"


def test_a_higher_priority_than_must_be_is_dominated_whatever_it_costs():
    instance = one_node(unit_priority=[0, 0, 1])
    verdict = judge_decision(instance, [2])
    assert verdict.kind == "dominated"
    assert verdict.sentence.startswith("dominated: it evicts priority 1, and none above priority 0 must go")
    assert judge_decision(instance, [2], first=()).kind == "on the front"
    without_first = judge_decision(instance, [2], first=None)
    assert (without_first.kind, without_first.first) == ("on the front", ())


def test_what_cannot_be_asked_is_a_line():
    with pytest.raises(InvalidInput, match="decision: 7: expected at least 0 and below 3"):
        judge_decision(one_node(), [7])
    with pytest.raises(InvalidInput, match=r"first: \['lost'\], expected \['top_priority'\] or \[\]"):
        judge_decision(one_node(), [0], first=("lost",))
    with pytest.raises(InvalidInput, match="objectives: expected two or more"):
        judge_decision(one_node(), [0], objectives=("lost",))


def test_a_needless_victim_added_to_an_optimal_decision_is_found():
    found, seed = 0, 0
    while found < draws(10, 1000):
        instance = api.generate("admission", "small", seed=seed, movable=0.0, jobs=1)
        rng = np.random.default_rng(seed)
        seed += 1
        plan = api.solve(instance, "cp-sat", objective="victims").plan
        others = [
            u
            for u in np.flatnonzero((instance.may[0] > 0) & (plan.evict == 0))
            if instance.group_min[instance.unit_group[u]] == 1
        ]
        if not plan.start.all() or not others:
            continue
        extra = int(rng.choice(others))
        evict = [*np.flatnonzero(plan.evict).tolist(), extra]
        verdict = judge_decision(instance, evict)
        if verdict.kind == "ineligible":
            continue  # the gang that it is of falls below its minimum
        assert verdict.kind == "needless", (seed, verdict)
        assert len(verdict.needless) >= 1
        kept = [u for u in evict if u not in verdict.needless]
        assert judge_decision(instance, kept).kind != "needless"
        found += 1


@needs_incidents
def test_verdicts_and_needs_of_the_incidents():
    cases = {name: instance for name, instance, _ in incidents()}
    stuck = what_it_takes(cases["kueue-5243"])
    assert stuck.cannot == "job 0: no node can free more than 2 gpu (of 8) by allowed evictions"
    assert [change.nodes for change in stuck.changes] == [{0: 1}]
    assert what_it_takes(cases["kueue-5243, one more node"]).starts_now
    sentences = [change.sentence for change in what_it_takes(cases["volcano-3948"]).changes]
    more, moved = sorted(sentences)
    assert more == "1 more node like node 0"
    assert re.fullmatch(r"move units \d and \d", moved)
    assert [c.limits for c in what_it_takes(cases["slurm-210"]).changes] == [{0: 8}]
    assert judge_decision(cases["volcano-5984"], range(10)).kind == "needless"
    eleven = judge_decision(cases["spur-888"], range(11))
    assert eleven.kind == "does not start"
    assert judge_decision(cases["spur-888"], range(11), jobs=[0]).kind == "needless"
    took = judge_decision(cases["k8s-128307"], [0, 1])
    assert took.kind in ("needless", "dominated")
    for name, instance in cases.items():
        needs = what_it_takes(instance)
        assert needs.complete, name
        assert needs.starts_now or needs.changes or needs.cannot, name


def test_what_it_takes_says_each_kind_of_change():
    instance = one_node(
        shape_count=[2], may=[[0, 0, 0]], unit_ends=[100, 50, -1], quota_parent=[-1], quota_nominal=[[10]],
        quota_used=[[8]], job_queue=[0], job_use=[[6]], unit_queue=[0, 0, 0], unit_use=[[2], [2], [4]],
        node_names=["n1"], queue_names=["team"], flavor_names=["gpu"], unit_names=["a", "b", "c"],
    )  # fmt: skip
    needs = what_it_takes(instance)
    assert not needs.starts_now
    assert needs.complete
    found = {change.sentence for change in needs.changes}
    assert "1 more node like n1; 4 more nominal quota of flavor gpu for queue team" in found
    assert "1 pod fewer; wait 2 min until units a and b end" in found
    for change in needs.changes:
        fields = (change.nodes, change.quota, change.fewer_pods, change.wait)
        assert any(fields)


def test_changes_do_what_they_say():
    """A node more, as the sentence says, and the job starts with nobody evicted; with one less it does not."""
    for seed in range(draws(5, 100)):
        instance = api.generate("admission", "one-job", seed=seed, movable=0.0)
        needs = what_it_takes(instance, time_limit=30)
        for change in needs.changes:
            if change.nodes and not (change.fewer_pods or change.moves or change.wait):
                for less in (0, 1):
                    more = [n for n, count in change.nodes.items() for _ in range(count)][less:]
                    best = api.solve(grown(instance, more), "cp-sat").plan
                    assert best.start.all() == (less == 0), (seed, change)


def grown(instance, like):
    """The instance with more nodes, empty ones, and nobody may be evicted or moved."""
    capacity = instance.node_free + instance.node_draining
    np.add.at(capacity, instance.pod_node, instance.pod_demand)
    return instance.replace(
        node_free=np.vstack([instance.node_free, capacity[like]]),
        node_draining=np.vstack([instance.node_draining, 0 * capacity[like]]),
        node_domain=np.hstack([instance.node_domain, instance.node_domain[:, like]]),
        shape_nodes=np.hstack([instance.shape_nodes, instance.shape_nodes[:, like]]),
        node_sets=np.hstack([instance.node_sets, instance.node_sets[:, like]]),
        may=0 * instance.may,
        unit_movable=0 * instance.unit_movable,
    )


def test_points_of_the_front_are_judged():
    instance = api.generate("admission", "surge", seed=3)
    verdict = judge_decision(instance, api.solve(instance, "kueue").plan)
    assert verdict.front
    for point in verdict.front:
        assert instance.violations(point.plan) == []
        assert base_values(instance, point.plan) == point.values
