"""CPU seconds of `judge` on large states of Kueue (nodes, a cohort or a topology), KAI and Kubernetes.

    python measurements/judge_speed.py [--nodes 4000] [--workloads 1000] [--pods 100000] [--only NAME] [--rule]

Each state is written to a file, and its own process judges it by the command. Every node has 8 GPUs; a job waits
that needs evictions. --rule lets the state's own scheduler decide.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
NOW = "2026-11-24T12:00:00Z"
RACK = 20


def node(n: int) -> Json:
    """Return a node of 8 GPUs in a rack of `RACK`."""
    name = f"n{n:05d}"
    labels = {"kubernetes.io/hostname": name, "rack": f"r{n // RACK:04d}"}
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": NOW}
    room = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
    status = {"allocatable": room, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def _spec(gpus: int) -> Json:
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": str(gpus)}}}]}


def _workload(name: str, priority: int, count: int, status: Json, topology: str = "") -> Json:
    pod_set: Json = {"name": "main", "count": count, "template": {"spec": _spec(8)}}
    if topology:
        pod_set["topologyRequest"] = {"required": topology}
    metadata = {"name": name, "namespace": "team", "uid": name, "creationTimestamp": "2026-11-24T07:00:00Z"}
    spec = {"queueName": "lq", "priority": priority, "podSets": [pod_set]}
    return {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": spec, "status": status}


def cohort(workloads: int, queues: int = 10) -> list[Json]:
    """Return queues of a cohort that all borrow from the first, in which one workload waits and reclaims."""
    items: list[Json] = [{"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "h100"}, "spec": {}}]
    for q in range(queues):
        quota = {"name": "nvidia.com/gpu", "nominalQuota": 8 * workloads // queues}
        flavor = {"name": "h100", "resources": [quota]}
        group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor]}
        spec: Json = {"namespaceSelector": {}, "cohortName": "all", "resourceGroups": [group]}
        spec["preemption"] = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        items.append({"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": f"cq{q}"}, "spec": spec})
        items.append(
            {
                "apiVersion": API,
                "kind": "LocalQueue",
                "metadata": {"name": f"lq{q}", "namespace": "team"},
                "spec": {"clusterQueue": f"cq{q}"},
            }
        )
    for w in range(workloads):
        part = {"name": "main", "count": 1, "flavors": {"nvidia.com/gpu": "h100"}}
        part["resourceUsage"] = {"nvidia.com/gpu": "8"}
        since = f"2026-11-24T{8 + w % 4:02d}:{w % 60:02d}:00Z"
        reserved = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": since}
        admission = {"clusterQueue": f"cq{1 + w % (queues - 1)}", "podSetAssignments": [part]}
        items.append(_workload(f"w{w:04d}", w % 5, 1, {"conditions": [reserved], "admission": admission}))
    waits = _workload("waits", 9, 8, {})
    waits["spec"]["queueName"] = "lq0"
    waits["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"].pop("cpu")
    return [*items, waits]


def kueue(nodes: int, workloads: int, topology: bool) -> list[Json]:
    """Return workloads that fill all nodes, each whole ones, and one that waits for eight nodes of a rack."""
    resources = [{"name": r, "nominalQuota": n} for r, n in (("cpu", 64 * nodes), ("nvidia.com/gpu", 8 * nodes))]
    flavor = {"name": "h100", "resources": resources}
    group = {"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [flavor]}
    queue = {"namespaceSelector": {}, "resourceGroups": [group], "preemption": {"withinClusterQueue": "LowerPriority"}}
    named: list[tuple[str, str, Json]] = [
        ("ClusterQueue", "cq", queue),
        ("ResourceFlavor", "h100", {"topologyName": "racks"} if topology else {}),
    ]
    if topology:
        levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
        named.append(("Topology", "racks", {"levels": levels}))
    items = [{"apiVersion": API, "kind": k, "metadata": {"name": name}, "spec": spec} for k, name, spec in named]
    local = {"name": "lq", "namespace": "team"}
    items.append({"apiVersion": API, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": "cq"}})
    items += [node(n) for n in range(nodes)]
    at = 0
    for w in range(workloads):
        count = nodes // workloads + (w < nodes % workloads)
        names = [f"n{n:05d}" for n in range(at, at + count)]
        at += count
        part: Json = {
            "name": "main",
            "count": count,
            "flavors": {"cpu": "h100", "nvidia.com/gpu": "h100"},
            "resourceUsage": {"cpu": str(count), "nvidia.com/gpu": str(8 * count)},
        }
        if topology:
            each = {"individual": {"roots": names}}
            slices = [{"domainCount": count, "valuesPerLevel": [each], "podCounts": {"universal": 1}}]
            part["topologyAssignment"] = {"levels": ["kubernetes.io/hostname"], "slices": slices}
        since = f"2026-11-24T{8 + w % 4:02d}:{w % 60:02d}:00Z"
        reserved = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": since}
        admission = {"clusterQueue": "cq", "podSetAssignments": [part]}
        status = {"conditions": [reserved], "admission": admission}
        items.append(_workload(f"w{w:04d}", w % 5, count, status, "rack" if topology else ""))
    items.append(_workload("waits", 9, 8, {}, "rack" if topology else ""))
    return items


def kubernetes(nodes: int, pods: int) -> list[Json]:
    """Return pods that hold six GPUs of each node, those of one GPU and those of none, and one that asks for eight."""
    items = [node(n) for n in range(nodes)]
    for p in range(pods):
        gpus = 1 if p // nodes < 6 else 0
        metadata = {"name": f"p{p:06d}", "namespace": "ml", "uid": f"p{p:06d}", "labels": {"app": f"a{p % 50}"}}
        spec = {**_spec(gpus), "priority": p % 5, "nodeName": f"n{p % nodes:05d}"}
        status = {"phase": "Running", "startTime": f"2026-11-24T{p % 12:02d}:{p % 60:02d}:00Z"}
        items.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    metadata = {"name": "waits", "namespace": "ml", "creationTimestamp": "2026-11-24T11:00:00Z"}
    spec = {**_spec(8), "priority": 3}
    items.append(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
    )
    return items


def kai(nodes: int, groups: int) -> Json:
    """Return a snapshot of gangs that fill the nodes, in queues above their quota, and a gang of eight that waits."""

    def queue(name: str, quota: int, parent: str) -> Json:
        gpu = {"quota": quota, "limit": -1, "overQuotaWeight": 1}
        resources = {"cpu": {**gpu, "quota": -1}, "memory": {**gpu, "quota": -1}, "gpu": gpu}
        return {"metadata": {"name": name}, "spec": {"parentQueue": parent, "resources": resources}}

    def gang(name: str, queue: str, minimum: int, hosts: list[str]) -> None:
        metadata = {"name": name, "namespace": "ml", "uid": name, "creationTimestamp": "2026-11-24T09:00:00Z"}
        raw["podGroups"].append({"metadata": metadata, "spec": {"queue": queue, "minMember": minimum}})
        for p, host in enumerate(hosts):
            about = {"name": f"{name}-{p}", "namespace": "ml", "annotations": {"pod-group-name": name}}
            status = {"phase": "Running", "startTime": "2026-11-24T10:00:00Z"} if host else {"phase": "Pending"}
            spec = {**_spec(8), **({"nodeName": host} if host else {})}
            raw["pods"].append({"metadata": about, "spec": spec, "status": status})

    raw: Json = {"nodes": [node(n) for n in range(nodes)], "pods": [], "podGroups": [], "priorityClasses": []}
    raw["queues"] = [queue("all", -1, ""), *(queue(f"q{n}", 2 * nodes, "all") for n in range(4))]
    size = nodes // groups
    for g in range(groups):
        gang(f"g{g:04d}", f"q{1 + g % 3}", size, [f"n{n:05d}" for n in range(g * size, (g + 1) * size)])
    gang("waits", "q0", 8, [""] * 8)
    return {"rawObjects": raw}


def listed(items: list[Json]) -> Json:
    """Return objects as kubectl prints them."""
    return {"apiVersion": "v1", "kind": "List", "items": items}


def measure(state: Json, rule: str | None) -> dict[str, float]:
    """Return CPU seconds and peak memory of one call of the command, and its exit status."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "state.json"
        path.write_text(json.dumps(state))
        command = [sys.executable, "-m", "mlsched", "judge", str(path), "--json", *(["--rule", rule] if rule else [])]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = json.loads(done.stdout)
        return {
            "cpu_s": round(seconds, 1),
            "memory_mb": round(after.ru_maxrss / 1024),
            "status": done.returncode,
            "plans": len(found["front"]),
            "complete": found["front_complete"],
            "changes": len(found["needs"]["changes"]),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--workloads", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--rule", action="store_true")
    states: dict[str, tuple[str, Callable[[argparse.Namespace], Json]]] = {
        "kueue": ("kueue", lambda a: listed(kueue(a.nodes, a.workloads, topology=False))),
        "cohort": ("kueue", lambda a: listed(cohort(a.workloads))),
        "kai": ("kai", lambda a: kai(a.nodes, a.workloads)),
        "topology": ("kueue", lambda a: listed(kueue(a.nodes, a.workloads, topology=True))),
        "kubernetes": ("kube", lambda a: listed(kubernetes(a.nodes, a.pods))),
    }
    parser.add_argument("--only", choices=tuple(states))
    a = parser.parse_args()
    for name, (rule, made) in states.items():
        if a.only in (None, name):
            print(name, json.dumps(measure(made(a), rule if a.rule else None)), flush=True)


if __name__ == "__main__":
    main()
