"""States of Kueue become the instance that one works out by hand."""

from __future__ import annotations

import gzip
import json

import pytest
from draws import share
from kueue_examples import RUNNING, kueue_question, kueue_state, manager, pod_set
from state_examples import asked, by_name, read, written

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import Options, instance_of, read_states


def test_kueue_by_hand(tmp_path):
    state = read(tmp_path, kueue_state())
    instance = instance_of(state)
    assert instance.job_names == ("team-a/urgent",)
    assert instance.flavor_names == ("h100/nvidia.com/gpu",)
    assert dict(zip(instance.queue_names, instance.quota_used[:, 0].tolist(), strict=True)) == {
        "cohort:research": 0, "cq-a": 14, "cq-b": 12,
    }  # fmt: skip
    assert by_name(instance, "unit_lost") == {
        "team-a/train": 8 * 3 * 3600, "team-a/sweep": 4 * 2 * 3600, "team-a/notebook": 2 * 3600,
        "team-b/rent": 12 * 4 * 3600,
    }  # fmt: skip
    # Team b's borrows, so it may go, but only where urgent ends within its own queue's quota.
    may = dict(zip(instance.unit_names, instance.may[0].tolist(), strict=True))
    assert may == {"team-a/train": 1, "team-a/sweep": 1, "team-a/notebook": 1, "team-b/rent": 2}
    assert instance.above_nominal == 1
    assert by_name(instance, "unit_preempted") == {
        "team-a/train": 0, "team-a/sweep": 2, "team-a/notebook": 0, "team-b/rent": 1,
    }  # fmt: skip
    assert not state.unmodelled


def test_kueue_priority_boost_and_equal_priority(tmp_path):
    documents = kueue_state()
    workloads = {item["metadata"]["name"]: item for item in documents["workloads.json"]["items"]}
    workloads["train"]["metadata"]["annotations"] = {"kueue.x-k8s.io/priority-boost": "90"}
    assert by_name(asked(tmp_path, documents), "unit_priority")["team-a/train"] == 10  # the gate is off
    documents["config.json"] = manager("featureGates:\n  PriorityBoost: true\n")
    instance = asked(tmp_path, documents)
    assert by_name(instance, "unit_priority")["team-a/train"] == 100
    assert instance.may[0, instance.unit_names.index("team-a/train")] == 0
    # Of equal priority and queued later, it may go under LowerOrNewerEqualPriority.
    for queue in documents["queues.json"]["items"][:1]:
        queue["spec"]["preemption"]["withinClusterQueue"] = "LowerOrNewerEqualPriority"
    assert asked(tmp_path, documents).may[0, instance.unit_names.index("team-a/train")] == 0
    workloads["train"]["metadata"]["creationTimestamp"] = "2026-11-24T11:45:00Z"
    instance = asked(tmp_path, documents)
    assert instance.may[0, instance.unit_names.index("team-a/train")] == 1


def test_kueue_topology_by_hand(tmp_path):
    waiting = pod_set(4, 2, topologyRequest={"required": "rack"})
    instance = asked(tmp_path, kueue_state(topology=True, waiting=waiting))
    gpu = instance.resources.index("nvidia.com/gpu")
    assert dict(zip(instance.node_names, instance.node_free[:, gpu].tolist(), strict=True)) == {
        "node-0": 0, "node-1": 2, "node-2": 0, "node-3": 4,
    }  # fmt: skip
    rack = instance.node_domain[int(instance.shape_level[0])].tolist()
    assert rack[0] == rack[1] != rack[2] == rack[3]
    assert instance.shape_count.tolist() == [4]


def test_kueue_slices_ask_for_one_domain_each(tmp_path):
    request = {"podSetSliceRequiredTopology": "kubernetes.io/hostname", "podSetSliceSize": 2}
    instance = asked(tmp_path, kueue_state(topology=True, waiting=pod_set(4, 2, topologyRequest=request)))
    assert (instance.shape_slice.tolist(), instance.shape_level.tolist()) == ([2], [1])


def test_kueue_finished_pods_give_back_their_quota(tmp_path):
    documents = kueue_state()
    train = next(i for i in documents["workloads.json"]["items"] if i["metadata"]["name"] == "train")
    train["status"]["reclaimablePods"] = [{"name": "main", "count": 3}]
    instance = asked(tmp_path, documents)
    assert by_name(instance, "unit_use")["team-a/train"] == [2]


def _two_flavors(documents, **fungibility):
    """Team a has a second flavor, spot, with 10 GPUs; nobody uses it."""
    queue = documents["queues.json"]["items"][0]
    group = queue["spec"]["resourceGroups"][0]
    group["flavors"].append({"name": "spot", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 10}]})
    queue["spec"]["flavorFungibility"] = fungibility
    documents["queues.json"]["items"].append(_flavor("spot"))
    return documents


def _flavor(name):
    api = "kueue.x-k8s.io/v1beta2"
    return {"apiVersion": api, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}


def test_kueue_queue_that_names_a_missing_flavor_is_inactive(tmp_path):
    documents = _two_flavors(kueue_state())
    documents["queues.json"]["items"].pop()
    with pytest.raises(InvalidInput, match="queue cq-a is inactive: spot does not exist"):
        read(tmp_path, documents)


def test_kueue_chooses_flavors_in_its_order(tmp_path):
    """Of the first flavor it would have to evict; whether it looks further is whenCanPreempt's to say."""
    next_one = asked(tmp_path, _two_flavors(kueue_state(), whenCanPreempt="TryNextFlavor"))
    assert next_one.flavor_names == ("spot/nvidia.com/gpu",)
    stays = asked(tmp_path, _two_flavors(kueue_state(), whenCanPreempt="MayStopSearch"))
    assert stays.flavor_names == ("h100/nvidia.com/gpu",)


def test_kueue_free_flavors_are_all_asked_about(tmp_path):
    paths = written(tmp_path, _two_flavors(kueue_state()))
    states = read_states(paths, Options(flavors="free"))
    assert [instance_of(state).flavor_names for state in states] == [
        ("h100/nvidia.com/gpu",), ("spot/nvidia.com/gpu",),
    ]  # fmt: skip


def test_kueue_flavor_whose_taint_is_not_tolerated_is_skipped(tmp_path):
    documents = _two_flavors(kueue_state(), whenCanPreempt="TryNextFlavor")
    taint = {"key": "spot", "value": "true", "effect": "NoSchedule"}
    spot = documents["queues.json"]["items"][-1]
    spot["spec"]["nodeTaints"] = [taint]
    assert asked(tmp_path, documents).flavor_names == ("h100/nvidia.com/gpu",)
    spot["spec"]["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    assert asked(tmp_path, documents).flavor_names == ("spot/nvidia.com/gpu",)


def test_kueue_says_what_is_not_modelled(tmp_path):
    levels = [{"topology": "rack", "size": 4}, {"topology": "kubernetes.io/hostname", "size": 2}]
    request = {"podsetSliceRequiredTopologyConstraints": levels}
    documents = kueue_state(topology=True, waiting=pod_set(4, 2, topologyRequest=request))
    documents["queues.json"]["items"][0]["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "quota"}]}
    state = read(tmp_path, documents)
    assert "nested topology slices" in state.unmodelled["team-a/urgent"]
    assert any("admission check quota" in line for line in state.assumed)


def test_kueue_asks_about_fewer_pods_if_only_these_can_be_admitted(tmp_path):
    documents = kueue_state(waiting=pod_set(20, 1, minCount=2))
    state = read(tmp_path, documents)
    assert asked(tmp_path, documents).job_use.tolist() == [[16]]
    assert any("16 of 20 pods" in line for line in state.assumed)


def test_kueue_fair_sharing_is_read_from_the_configuration(tmp_path):
    text = "apiVersion: v1beta1\nfairSharing:\n  enable: {}\n  preemptionStrategies: [LessThanInitialShare]\n"
    documents = kueue_state()
    documents["config.json"] = manager(text.format("true"))
    state = read(tmp_path, documents)
    assert "fair sharing: on (LessThanInitialShare)" in state.read
    documents["config.json"] = manager(text.format("false"))
    assert not any("fair sharing" in line for line in read(tmp_path, documents).read)


def test_kueue_without_a_configuration_has_no_fair_sharing_and_says_so(tmp_path):
    assert any(line.startswith("fair sharing: off") for line in read(tmp_path, kueue_state()).assumed)


def test_kueue_past_usage_is_refused_by_name(tmp_path):
    documents = kueue_state()
    documents["config.json"] = manager("admissionFairSharing:\n  usageHalfLifeTime: 168h\n")
    with pytest.raises(InvalidInput, match="admissionFairSharing"):
        read(tmp_path, documents)


def test_states_that_kueue_answered_get_its_answers(tmp_path, shared_data):
    """From the JSON of a cluster to the victims that Kueue's own code chose, in its classical preemption."""
    answered = json.loads(gzip.decompress((shared_data / "kueue" / "questions.json.gz").read_bytes()))
    for number in share(range(100), 10):
        instance = asked(tmp_path, kueue_question(answered["questions"][number]))
        plan = mlsched.solve(instance, "kueue").plan
        victims = {instance.unit_names[u].removeprefix("team/") for u in plan.evict.nonzero()[0]}
        assert victims == set(answered["victims"][number] or []), number


def test_without_lost_time_every_eviction_counts_a_minute(tmp_path):
    documents = kueue_state()
    for one in documents["workloads.json"]["items"]:
        for condition in one.get("status", {}).get("conditions", []):
            condition["lastTransitionTime"] = "2026-11-24T12:00:00Z"
    lost = by_name(asked(tmp_path, documents), "unit_lost")
    assert lost == {name: 60 * RUNNING[name.partition("/")[2]][2] for name in lost}
    assert set(by_name(asked(tmp_path, documents, checkpoint_every=600), "unit_lost").values()) == {0}


def test_what_is_evicted_already_loses_nothing_more(tmp_path):
    documents = kueue_state()
    train = next(one for one in documents["workloads.json"]["items"] if one["metadata"]["name"] == "notebook")
    since = {"type": "Evicted", "status": "True", "reason": "Preempted", "lastTransitionTime": "2026-11-24T11:50:00Z"}
    train["status"]["conditions"].append(since)
    instance = asked(tmp_path, documents)
    assert by_name(instance, "unit_lost")["team-a/notebook"] == 0
    assert by_name(instance, "unit_priority")["team-a/notebook"] == min(instance.unit_priority)
