"""A tiny state in the shape of what Kueue and Kubernetes print of Kueue's objects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kubernetes_examples import kube_node
from state_examples import EPOCH, NOW, Json, listed

KUEUE_VERSIONS = ("v1beta1", "v1beta2")
#: Running workloads: queue, priority, GPUs, hour of the reservation, how often preempted.
RUNNING = {
    "train": ("team-a", 10, 8, 9, 0),
    "sweep": ("team-a", 10, 4, 10, 2),
    "notebook": ("team-a", 50, 2, 11, 0),
    "rent": ("team-b", 10, 12, 8, 1),
}


def kueue_state(version: str = "v1beta2", *, waiting: Json | None = None, topology: bool = False) -> dict[str, Json]:
    """Two queues of a cohort; `urgent` waits in team-a for 8 GPUs (or as `waiting` says)."""
    api = f"kueue.x-k8s.io/{version}"
    old = version == "v1beta1"

    def queue(name: str, nominal: int, preemption: Json) -> Json:
        spec: Json = {
            ("cohort" if old else "cohortName"): "research",
            "preemption": preemption,
            "flavorFungibility": {"whenCanBorrow": "Borrow" if old else "MayStopSearch"},
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu"],
                    "flavors": [
                        {
                            "name": "h100",
                            "resources": [{"name": "nvidia.com/gpu", "nominalQuota": str(nominal) if old else nominal}],
                        }
                    ],
                }
            ],
        }
        if old:
            spec["admissionChecks"] = []
        return {"apiVersion": api, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}

    preempts = {
        "withinClusterQueue": "LowerPriority",
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "Never"},
    }
    queues = [queue("cq-a", 16, preempts), queue("cq-b", 10, {"withinClusterQueue": "LowerPriority"})]
    local = [
        {
            "apiVersion": api,
            "kind": "LocalQueue",
            "metadata": {"name": f"{team}-lq", "namespace": team},
            "spec": {"clusterQueue": f"cq-{team[-1]}"},
        }
        for team in ("team-a", "team-b")
    ]
    flavor: Json = {"apiVersion": api, "kind": "ResourceFlavor", "metadata": {"name": "h100"}, "spec": {}}
    if topology:
        flavor["spec"] = {"nodeLabels": {"gpu": "h100"}, "topologyName": "racks"}
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    racks = {"apiVersion": api, "kind": "Topology", "metadata": {"name": "racks"}, "spec": {"levels": levels}}
    workloads = [_running(name, api, old, topology) for name in RUNNING] + [_urgent(api, old, waiting)]
    state = {
        "queues.json": listed(*queues, flavor, *([racks] if topology else [])),
        "workloads.json": listed(*local, *workloads),
    }
    if topology:
        state["nodes.json"] = listed(*(kube_node(f"node-{n}", gpus=8, rack=f"r{n // 2}") for n in range(4)))
    return state


def workload(name: str, namespace: str, api: str, priority: int, pod_sets: list[Json], **status: Any) -> Json:
    """A Workload object."""
    old = api.endswith("v1beta1")
    reference: Json = (
        {"priorityClassName": "p", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"}
        if old
        else {"priorityClassRef": {"kind": "WorkloadPriorityClass", "name": "p"}}
    )
    return {
        "apiVersion": api,
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-11-24T07:00:00Z",
            "managedFields": [{"manager": "kueue"}],
        },
        "spec": {"queueName": f"{namespace}-lq", "priority": priority, "podSets": pod_sets, **reference},
        "status": status,
    }


def pod_set(count: int, gpus: int, **more: Any) -> Json:
    """`count` pods of `gpus` GPUs each."""
    container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    return {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}, **more}


#: Pods of two GPUs by node, where there is a topology.
PLACES = {
    "train": [("node-0", 4)],
    "sweep": [("node-1", 2)],
    "notebook": [("node-1", 1)],
    "rent": [("node-2", 4), ("node-3", 2)],
}


def _running(name: str, api: str, old: bool, topology: bool) -> Json:
    queue, priority, gpus, hour, preempted = RUNNING[name]
    assignment: Json = {
        "name": "main",
        "count": gpus // 2,
        "flavors": {"nvidia.com/gpu": "h100"},
        "resourceUsage": {"nvidia.com/gpu": str(gpus)},
    }
    if topology:
        assignment["topologyAssignment"] = _assigned(PLACES[name], old)
    since = f"2026-11-24T{hour:02d}:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": since, "reason": kind}
        for kind in ("QuotaReserved", "Admitted")
    ]
    if name == "notebook":
        conditions.append({"type": "PodsReady", "status": "True", "lastTransitionTime": NOW})
    status: Json = {
        "conditions": conditions,
        "admission": {"clusterQueue": f"cq-{queue[-1]}", "podSetAssignments": [assignment]},
    }
    if preempted:
        evictions = [{"reason": "Preempted", "underlyingCause": "", "count": preempted}]
        status["schedulingStats"] = {"evictions": evictions}
    return workload(name, queue, api, priority, [pod_set(gpus // 2, 2)], **status)


def _assigned(places: list[tuple[str, int]], old: bool) -> Json:
    levels = ["kubernetes.io/hostname"]
    if old:
        return {"levels": levels, "domains": [{"values": [node], "count": count} for node, count in places]}
    roots = [node.removeprefix("node-") for node, _ in places]
    alike = len({count for _, count in places}) == 1
    counts = {"universal": places[0][1]} if alike else {"individual": [count for _, count in places]}
    return {
        "levels": levels,
        "slices": [
            {
                "domainCount": len(places),
                "valuesPerLevel": [{"individual": {"prefix": "node-", "roots": roots}}],
                "podCounts": counts,
            }
        ],
    }


def _urgent(api: str, old: bool, waiting: Json | None) -> Json:
    made = workload("urgent", "team-a", api, 100, [waiting or pod_set(4, 2)])
    made["metadata"]["creationTimestamp"] = "2026-11-24T11:30:00Z"
    return made


def manager(text: str) -> Json:
    """The ConfigMap with the manager's configuration."""
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    data = {"controller_manager_config.yaml": text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def kueue_question(question: Json) -> dict[str, Json]:
    """One of the questions that Kueue's own code answered (data/kueue), as the state of a cluster."""
    api = "kueue.x-k8s.io/v1beta2"

    def asks(one: Json) -> list[Json]:
        container = {"name": "main", "resources": {"requests": {"cpu": one["CPU"], "memory": f"{one['Mem']}"}}}
        return [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]

    def admitted(one: Json) -> Json:
        since = datetime.fromtimestamp(EPOCH - one["Age"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        flavors = {"cpu": "default", "memory": "default"}
        usage = {"cpu": one["CPU"], "memory": one["Mem"]}
        assignment = {"name": "main", "count": 1, "flavors": flavors, "resourceUsage": usage}
        condition = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": since}
        admission = {"clusterQueue": "cq", "podSetAssignments": [assignment]}
        return workload(one["Name"], "team", api, one["Prio"], asks(one), conditions=[condition], admission=admission)

    quotas = [("cpu", question["QuotaCPU"]), ("memory", question["QuotaMem"])]
    resources = [{"name": name, "nominalQuota": quota} for name, quota in quotas]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": resources}]}
    spec = {"resourceGroups": [group], "preemption": {"withinClusterQueue": "LowerPriority"}}
    queue = {"apiVersion": api, "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": spec}
    metadata = {"name": "team-lq", "namespace": "team"}
    local = {"apiVersion": api, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": "cq"}}
    waits = question["Incoming"]
    waits = workload(waits["Name"], "team", api, waits["Prio"], asks(waits))
    return {"state.json": listed(queue, local, *map(admitted, question["Admitted"]), waits)}
