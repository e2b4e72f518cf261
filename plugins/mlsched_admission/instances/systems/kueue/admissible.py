"""Workloads that Kueue ignores, each with the reason (the list at the end of section K)."""

from __future__ import annotations

from mlsched.core.errors import did_you_mean
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.systems.kueue.snapshot import Snapshot, Workload

_DELAYING = ("kueue.x-k8s.io/provisioning-request", "kueue.x-k8s.io/multikueue")


def mark_inadmissible(snapshot: Snapshot, by_kind: k8s.Objects) -> None:
    """Mark queues that are inactive and workloads that are not admissible; give waiting workloads their queue."""
    _mark_inactive_queues(snapshot, by_kind)
    local = {k8s.full_name(one): one for one in by_kind.get("LocalQueue", [])}
    entries = {k8s.full_name(one): one for one in by_kind.get("Workload", [])}
    spaces = {one.needed("metadata", "name"): one for one in by_kind.get("Namespace", [])}
    selectors = {one.needed("metadata", "name"): one for one in by_kind.get("ClusterQueue", [])}
    ranges: dict[str, list[Entry]] = {}
    for one in by_kind.get("LimitRange", []):
        ranges.setdefault(one.text("metadata", "namespace"), []).append(one)
    stated = any(one.get("spec", "namespaceSelector") is not None for one in selectors.values())
    controllers = {one.needed("metadata", "name"): one for one in by_kind.get("AdmissionCheck", [])}
    for workload in snapshot.waiting.values():
        entry = entries[workload.name]
        space = entry.text("metadata", "namespace")
        workload.inadmissible = _find_queue(snapshot, workload, entry, space, local)
        if not workload.inadmissible:
            workload.inadmissible = (
                _why_outside(selectors[workload.queue], spaces.get(space), stated)
                or _why_held_back(entry)
                or _beyond_limits(entry, ranges.get(space, []))
            )
        if not workload.inadmissible:
            workload.delayed = _is_delayed(snapshot, workload, entry, controllers)


def _mark_inactive_queues(snapshot: Snapshot, by_kind: k8s.Objects) -> None:
    """Name why queues are stopped or inactive; flavors and checks are only looked for if the state has any."""
    checks = {one.needed("metadata", "name") for one in by_kind.get("AdmissionCheck", [])}
    for entry in by_kind.get("ClusterQueue", []):
        queue = snapshot.queues[entry.needed("metadata", "name")]
        if entry.text("spec", "stopPolicy", default="None") != "None":
            queue.inactive = f"queue {queue.name} is stopped (stopPolicy)"
        flavor_names = [flavor for _, names in queue.groups for flavor in names]
        missing = [flavor for flavor in flavor_names if snapshot.flavors and flavor not in snapshot.flavors]
        missing += [one for one in queue.checks if checks and one not in checks]
        missing += [topology for flavor in flavor_names if (topology := snapshot.forest.missing.get(flavor))]
        if missing:
            queue.inactive = f"queue {queue.name} is inactive: {missing[0]} does not exist"


def _find_queue(snapshot: Snapshot, workload: Workload, entry: Entry, space: str, local: dict[str, Entry]) -> str:
    """Find the queue of a waiting workload; return why it is not queued."""
    name = entry.text("spec", "queueName")
    if not name:
        return "it has no queueName, so Kueue does not queue it"
    queue = local.get(f"{space}/{name}" if space else name)
    if queue is None:
        return f"its LocalQueue {name!r} is not in the state; add the output of `kubectl get localqueues -A -o json`"
    cluster = queue.needed("spec", "clusterQueue")
    if cluster not in snapshot.queues:
        queue_names = list(snapshot.queues)
        remedy = did_you_mean(cluster, queue_names)
        return f"ClusterQueue {cluster!r} of its LocalQueue {name!r} is not in the state{remedy}"
    workload.queue = cluster
    if entry.get("spec", "active") is False:
        return "it is not active"
    if queue.text("spec", "stopPolicy", default="None") != "None":
        return f"its queue {name} is stopped (stopPolicy)"
    return snapshot.queues[cluster].inactive


def _why_outside(queue: Entry, space: Entry | None, stated: bool) -> str:
    """Return why the namespace does not match; missing labels are taken to match.

    stated: some queue has a selector; only then a queue without one matches zero namespaces and is not one that was
    left out.
    """
    if queue.get("spec", "namespaceSelector") is None:
        return "its queue has no namespaceSelector, so it matches no namespace" if stated else ""
    if space is None:
        return ""
    labels = space.mapping("metadata", "labels")
    labels.setdefault("kubernetes.io/metadata.name", space.needed("metadata", "name"))
    if k8s.selector_matches(queue.under("spec", "namespaceSelector"), labels):
        return ""
    return f"namespace {space.needed('metadata', 'name')} does not match the queue's namespaceSelector"


def _why_held_back(entry: Entry) -> str:
    for one in entry.entries("status", "admissionChecks"):
        if one.text("state") in ("Retry", "Rejected"):
            return f"admission check {one.text('name')} is in state {one.text('state')}"
    for one in entry.entries("status", "conditions"):
        if one.text("type") == "Requeued" and one.text("status") == "False":
            return "it is not requeued yet (condition Requeued)"
    return ""


def _is_delayed(snapshot: Snapshot, workload: Workload, entry: Entry, controllers: dict[str, Entry]) -> bool:
    """Return whether an admission check delays the placement until it is ready."""
    ready = {one.text("name") for one in entry.entries("status", "admissionChecks") if one.text("state") == "Ready"}
    return any(
        controllers[name].text("spec", "controllerName") in _DELAYING
        for name in snapshot.queues[workload.queue].checks
        if name in controllers and name not in ready
    )


def _beyond_limits(entry: Entry, ranges: list[Entry]) -> str:
    """Return which request is above its own limit, or outside of a LimitRange."""
    for pod_set in entry.entries("spec", "podSets"):
        spec = pod_set.under("template", "spec")
        whole = k8s.requests(spec)
        containers = [*spec.entries("containers"), *spec.entries("initContainers")]
        for one in containers:
            requests, most = _amounts_of_container(one, "requests"), _amounts_of_container(one, "limits")
            for resource, amount in requests.items():
                if resource in most and amount > most[resource]:
                    return f"a container requests more {resource} than its own limit"
        for limits in ranges:
            for limit in limits.entries("spec", "limits"):
                kind = limit.text("type")
                subjects = [_amounts_of_container(one, "requests") for one in containers]
                subjects = [whole] if kind == "Pod" else subjects if kind == "Container" else []
                for subject in subjects:
                    if resource := _outside_range(subject, limit):
                        return f"its requests of {resource} are outside of LimitRange {limits.text('metadata', 'name')}"
    return ""


def _amounts_of_container(container: Entry, which: str) -> dict[str, int]:
    return k8s.amounts(container, "resources", which, cap=True)


def _outside_range(subject: dict[str, int], limit: Entry) -> str:
    most, least = k8s.amounts(limit, "max"), k8s.amounts(limit, "min")
    for resource, amount in subject.items():
        if amount > most.get(resource, amount) or amount < least.get(resource, amount):
            return resource
    return ""
