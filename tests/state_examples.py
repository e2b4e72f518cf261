"""Tiny states in the true shape of what real schedulers print: one cluster, in every form that is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlsched.instances.admission.states import Options, instance_of, read_states
from mlsched.instances.admission.states.state import State

Json = dict[str, Any]
NOW = "2026-11-24T12:00:00Z"


def written(folder: Path, documents: dict[str, Json | str]) -> list[Path]:
    """The documents as files, in their order."""
    paths = []
    for name, document in documents.items():
        paths.append(folder / name)
        paths[-1].write_text(document if isinstance(document, str) else json.dumps(document))
    return paths


def listed(*items: Json) -> Json:
    """What `kubectl get -o json` prints of several objects."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items), "metadata": {"resourceVersion": ""}}


def read(folder, documents, **options) -> State:
    """The one state that these documents hold."""
    (state,) = read_states(written(folder, documents), Options(**options))
    return state


def asked(folder, documents, **options):
    """The instance of that state."""
    return instance_of(read(folder, documents, **options))


def by_name(instance, field):
    """Unit -> its entry of a field."""
    return dict(zip(instance.unit_names, getattr(instance, field).tolist(), strict=True))


# Kueue -------------------------------------------------------------------------------------------------------------

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


def kueue_question(question: Json) -> dict[str, Json]:
    """One of the questions that Kueue's own code answered (data/kueue), as the state of a cluster."""
    api = "kueue.x-k8s.io/v1beta2"

    def asks(one: Json) -> list[Json]:
        container = {"name": "main", "resources": {"requests": {"cpu": one["CPU"], "memory": f"{one['Mem']}"}}}
        return [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]

    def admitted(one: Json) -> Json:
        since = datetime.fromtimestamp(_EPOCH - one["Age"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
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


# Kubernetes --------------------------------------------------------------------------------------------------------


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


# Slurm -------------------------------------------------------------------------------------------------------------

SLURM_PARSERS = (40, 41, 42, 43, 44, 45)
CONFIG = """Configuration data as of 2026-11-24T12:00:00
PreemptMode             = REQUEUE
PreemptParameters       = (null)
PreemptType             = preempt/qos
PreemptExemptTime       = 00:00:00
SLURM_VERSION           = 25.11.0
"""
_HOUR = 3600
_EPOCH = 1_795_521_600  # 2026-11-24T12:00:00Z


def slurm_state(parser: int = 42, *, complex_mode: bool = False) -> dict[str, Json | str]:
    """Three nodes of 8 GPUs: `low` jobs on all of them, one over two; job 9, of QOS `high`, waits for two nodes."""
    number = _complex if complex_mode else _simple
    meta = {"plugin": {"type": "openapi/slurmctld", "data_parser": f"data_parser/v0.0.{parser}"}}
    head = {"last_update": number(_EPOCH), "meta": meta, "errors": [], "warnings": []}
    jobs = [
        _slurm_job(number, parser, 7, "low", 5, ["n1"], 8, 32),
        _slurm_job(number, parser, 8, "low", 3, ["n2", "n3"], 4, 16),
        _slurm_waiting(number, parser),
    ]
    nodes = [
        {
            "name": name,
            "cpus": 64,
            "effective_cpus": 64,
            "real_memory": 524288,
            "specialized_memory": 0,
            "threads": 1,
            "gres": "gpu:h100:8(S:0-1)",
            "gres_used": f"gpu:h100:{used}(IDX:0-{used - 1})",
            "alloc_cpus": cpus,
            "alloc_memory": 4096 * used,
            "partitions": ["gpu"],
            "state": ["ALLOCATED" if used == 8 else "MIXED"],
            "features": ["ib"],
            "active_features": ["ib"],
            "reservation": "",
        }
        for name, used, cpus in (("n1", 8, 32), ("n2", 4, 16), ("n3", 4, 16))
    ]
    partition = {
        "name": "gpu",
        "nodes": {"configured": "n[1-3]", "total": 3},
        "priority": {"job_factor": 1, "tier": 1},
        "qos": {"allowed": "ALL", "deny": "", "assigned": ""},
        "partition": {"state": ["UP"]},
        "grace_time": 0,
        "maximums": {"nodes": number(None, infinite=True)},
    }
    qos = [
        {
            "name": name,
            "priority": number(priority),
            "limits": {"grace_time": 60, "max": {"tres": {"total": total}}},
            "preempt": {"list": preempts, "mode": ["DISABLED"], "exempt_time": number(None)},
        }
        for name, priority, preempts, total in (
            ("low", 10, [], []),
            ("high", 1000, ["low"], [{"type": "gres", "name": "gpu", "id": 1001, "count": 16}]),
        )
    ]
    association = {
        "account": "lab",
        "user": "",
        "parent_account": "root",
        "partition": "",
        "max": {"tres": {"total": []}},
    }
    return {
        "jobs.json": {"jobs": jobs, **head},
        "nodes.json": {"nodes": nodes, **head},
        "partitions.json": {"partitions": [partition], **head},
        "qos.json": {"qos": qos, "meta": meta},
        "assoc.json": {"associations": [association], "meta": meta},
        "config.txt": CONFIG,
    }


Number = Callable[..., Any]


def _simple(value: int | None, *, infinite: bool = False) -> Any:
    return {"set": value is not None, "infinite": infinite, "number": value or 0}


def _complex(value: int | None, *, infinite: bool = False) -> Any:
    return "Infinity" if infinite else value


def _slurm_job(
    number: Number, parser: int, job: int, qos: str, hours: int, nodes: list[str], gpus: int, cpus: int
) -> Json:
    """A running job with so many GPUs and CPUs on each of its nodes."""
    made = _common(number, parser, job, qos, "RUNNING", 100 + job)
    total = len(nodes)
    made |= {
        "nodes": nodes[0] if total == 1 else "n[2-3]",
        "node_count": number(total),
        "start_time": number(_EPOCH - hours * _HOUR),
        "end_time": number(_EPOCH + (24 - hours) * _HOUR),
        "time_limit": number(1440),
        "preemptable_time": number(0),
        "tres_alloc_str": f"cpu={total * cpus},mem={total * gpus * 4}G,node={total},gres/gpu={total * gpus}",
        "gres_detail": [f"gpu:h100:{gpus}(IDX:0-{gpus - 1})"] * total,
        "restart_cnt": 1 if job == 8 else 0,
        "requeue": True,
        "job_resources": _resources(parser, nodes, cpus, gpus * 4096),
    }
    return made


def _resources(parser: int, nodes: list[str], cpus: int, memory: int) -> Json:
    cores = {str(core): "allocated" for core in range(cpus)}
    if parser == 40:
        listed_ = [
            {"sockets": {"0": {"cores": cores}}, "nodename": name, "cpus_used": 0, "memory_allocated": memory}
            for name in nodes
        ]
        return {"nodes": ",".join(nodes), "allocated_hosts": len(nodes), "allocated_nodes": listed_}
    allocation = [
        {"index": i, "name": name, "cpus": {"count": cpus, "used": 0}, "memory": {"used": 0, "allocated": memory}}
        for i, name in enumerate(nodes)
    ]
    return {"select_type": ["CORE"], "nodes": {"count": len(nodes), "allocation": allocation}}


def _common(number: Number, parser: int, job: int, qos: str, state: str, priority: int) -> Json:
    made: Json = {
        "job_id": job,
        "name": f"job-{job}",
        "job_state": [state],
        "partition": "gpu",
        "qos": qos,
        "account": "lab",
        "user_name": "ann",
        "priority": number(priority),
        "het_job_id": number(0),
        "submit_time": number(_EPOCH - 6 * _HOUR),
        "state_reason": "None",
        "comment": "",
    }
    if parser < 42:
        made |= {"exclusive": [], "oversubscribe": True}
    if parser < 45:
        made["shared"] = []
    return made


def _slurm_waiting(number: Number, parser: int) -> Json:
    return _common(number, parser, 9, "high", "PENDING", 5000) | {
        "state_reason": "Resources",
        "nodes": "",
        "node_count": number(2),
        "max_nodes": number(0),
        "cpus": number(32),
        "tasks": number(2),
        "cpus_per_task": number(16),
        "tasks_per_node": number(0),
        "memory_per_node": number(32768),
        "memory_per_cpu": number(None),
        "tres_per_node": "gres/gpu:8",
        "tres_req_str": "cpu=32,mem=64G,node=2,gres/gpu=16",
        "start_time": number(0),
        "time_limit": number(None, infinite=True),
        "job_resources": None,
    }
