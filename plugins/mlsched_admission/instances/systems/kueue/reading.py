"""The objects of a state as a snapshot (rules K1 to K4, K8)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from mlsched.core.errors import InvalidInput, did_you_mean
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states import values
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.systems.kueue import admissible
from mlsched_admission.instances.systems.kueue.config import read_config
from mlsched_admission.instances.systems.kueue.snapshot import Config, Placement, PodSet, Queue, Snapshot, Workload
from mlsched_admission.instances.systems.kueue.topology import Forest
from mlsched_admission.instances.systems.kueue.tree import Node

BOOST = "kueue.x-k8s.io/priority-boost"
#: Marks of pods that a workload's assignment counts already.
OWNED = ("kueue.x-k8s.io/tas", "kueue.x-k8s.io/podset", "kueue.x-k8s.io/workload")
_POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
#: Cohorts that lie under each other at most.
MOST_DEPTH = 100
#: Most pods of all assignments together: a few numbers can stand for any number of them.
MOST_PODS = 1_000_000


def read_snapshot(by_kind: k8s.Objects) -> Snapshot:
    """Return the snapshot of these objects."""
    config = read_config(by_kind) or Config()
    cohorts, queues = _nodes_and_queues(by_kind)
    flavors = {one.needed("metadata", "name"): one for one in by_kind.get("ResourceFlavor", [])}
    forest = _forest_of_state(by_kind, flavors)
    for queue in queues.values():
        flavor_names = [flavor for _, names in queue.groups for flavor in names]
        queue.topologies_only = bool(flavor_names) and all(flavor in forest.levels for flavor in flavor_names)
    snapshot = Snapshot(config, queues, cohorts, {}, {}, flavors, forest, any_flavor=not flavors)
    placed = 0
    for entry in by_kind.get("Workload", []):
        if k8s.condition(entry, "Finished"):
            continue
        one = _workload_of_entry(entry, snapshot)
        if k8s.condition(entry, "QuotaReserved") and entry.get("status", "admission") is not None:
            _fill_in_usage(entry, one, snapshot)
            placed += sum(pods for *_, pods in one.placements)
            if placed > MOST_PODS:
                entry.fail(f"its pods and those before are more than {MOST_PODS}", "choose a part of the cluster")
            snapshot.running[one.name] = one
            snapshot.restore_workload(one)
        else:
            snapshot.waiting[one.name] = one
    admissible.mark_inadmissible(snapshot, by_kind)
    return snapshot


# --- queues and cohorts ----------------------------------------------------------------------------------------------


def _nodes_and_queues(by_kind: k8s.Objects) -> tuple[dict[str, Node], dict[str, Queue]]:
    cohorts: dict[str, Node] = {}
    parents: dict[Node, str] = {}
    for entry in by_kind.get("Cohort", []):
        name = entry.needed("metadata", "name")
        cohorts[name] = node = Node(name, False, weight=_fair_weight(entry))
        parents[node] = entry.text("spec", "parentName") or entry.text("spec", "parent")
        read_quotas(node, entry)
    queues: dict[str, Queue] = {}
    for entry in by_kind.get("ClusterQueue", []):
        name = entry.needed("metadata", "name")
        node = Node(name, True, weight=_fair_weight(entry))
        queues[name] = _queue_of_entry(entry, node, read_quotas(node, entry))
        parents[node] = entry.text("spec", "cohortName") or entry.text("spec", "cohort")
    for node, above in list(parents.items()):
        if above:
            node.parent = cohorts.setdefault(above, Node(above, False))
            node.parent.children.append(node)
    for node in parents:
        _check_depth(node)
    for cohort in cohorts.values():
        cohort.children.sort(key=lambda child: child.name)
    return cohorts, queues


def _check_depth(node: Node) -> None:
    above, depth = node.parent, 0
    while above is not None:
        above, depth = above.parent, depth + 1
        if depth > MOST_DEPTH:
            raise InvalidInput(
                f"{node.name}: its cohorts form a cycle, or more than {MOST_DEPTH} lie under each other; "
                "correct spec.parentName"
            )


def _fair_weight(entry: Entry) -> Fraction:
    raw = entry.get("spec", "fairSharing", "weight")
    if raw is None:
        return Fraction(1)
    weight = values.parse_quantity(str(raw)) if type(raw) in (str, int, float) else None
    if weight is None or weight < 0:
        entry.bad(("spec", "fairSharing", "weight"), raw, "expected a quantity >= 0")
    return weight


def read_quotas(node: Node, entry: Entry) -> list[tuple[list[str], list[str]]]:
    """Read the quotas of a node; return its resource groups as (covered resources, flavors)."""
    groups = []
    for group in entry.entries("spec", "resourceGroups"):
        names, covered = [], group.texts("coveredResources")
        for flavor in group.entries("flavors"):
            names.append(flavor.needed("name"))
            for resource in flavor.entries("resources"):
                fr = (names[-1], resource.needed("name"))
                if fr[1] not in covered:
                    covered = [*covered, fr[1]]
                node.nominal[fr] = k8s.quantity(resource, fr[1], "nominalQuota") or 0
                for key, limits in (("borrowingLimit", node.borrowing), ("lendingLimit", node.lending)):
                    limit = k8s.quantity(resource, fr[1], key)
                    if limit is not None:
                        limits[fr] = limit
        groups.append((covered, names))
    return groups


def _queue_of_entry(entry: Entry, node: Node, groups: list[tuple[list[str], list[str]]]) -> Queue:
    preemption, fungibility = entry.under("spec", "preemption"), entry.under("spec", "flavorFungibility")
    threshold = preemption.get("borrowWithinCohort", "maxPriorityThreshold")
    checks = [*entry.texts("spec", "admissionChecks")]
    checks += [one.needed("name") for one in entry.entries("spec", "admissionChecksStrategy", "admissionChecks")]
    stops = ("MayStopSearch", "Borrow", "Preempt")  # v1beta1 wrote Borrow and Preempt
    return Queue(
        node.name,
        node,
        within=_word_in_field(preemption, ("withinClusterQueue",), _POLICIES),
        reclaim=_word_in_field(preemption, ("reclaimWithinCohort",), _POLICIES),
        borrow=_word_in_field(preemption, ("borrowWithinCohort", "policy"), ("Never", "LowerPriority")) != "Never",
        threshold=None if threshold is None else preemption.whole("borrowWithinCohort", "maxPriorityThreshold"),
        groups=groups,
        can_borrow_next=fungibility.text("whenCanBorrow", default="MayStopSearch") not in stops,
        can_preempt_next=fungibility.text("whenCanPreempt", default="TryNextFlavor") not in stops,
        prefer_preemption=fungibility.text("preference") == "PreemptionOverBorrowing",
        strict=entry.text("spec", "queueingStrategy") == "StrictFIFO",
        checks=checks,
    )


def _word_in_field(entry: Entry, keys: tuple[str, ...], choices: tuple[str, ...]) -> str:
    word = entry.text(*keys, default="Never")
    if word not in choices:
        entry.bad(keys, word, f"expected one of {', '.join(choices)}")
    return word


# --- workloads -------------------------------------------------------------------------------------------------------


def _workload_of_entry(entry: Entry, snapshot: Snapshot) -> Workload:
    name = k8s.full_name(entry)
    queued = k8s.time_of(entry, "metadata", "creationTimestamp") or 0
    evicted = k8s.condition(entry, "Evicted")
    if evicted is not None and evicted.text("reason") in ("PodsReadyTimeout", "AdmissionCheck"):
        queued = k8s.time_of(evicted, "lastTransitionTime") or queued
    workload = Workload(name, entry.text("metadata", "uid"), "", priority_of(entry, snapshot.config), queued)
    workload.evicted = evicted is not None
    workload.gated = bool(entry.items("spec", "preemptionGates"))
    reclaimable = {one.needed("name"): one.whole("count", low=0) for one in entry.entries("status", "reclaimablePods")}
    for one in entry.entries("spec", "podSets"):
        label, spec = one.text("name", default="main"), one.under("template", "spec")
        count = max(0, one.whole("count", default=1, low=0) - reclaimable.get(label, 0))
        least = one.get("minCount")
        minimum = count if least is None else min(count, one.whole("minCount", low=0))
        request = one.under("topologyRequest")
        each = transformed(k8s.requests(spec), snapshot.config)
        workload.pod_sets.append(PodSet(label, count, minimum, each, spec, request, request.text("podSetGroupName")))
    return workload


def priority_of(entry: Entry, config: Config) -> int:
    """Return the priority of a workload (K8); the boost counts only with its feature gate."""
    own = entry.whole("spec", "priority")
    boost = entry.mapping("metadata", "annotations").get(BOOST)
    if boost is None or not config.feature_enabled("PriorityBoost", False):
        return own
    if not boost.lstrip("-").isdecimal() or len(boost) > 10:
        entry.bad(("metadata", "annotations", BOOST), boost, "expected an integer")
    return own + int(boost)


def transformed(requests: Mapping[str, int], config: Config) -> dict[str, int]:
    """Return requests after the configured transformations (K1)."""
    included = {r: n for r, n in requests.items() if not r.startswith(config.excluded)} if config.excluded else {}
    result = dict(included) if config.excluded else dict(requests)
    for source, keep, factors, times in config.transformations:
        if source not in requests:
            continue
        amount = Fraction(requests[source], 1000 if source == "cpu" else 1)
        by = Fraction(requests.get(times, 0), 1000 if times == "cpu" else 1) if times else Fraction(1)
        for output, factor in factors.items():
            more = (values.parse_quantity(factor) or Fraction(0)) * math.ceil(amount) * math.ceil(by)
            result[output] = result.get(output, 0) + math.ceil(more * (1000 if output == "cpu" else 1))
        if not keep:
            result.pop(source, None)
    return result


def _fill_in_usage(entry: Entry, one: Workload, snapshot: Snapshot) -> None:
    """Fill in the usage of an admitted workload (K2, K3) and its pods by domain."""
    one.queue = entry.needed("status", "admission", "clusterQueue")
    if one.queue not in snapshot.queues:
        entry.fail(
            f"was admitted by ClusterQueue {one.queue!r}, which is missing in the state"
            f"{did_you_mean(one.queue, list(snapshot.queues))}",
            "add the output of `kubectl get clusterqueues -o json`",
        )
    reservation = k8s.condition(entry, "QuotaReserved")
    one.reserved = 0 if reservation is None else k8s.time_of(reservation, "lastTransitionTime") or 0
    pod_counts = {part.name: part.count for part in one.pod_sets}
    for part in entry.entries("status", "admission", "podSetAssignments"):
        label, flavors = part.text("name", default="main"), part.mapping("flavors")
        count = part.whole("count", default=1, low=0)
        each: dict[str, int] = {"pods": 1}
        for resource, usage in k8s.amounts(part, "resourceUsage").items():
            if resource not in flavors:
                continue
            amount = usage if pod_counts.get(label, count) >= count else usage // count * pod_counts[label]
            fr = (flavors[resource], resource)
            one.usage[fr] = one.usage.get(fr, 0) + amount
            if count and resource != "pods":
                each[resource] = usage // count
        one.placements += _placements(part, flavors, each, snapshot.forest)


def _placements(part: Entry, flavors: Mapping[str, str], each: dict[str, int], forest: Forest) -> list[Placement]:
    flavor = next((one for one in flavors.values() if one in forest.levels), None)
    if flavor is None or part.get("topologyAssignment") is None:
        return []
    return [(flavor, tuple(place), each, pods) for place, pods in domains_of(part.under("topologyAssignment"))]


def domains_of(assignment: Entry) -> Iterator[tuple[list[str], int]]:
    """Yield (values by level, pods) of each domain, as v1beta1 or as v1beta2 writes them."""
    for one in assignment.entries("domains"):
        yield one.texts("values"), _pod_count_in(one, "count")
    for one in assignment.entries("slices"):
        count = one.whole("domainCount", low=1)
        if count > MOST_PODS:
            one.bad(("domainCount",), count, f"expected at most {MOST_PODS}")
        columns = [_values_of_level(column, count) for column in one.entries("valuesPerLevel")]
        counts = one.items("podCounts", "individual") or [one.get("podCounts", "universal")] * count
        if len(counts) != count or any(type(n) is not int or not 0 < n <= MOST_PODS for n in counts):
            one.bad(("podCounts",), one.get("podCounts"), f"must give the pods of each of its {count} domains")
        for index in range(count):
            yield [column[index] for column in columns], counts[index]


def _pod_count_in(one: Entry, key: str) -> int:
    count = one.whole(key, low=0)
    if count > MOST_PODS:
        one.bad((key,), count, f"expected at most {MOST_PODS}")
    return count


def _values_of_level(column: Entry, count: int) -> list[str]:
    """Return a level's values, of which only what differs is written."""
    if column.get("universal") is not None:
        return [column.text("universal")] * count
    each = column.under("individual")
    prefix, suffix = each.text("prefix"), each.text("suffix")
    roots = each.texts("roots")
    if len(roots) != count:
        each.bad(("roots",), roots, f"expected {count} entries, one for each domain")
    return [f"{prefix}{root}{suffix}" for root in roots]


# --- nodes -----------------------------------------------------------------------------------------------------------


def _forest_of_state(by_kind: k8s.Objects, flavors: Mapping[str, Entry]) -> Forest:
    topologies = {
        one.needed("metadata", "name"): [level.needed("nodeLabel") for level in one.entries("spec", "levels")]
        for one in by_kind.get("Topology", [])
    }
    levels, missing = {}, {}
    for name, flavor in flavors.items():
        topology = flavor.text("spec", "topologyName")
        if not topology:
            continue
        if topology not in topologies and topologies:
            missing[name] = topology
            continue
        if not topologies:
            flavor.fail(
                f"spec.topologyName = {topology!r}: it is missing in the state",
                "add the output of `kubectl get topologies -o json`",
            )
        if not topologies[topology]:
            flavor.fail(f"its topology {topology!r} lacks levels", "correct its spec.levels")
        levels[name] = topologies[topology]
    machines = k8s.machines_by_name(by_kind) if levels else {}
    forest = Forest(levels, machines, flavors, _amounts_by_node(by_kind) if levels else {})
    forest.missing = missing
    return forest


def _amounts_by_node(by_kind: k8s.Objects) -> dict[str, dict[str, int]]:
    """Return the amounts of running pods outside of topology-aware scheduling on each node."""
    usage: dict[str, dict[str, int]] = {}
    for pod in by_kind.get("Pod", []):
        node = pod.text("spec", "nodeName")
        marks = {**pod.mapping("metadata", "labels"), **pod.mapping("metadata", "annotations")}
        if not node or pod.text("status", "phase") in ("Succeeded", "Failed") or any(mark in marks for mark in OWNED):
            continue
        there = usage.setdefault(node, {})
        for resource, amount in {**k8s.requests(pod.under("spec")), "pods": 1}.items():
            there[resource] = there.get(resource, 0) + amount
    return usage
