"""A tiny state in the shape of what `kubectl get -o json` prints of nodes, pods and budgets."""

from __future__ import annotations

from typing import Any

from state_examples import NOW, Json, listed


def kube_node(name: str, *, gpus: int, rack: str = "r0", **spec: Any) -> Json:
    """A Node of so many GPUs."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "rack": rack, "gpu": "h100"}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(gpus), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": NOW}],
        },
    }


def kube_pod(name: str, *, gpus: int, priority: int, node: str = "", hour: int = 9, **more: Any) -> Json:
    """A Pod, running where `node` says so."""
    spec: Json = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "nvidia.com/gpu": str(gpus)}}}],
        "priority": priority,
        **more.pop("spec", {}),
    }
    status: Json = {"phase": "Pending"}
    if node:
        spec["nodeName"] = node
        status = {"phase": "Running", "startTime": f"2026-11-24T{hour:02d}:00:00Z"}
    metadata = {"name": name, "namespace": "ml", "labels": {"app": name.split("-")[0]}, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def kube_state() -> dict[str, Json]:
    """Two nodes of 8 GPUs; `urgent` waits for 4, and may evict on either, on node-1 against a disruption budget."""
    pods = [
        kube_pod("web-0", gpus=4, priority=10, node="node-0", hour=8),
        kube_pod("web-1", gpus=4, priority=10, node="node-0", hour=11),
        kube_pod("batch-0", gpus=2, priority=5, node="node-1", hour=10),
        kube_pod("batch-1", gpus=2, priority=5, node="node-1", hour=11),
        kube_pod("serving-0", gpus=4, priority=1000, node="node-1"),
        kube_pod("urgent", gpus=4, priority=100),
    ]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "batch", "namespace": "ml"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "batch"}}},
        "status": {"disruptionsAllowed": 1},
    }
    return {
        "nodes.json": listed(*(kube_node(f"node-{n}", gpus=8) for n in range(2))),
        "pods.json": listed(*pods),
        "budgets.json": listed(budget),
    }
