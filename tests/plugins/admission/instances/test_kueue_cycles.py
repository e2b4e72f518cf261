"""Kueue's program on small states that one decides by hand: orders, attempts, shares, placements and cycles."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kueue_examples import kueue_state, manager, pod_set, workload
from state_examples import listed

from mlsched_admission.instances.states import documents, objects
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.systems.kueue import cycle
from mlsched_admission.instances.systems.kueue.config import parse_yaml, read_config
from mlsched_admission.instances.systems.kueue.reading import read_snapshot
from mlsched_admission.instances.systems.kueue.tree import Node

FR = ("f", "cpu")
API = "kueue.x-k8s.io/v1beta2"


def snapshot(*made):
    found = objects.objects_by_kind(
        [documents.Document("kubernetes", "x", Entry(document, "x")) for one in made for document in one.values()]
    )
    return read_snapshot(found)


def test_a_cycle_leaves_the_snapshot_as_it_was():
    state = snapshot(kueue_state())
    before = {name: dict(queue.node.usage) for name, queue in state.queues.items()}
    made = cycle.run(state)
    assert made.why == {"team-a/urgent": "preempts"}
    assert {name: dict(queue.node.usage) for name, queue in state.queues.items()} == before
    assert all(name in state.queues[one.queue].running for name, one in state.running.items())


def test_heads_come_one_per_queue_by_priority_then_age():
    documents_ = kueue_state()
    later = workload("later", "team-a", API, 100, [pod_set(1, 2)])
    later["metadata"]["creationTimestamp"] = "2026-11-24T11:45:00Z"
    documents_["workloads.json"]["items"].append(later)
    made = cycle.run(snapshot(documents_))
    assert made.order == ["team-a/urgent"]
    assert made.why["team-a/later"] == "behind"


@pytest.mark.parametrize(
    ("strategy", "first", "later"),
    [
        ("BestEffortFIFO", "no fit", {"team-a/small": "starts", "team-a/more": "no candidates"}),
        ("StrictFIFO", "no fit", {}),
    ],
)
def test_a_head_that_does_not_fit_is_set_aside_unless_its_queue_is_strict(strategy, first, later):
    """The head asks for more than there ever is; one GPU behind it fits, and then no other one is left."""
    documents_ = kueue_state(waiting=pod_set(100, 8))
    queue = documents_["queues.json"]["items"][0]["spec"]
    queue |= {"queueingStrategy": strategy, "cohortName": "", "preemption": {}}
    items = documents_["workloads.json"]["items"]
    items += [
        workload(name, "team-a", API, priority, [pod_set(1, 2)]) for name, priority in (("small", 9), ("more", 8))
    ]
    state = snapshot(documents_)
    before = {name: dict(one.node.usage) for name, one in state.queues.items()}
    made = cycle.run(state)
    assert made.why == {"team-a/urgent": first, "team-a/small": "behind", "team-a/more": "behind"}
    assert cycle.outcomes_behind_heads(state, made) == later
    assert {name: dict(one.node.usage) for name, one in state.queues.items()} == before


def test_a_workload_that_asks_for_more_than_there_ever_is_does_not_fit():
    made = cycle.run(snapshot(kueue_state(waiting=pod_set(100, 8))))
    assert made.why == {"team-a/urgent": "no fit"}


def test_a_request_above_its_own_limit_is_not_admissible():
    waiting = pod_set(1, 2)
    waiting["template"]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    made = cycle.run(snapshot(kueue_state(waiting=waiting)))
    assert made.why == {"team-a/urgent": "inadmissible"}
    assert "its own limit" in made.reasons["team-a/urgent"]


def only(made):
    (reason,) = made.reasons.values()
    return made.why, reason


def test_a_queue_without_selector_matches_no_namespace_if_others_have_one():
    documents_ = kueue_state()
    documents_["queues.json"]["items"][1]["spec"]["namespaceSelector"] = {}
    why, reason = only(cycle.run(snapshot(documents_)))
    assert why == {"team-a/urgent": "inadmissible"}
    assert "no namespaceSelector" in reason


def test_a_queue_of_a_flavor_without_its_topology_is_inactive():
    documents_ = kueue_state(topology=True)
    items = documents_["queues.json"]["items"]
    next(one for one in items if one["kind"] == "ResourceFlavor")["spec"]["topologyName"] = "gone"
    why, reason = only(cycle.run(snapshot(documents_)))
    assert why == {"team-a/urgent": "inadmissible"}
    assert reason.endswith("gone does not exist")


def test_a_podset_without_pods_asks_for_nothing():
    waiting = pod_set(2, 2)
    waiting["template"]["spec"]["containers"][0]["resources"]["requests"]["odd.example/thing"] = "1"
    documents_ = kueue_state(waiting=waiting)
    assert cycle.run(snapshot(documents_)).why == {"team-a/urgent": "no fit"}
    urgent = documents_["workloads.json"]["items"][-1]
    urgent["status"]["reclaimablePods"] = [{"name": "main", "count": 2}]
    assert cycle.run(snapshot(documents_)).why == {"team-a/urgent": "starts"}


def test_fair_sharing_takes_from_whoever_borrows_most():
    documents_ = kueue_state()
    documents_["config.json"] = manager("fairSharing: {}\n")
    state = snapshot(documents_)
    assert state.config.fair
    assert cycle.run(state).why == {"team-a/urgent": "preempts"}


@pytest.mark.parametrize("level", ["rack", "kubernetes.io/hostname"])
def test_pods_of_a_required_level_share_a_domain(level):
    documents_ = kueue_state(topology=True, waiting=pod_set(1, 2, topologyRequest={"required": level}))
    state = snapshot(documents_)
    waits = state.waiting["team-a/urgent"]
    made = cycle.nominate(state, waits).assignment
    placed = state.forest.find_placement(made.units, empty=True)
    assert len({values[0] for values, _ in placed["main"]}) == 1


@given(
    free=st.lists(st.integers(0, 4), min_size=4, max_size=4),
    count=st.integers(1, 10),
    request=st.sampled_from([{"required": "rack"}, {"required": "kubernetes.io/hostname"}, {"preferred": "rack"}, {}]),
)
def test_what_is_placeable_is_what_finds_a_place(free, count, request):
    """One podset is counted by domains instead of placed; workloads come and go."""
    documents_ = kueue_state(
        topology=True, waiting=pod_set(count, 2, topologyRequest=request or {"unconstrained": True})
    )
    state = snapshot(documents_)
    units = cycle.nominate(state, state.waiting["team-a/urgent"]).assignment.units
    if not units:
        return
    forest = state.forest
    for n, pods in enumerate(free):
        forest.count_placements([("h100", (f"r{n // 2}", f"node-{n}"), {"nvidia.com/gpu": 2, "pods": 1}, pods - 4)], 1)
        assert forest.has_placement(units) == (forest.find_placement(units) is not None)


amounts = st.integers(0, 6)


@given(nominal=amounts, cohort=amounts, limit=st.none() | amounts, used=amounts, more=st.integers(0, 8))
def test_what_is_available_is_what_the_queue_can_still_add(nominal, cohort, limit, used, more):
    root = Node("root", False, {FR: cohort})
    queue = Node("q", True, {FR: nominal}, borrowing={} if limit is None else {FR: limit}, parent=root)
    root.children.append(queue)
    queue.add_usage({FR: used})
    most = nominal + cohort if limit is None else min(nominal + cohort, nominal + limit)
    assert (more <= queue.available(FR)) == (more == 0 or used + more <= most)
    queue.add_usage({FR: used}, -1)
    assert root.usage_of(FR) == queue.usage_of(FR) == 0


def test_a_share_is_exact_and_infinite_without_weight():
    root = Node("root", False, {FR: 3})
    queue = Node("q", True, {FR: 0}, weight=Fraction(2), parent=root)
    root.children.append(queue)
    queue.add_usage({FR: 1})
    assert queue.dominant_share() == (False, Fraction(1000, 6))
    queue.weight = Fraction(0)
    assert queue.dominant_share() == (True, Fraction(1000, 3))


def test_the_configuration_is_read_as_yaml_and_as_json():
    text = "fairSharing:\n  preemptionStrategies:\n  - LessThanInitialShare\nfeatureGates:\n  X: true\n  Y: false\n"
    assert parse_yaml(text)["fairSharing"] == {"preemptionStrategies": ["LessThanInitialShare"]}
    entry = Entry(manager(text), "x")
    made = read_config({"ConfigMap": [entry]})
    assert (made.fair, made.strategies, made.feature_enabled("X", False), made.feature_enabled("Y", True)) == (
        True, ("LessThanInitialShare",), True, False,
    )  # fmt: skip
    assert parse_yaml('{"featureGates": {"X": true}}') == {"featureGates": {"X": True}}


def test_nesting_of_cohorts_is_bounded():
    from mlsched.core.errors import InvalidInput

    chain = [
        {"apiVersion": API, "kind": "Cohort", "metadata": {"name": f"c{n}"}, "spec": {"parentName": f"c{n + 1}"}}
        for n in range(3000)
    ]
    with pytest.raises(InvalidInput, match="more than 100 lie under each other"):
        snapshot(kueue_state(), {"cohorts": listed(*chain)})
