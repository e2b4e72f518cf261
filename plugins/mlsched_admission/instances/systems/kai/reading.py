"""A snapshot of KAI as a session (fields and defaults of section 5, A1, A2)."""

from __future__ import annotations

import math

from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states import values
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.systems.kai.model import (
    BOUND,
    GATED,
    GPU,
    PENDING,
    RELEASING,
    RUNNING,
    Job,
    Node,
    Pod,
    Queue,
    Session,
    Vector,
    mig_gpus,
)

GROUP, FRACTION, MEMORY, DEVICES = "pod-group-name", "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
SUBGROUP, TASK_PRIORITY, DEVICE_GROUP = "kai.scheduler/subgroup-name", "kai.scheduler/task-priority", "runai-gpu-group"
GPU_RESOURCE = "nvidia.com/gpu"
QUEUE_PRIORITY, UNKNOWN_PRIORITY, NON_PREEMPTIBLE = 100, 50, 100
#: Factors from the units of queues to those of `Vector`.
_UNITS = {"cpu": 1, "memory": 10**6, "gpu": GPU}
#: Largest amount of a queue in its own unit.
MOST_AMOUNT = 2**40


def read_session(by_kind: k8s.Objects, machines: dict[str, k8s.Machine]) -> Session:
    """Return the session of these objects, and of the nodes among them as machines."""
    placing = k8s.Placing(machines)
    nodes, total, smallest = _nodes_of_machines(machines)
    queues = _queues_by_name(by_kind)
    jobs = {k8s.full_name(group): _job_of_group(group, by_kind) for group in by_kind["PodGroup"]}
    session = Session(nodes, queues, jobs, total, smallest)
    for entry in by_kind["Pod"]:
        if entry.text("status", "phase") in ("Succeeded", "Failed"):
            continue
        space, name = entry.text("metadata", "namespace"), entry.mapping("metadata", "annotations").get(GROUP, "")
        job = jobs.get(f"{space}/{name}" if space else name)
        pod = _pod_of_entry(entry, job or Job("", "", "", 0, 0, preemptible=False, minima={"": 1}))
        pod.open_to = placing.nodes_of(entry.under("spec"))
        status, node, groups = pod.status, pod.node, pod.groups
        pod.status, pod.node = PENDING, ""
        if job is not None:
            job.pods.append(pod)
        session.set_status(pod, status, node, groups)
    return session


def _nodes_of_machines(machines: dict[str, k8s.Machine]) -> tuple[dict[str, Node], Vector, int]:
    nodes, smallest = {}, 0
    totals = [0, 0, 0]
    for name in sorted(machines):
        machine = machines[name]
        room = {key: amount for key, amount in machine.room.items() if key != GPU_RESOURCE}
        room["gpu"] = machine.room.get(GPU_RESOURCE, 0)
        room.setdefault("pods", 110)
        label = machine.labels.get("nvidia.com/gpu.memory", "")
        labelled = label.isdecimal() and len(label) < 10
        device = (int(label) // 100 * 100 if labelled else 0) or 100
        if room["gpu"] and labelled:
            smallest = min(smallest or device, device)
        strategy = machine.labels.get("nvidia.com/mig.strategy", "")
        nodes[name] = Node(name, room, device, strategy, usable=not machine.closed, labelled=labelled)
        if not machine.closed:
            migs = sum(mig_gpus(key) * n for key, n in room.items() if "/mig-" in key)
            totals[0] += room.get("cpu", 0)
            totals[1] += room.get("memory", 0)
            totals[2] += (room["gpu"] + migs) * GPU
    return nodes, (totals[0], totals[1], totals[2]), smallest or 100


def _queues_by_name(by_kind: k8s.Objects) -> dict[str, Queue]:
    queues = {}
    for entry in by_kind["Queue"]:
        name = entry.needed("metadata", "name")
        has_resources = entry.get("spec", "resources") is not None
        deserved = tuple(amount_of_queue(entry, key, "quota", has_resources) for key in _UNITS)
        limit = tuple(amount_of_queue(entry, key, "limit", has_resources) for key in _UNITS)
        weight = tuple(_queue_weight(entry, key, has_resources) for key in _UNITS)
        queues[name] = Queue(
            name,
            entry.text("spec", "parentQueue"),
            entry.whole("spec", "priority", default=QUEUE_PRIORITY),
            k8s.time_of(entry, "metadata", "creationTimestamp") or 0,
            deserved,  # type: ignore[arg-type]
            limit,  # type: ignore[arg-type]
            weight,  # type: ignore[arg-type]
        )
    for name, queue in queues.items():
        if queue.parent in queues:
            queues[queue.parent].children.append(name)
        above, visited = queue.parent, {name}
        while above in queues:
            if above in visited:
                raise InvalidInput(f"queue {above}: its parents form a cycle; correct spec.parentQueue")
            visited.add(above)
            above = queues[above].parent
    return queues


def amount_of_queue(entry: Entry, key: str, which: str, has_resources: bool) -> int:
    """Return an amount of a queue in the units of `Vector`; -1 is unlimited."""
    value = _number_in_field(entry, key, which)
    if value is None:
        return 0 if has_resources else -1
    return -1 if value < 0 else math.floor(value * _UNITS[key])


def _queue_weight(entry: Entry, key: str, has_resources: bool) -> float:
    value = _number_in_field(entry, key, "overQuotaWeight")
    return (0.0 if has_resources else 1.0) if value is None else max(0.0, float(value))


def _number_in_field(entry: Entry, key: str, which: str) -> float | None:
    value = entry.get("spec", "resources", key, which)
    if value is None:
        return None
    # Integers are compared before anything becomes a float: one of 400 digits has none.
    good = type(value) is int or (type(value) is float and math.isfinite(value))
    if not good or abs(value) > MOST_AMOUNT:
        entry.bad(("spec", "resources", key, which), value, "expected a number below 2^40, or -1")
    return float(value)


def _job_of_group(group: Entry, by_kind: k8s.Objects) -> Job:
    classes = {one.text("metadata", "name"): one.whole("value") for one in by_kind["PriorityClass"]}
    priority = classes.get(group.text("spec", "priorityClassName"), UNKNOWN_PRIORITY)
    text = group.text("spec", "preemptibility")
    minima = {
        one.needed("name"): max(0, one.whole("minMember", default=1, low=0))
        for one in group.entries("spec", "subGroups")
    }
    return Job(
        k8s.full_name(group),
        group.text("metadata", "uid") or k8s.full_name(group),
        group.text("spec", "queue"),
        priority,
        k8s.time_of(group, "metadata", "creationTimestamp") or 0,
        preemptible=text == "preemptible" or (not text and priority < NON_PREEMPTIBLE),
        minima=minima or {"": max(1, group.whole("spec", "minMember", default=1, low=0))},
    )


def _pod_of_entry(entry: Entry, job: Job) -> Pod:
    notes, labels = entry.mapping("metadata", "annotations"), entry.mapping("metadata", "labels")
    request = k8s.requests(entry.under("spec"))
    node = entry.text("spec", "nodeName")
    subgroup = labels.get(SUBGROUP, "")
    pod = Pod(
        k8s.full_name(entry),
        entry.text("metadata", "uid") or k8s.full_name(entry),
        job,
        subgroup if subgroup in job.minima else next(iter(job.minima)),
        _status_of_pod(entry, node),
        node,
        request.pop("cpu", 0),
        request.pop("memory", 0),
        gpus=request.pop(GPU_RESOURCE, 0),
        mig={name: n for name, n in request.items() if "/mig-" in name},
        others={name: n for name, n in request.items() if "/mig-" not in name and name != "pods"},
        priority=_whole_number(entry, labels.get(TASK_PRIORITY, "0"), TASK_PRIORITY),
        created=k8s.time_of(entry, "metadata", "creationTimestamp") or 0,
        nominated=entry.text("status", "nominatedNodeName"),
    )
    pod.devices = max(1, _whole_number(entry, notes.get(DEVICES, "1"), DEVICES))
    if FRACTION in notes:
        share = values.parse_quantity(notes[FRACTION])
        if share is None or not 0 < share <= 1:
            entry.bad(("metadata", "annotations", FRACTION), notes[FRACTION], "expected a share of a GPU, 0 to 1")
        pod.portion = math.ceil(GPU * share)
    elif MEMORY in notes:
        pod.gpu_memory = _whole_number(entry, notes[MEMORY], MEMORY)
    if pod.shared and pod.node:
        device_group = labels.get(DEVICE_GROUP, "")
        marks = sorted(value for key, value in labels.items() if key.startswith(f"{DEVICE_GROUP}/"))
        pod.groups = tuple(marks) if marks and pod.devices > 1 else (device_group or pod.name,)
    return pod


def _whole_number(entry: Entry, text: str, key: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 10:
        entry.bad(("metadata", key), text, "expected an integer")
    return int(text)


def _status_of_pod(entry: Entry, node: str) -> str:
    if entry.get("metadata", "deletionTimestamp") is not None:
        return RELEASING if node else GATED
    if not node:
        return GATED if entry.items("spec", "schedulingGates") else PENDING
    return RUNNING if entry.text("status", "phase") == "Running" else BOUND
