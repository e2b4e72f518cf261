"""Changes of priorities, policies and quotas with which a scheduler would evict somebody."""

from __future__ import annotations

from kubernetes_examples import kube_node, kube_pod
from kueue_examples import kueue_state
from state_examples import listed, written

import mlsched_admission


def found(tmp_path, documents, **options):
    return mlsched_admission.judge(*written(tmp_path, documents), **options)


def sentences(judged):
    return {one.sentence: one.evicts for one in judged.permits}


def test_a_higher_priority_or_a_policy_lets_kubernetes_preempt(tmp_path):
    runs = kube_pod("runs-0", gpus=8, priority=50, node="n0")
    for waits, change in (
        (kube_pod("waits", gpus=4, priority=50), "priority 51"),
        (kube_pod("waits", gpus=4, priority=60, spec={"preemptionPolicy": "Never"}),
         "preemptionPolicy: PreemptLowerPriority"),
    ):  # fmt: skip
        judged = found(tmp_path, {"nodes.json": listed(kube_node("n0", gpus=8)), "pods.json": listed(runs, waits)})
        assert sentences(judged) == {change: ("ml/runs-0",)}
        assert judged.to_json()["permits"] == [{"change": change, "evicts": ["ml/runs-0"]}]


def test_policies_of_a_queue_let_kueue_preempt(tmp_path):
    documents = kueue_state()
    spec = documents["queues.json"]["items"][0]["spec"]
    spec["preemption"] = {"withinClusterQueue": "Never", "reclaimWithinCohort": "Never"}
    judged = found(tmp_path, documents)
    assert not any(point.plan.start.any() for point in judged.verdict.front)
    assert "withinClusterQueue: LowerPriority for queue cq-a" in sentences(judged)
    assert all(one.evicts for one in judged.permits)


def test_what_starts_by_evictions_needs_no_permit(tmp_path):
    assert found(tmp_path, kueue_state()).permits == ()
