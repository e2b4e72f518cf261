"""A tiny snapshot in the shape of what the KAI scheduler writes."""

from __future__ import annotations

from kubernetes_examples import kube_node, kube_pod
from state_examples import Json


def kai_state() -> Json:
    """A snapshot of KAI: two leaf queues; team-a's group of two pods waits, and may reclaim from team-b."""

    def queue(name: str, parent: str, quota: int) -> Json:
        unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        gpu = {"quota": quota, "limit": -1, "overQuotaWeight": 1}
        resources = {"gpu": gpu, "cpu": unlimited, "memory": unlimited}
        return {"metadata": {"name": name}, "spec": {"parentQueue": parent, "resources": resources}}

    def group(name: str, owner: str, minimum: int, priority: str) -> Json:
        notes = {"kai.scheduler/last-start-timestamp": "2026-11-24T10:00:00Z"}
        return {
            "metadata": {"name": name, "namespace": "ml", "annotations": notes},
            "spec": {"minMember": minimum, "queue": owner, "priorityClassName": priority},
        }

    def pod(name: str, owner: str, gpus: int, node: str = "") -> Json:
        made = kube_pod(name, gpus=gpus, priority=0, node=node, metadata={"annotations": {"pod-group-name": owner}})
        return {key: made[key] for key in ("metadata", "spec", "status")}

    nodes = [kube_node(f"node-{n}", gpus=8) for n in range(2)]
    return {
        "config": {},
        "schedulerParams": {},
        "rawObjects": {
            "nodes": [{key: node[key] for key in ("metadata", "spec", "status")} for node in nodes],
            "pods": [
                pod("big-0", "big", 6, "node-0"),
                pod("big-1", "big", 6, "node-1"),
                pod("small-0", "small", 2, "node-0"),
                pod("wanted-0", "wanted", 4),
                pod("wanted-1", "wanted", 4),
            ],
            "podGroups": [
                group("big", "team-b", 2, "train"),
                group("small", "team-a", 1, "train"),
                group("wanted", "team-a", 2, "train"),
            ],
            "queues": [queue("root", "", 16), queue("team-a", "root", 10), queue("team-b", "root", 6)],
            "priorityClasses": [{"metadata": {"name": "train"}, "value": 50}],
        },
    }
