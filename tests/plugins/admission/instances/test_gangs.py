"""Gangs where Kubernetes, coscheduling and Volcano write them: who waits as one, and whom preemption takes."""

from __future__ import annotations

import pytest
from kubernetes_examples import kube_node, kube_pod
from state_examples import listed, written

import mlsched_admission
from mlsched.core.errors import InvalidFile, InvalidInput

#: System -> (API version of its PodGroup, spec for a minimum, what marks a pod).
SYSTEMS = {
    "kubernetes": (
        "scheduling.k8s.io/v1alpha2",
        lambda least: {"schedulingPolicy": {"gang": {"minCount": least}}},
        lambda name: {"spec": {"schedulingGroup": {"podGroupName": name}}},
    ),
    "coscheduling": (
        "scheduling.x-k8s.io/v1alpha1",
        lambda least: {"minMember": least},
        lambda name: {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": name}}},
    ),
    "volcano": (
        "scheduling.volcano.sh/v1beta1",
        lambda least: {"minMember": least},
        lambda name: {"metadata": {"annotations": {"scheduling.k8s.io/group-name": name}}},
    ),
}


def group(system, name, least, **more):
    api, spec, _ = SYSTEMS[system]
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": api, "kind": "PodGroup", "metadata": metadata, "spec": {**spec(least), **more}}


def member(system, gang, name, *, gpus, priority, node="", **spec):
    mark = SYSTEMS[system][2](gang)
    return kube_pod(
        name, gpus=gpus, priority=priority, node=node,
        metadata=mark.get("metadata", {}), spec={**mark.get("spec", {}), **spec},
    )  # fmt: skip


def judged(tmp_path, *items, nodes=2, **options):
    made = [kube_node(f"n{n}", gpus=8) for n in range(nodes)]
    return mlsched_admission.judge(*written(tmp_path, {"s.json": listed(*made, *items)}), **options)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_gang_waits_as_one(tmp_path, system):
    """Both nodes are needed; one of them is taken by a pod of lower priority."""
    pods = [member(system, "train", f"train-{n}", gpus=8, priority=100) for n in range(2)]
    low = kube_pod("low-0", gpus=8, priority=1, node="n0")
    found = judged(tmp_path, group(system, "train", 2), *pods, low)
    assert found.instance.job_names == ("ml/train",)
    (point,) = found.verdict.front
    assert (int(point.plan.place.sum()), point.values["victims"]) == (2, 1)


@pytest.mark.parametrize("system", SYSTEMS)
def test_fewer_members_than_the_minimum_cannot_start(tmp_path, system):
    pods = [member(system, "train", "train-0", gpus=1, priority=100)]
    gated = member(system, "train", "train-1", gpus=1, priority=100, schedulingGates=[{"name": "wait"}])
    with pytest.raises(InvalidInput, match="it has 1 of at least 2 pods, so it cannot start"):
        judged(tmp_path, group(system, "train", 2), *pods, gated)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_mark_without_its_group_is_refused(tmp_path, system):
    with pytest.raises(InvalidFile, match=f"is in pod group 'train' of {system}, which is missing in the state"):
        judged(tmp_path, member(system, "train", "train-0", gpus=1, priority=100))


def running(system, count, **options):
    made = group(system, "runs", 2, **options)
    pods = [member(system, "runs", f"runs-{n}", gpus=4, priority=1, node=f"n{n // 2}") for n in range(count)]
    return [made, *pods, kube_pod("urgent", gpus=4, priority=100)]


def test_volcano_takes_pods_down_to_the_minimum_and_never_more(tmp_path):
    found = judged(tmp_path, *running("volcano", 4))
    assert found.verdict.front[0].values["victims"] == 1
    assert (
        judged(tmp_path, *running("volcano", 4), decision=["runs-0", "runs-1", "runs-2"]).verdict.kind == "ineligible"
    )
    stuck = judged(tmp_path, *running("volcano", 2), nodes=1)
    assert not stuck.verdict.front[0].plan.start.any()
    assert "never more" in " ".join(stuck.assumed)


@pytest.mark.parametrize("system", ["kubernetes", "coscheduling"])
def test_other_systems_evict_pods_of_a_gang_one_by_one(tmp_path, system):
    found = judged(tmp_path, *running(system, 2), nodes=1, rule="kube")
    assert found.verdict.kind == "on the front"
    assert len(found.verdict.evict) == 1


@pytest.mark.parametrize("mode", ["PodGroup", {"all": {}}])
def test_groups_of_kubernetes_may_be_evicted_whole(tmp_path, mode):
    found = judged(tmp_path, *running("kubernetes", 2, disruptionMode=mode), nodes=1)
    assert found.verdict.front[0].values["victims"] == 2


def test_pods_that_volcano_may_not_evict_stay(tmp_path):
    items = running("volcano", 4)
    for pod in items[1:5]:
        if pod["metadata"]["name"] != "runs-3":
            pod["metadata"]["annotations"]["volcano.sh/preemptable"] = "no"
    found = judged(tmp_path, *items)
    (point,) = found.verdict.front
    assert [found.instance.unit_names[u] for u in point.plan.evict.nonzero()[0]] == ["ml/runs-3"]


def test_other_queues_of_volcano_are_not_modelled(tmp_path):
    waits = [member("volcano", "train", f"train-{n}", gpus=8, priority=100) for n in range(2)]
    items = [*running("volcano", 4)[:5], group("volcano", "train", 2, queue="team"), *waits]
    found = judged(tmp_path, *items, decision=["runs-0"])
    assert found.verdict.kind == "unknown"
    assert "reclaim between queues of Volcano is not modelled" in found.verdict.sentence


def test_unknown_schedulers_are_named(tmp_path):
    found = judged(tmp_path, kube_pod("odd", gpus=1, priority=1, spec={"schedulerName": "yunikorn"}))
    assert any("scheduler 'yunikorn': not known here" in line for line in found.assumed)


def test_a_pod_beside_gangs_is_decided_by_kube_schedulers_own_program(tmp_path):
    found = judged(tmp_path, *running("coscheduling", 4), rule="kube", job="urgent")
    assert found.decision == "by kube"
    assert found.verdict.kind == "on the front"
