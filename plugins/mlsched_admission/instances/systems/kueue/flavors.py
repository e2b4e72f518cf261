"""Kueue's assignment of flavors to a waiting workload (rules F1 to F7, T6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.objects import expression, tolerates
from mlsched_admission.instances.systems.kueue.requests import Placed, Unit, constraint
from mlsched_admission.instances.systems.kueue.snapshot import PodSet, Queue, Snapshot, Workload
from mlsched_admission.instances.systems.kueue.tree import Amounts, FlavorResource

NONE, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
#: Podset -> resource -> flavor.
Pinned = Mapping[str, Mapping[str, str]]
#: Finds victims for a workload's amounts, some of them contested; None if all candidates do not suffice.
Preemption = Callable[[Snapshot, Workload, Amounts, frozenset[FlavorResource], "list[Unit]"], "list[Workload] | None"]


@dataclass
class Assigned:
    """The flavors of a podset, its pods, and its domains if it is placed."""

    flavors: dict[str, str]
    count: int
    domains: Placed | None = None


@dataclass
class Assignment:
    """Flavors for a workload. mode: the worst of its pairs (F6); contested: the pairs that need preemption."""

    pod_sets: dict[str, Assigned] = field(default_factory=dict)
    usage: Amounts = field(default_factory=dict)
    modes: dict[tuple[str, str], int] = field(default_factory=dict)
    contested: frozenset[FlavorResource] = frozenset()
    units: list[Unit] = field(default_factory=list)
    height: int = 0
    mode: int = FIT
    why: str = ""

    @property
    def fits(self) -> bool:
        """Return whether the workload starts without preemption."""
        return self.mode == FIT

    @property
    def impossible(self) -> bool:
        """Return whether preemption cannot help."""
        return self.mode == NONE


def requests_of_pods(queue: Queue, one: PodSet, count: int) -> dict[str, int]:
    """Return the requests of a podset (K1): count times a pod, and `pods` if a group covers them."""
    covered = {resource for names, _ in queue.groups for resource in names}
    total = {r: count * amount for r, amount in one.each.items() if count * amount or r in covered}
    if "pods" in covered:
        total["pods"] = count
    return total


def assign_flavors(
    snapshot: Snapshot, workload: Workload, preemption: Preemption, counts: Mapping[str, int], pinned: Pinned | None
) -> Assignment:
    """Return the flavors that Kueue's assigner chooses; `counts` are the pods of each podset."""
    queue = snapshot.queues[workload.queue]
    assignment = Assignment()
    for members in _units_of_workload(workload):
        request: dict[str, int] = {}
        for one in members:
            for resource, amount in requests_of_pods(queue, one, counts[one.name]).items():
                request[resource] = request.get(resource, 0) + amount
        choices: dict[str, tuple[str, int, int]] = {}
        for resource in sorted(request):
            if resource in choices:
                continue
            group = next((g for g in queue.groups if resource in g[0]), None)
            best = _best_flavor(snapshot, workload, preemption, members, request, group, assignment.usage, pinned)
            if best is None:
                assignment.mode, assignment.why = (
                    NONE,
                    _why_no_flavor(snapshot, queue, members, request, group, resource),
                )
                return assignment
            flavor, rated = best
            choices |= {r: (flavor, *rating) for r, rating in rated.items()}
        _record_flavors(assignment, queue, members, counts, choices)
    assignment.mode = min(assignment.modes.values(), default=FIT)
    if assignment.mode not in (FIT, NONE):
        assignment.mode = PREEMPT
    assignment.contested = frozenset(
        (flavor, resource)
        for (name, resource), mode in assignment.modes.items()
        if mode != FIT
        for flavor in [assignment.pod_sets[name].flavors[resource]]
    )
    _place_pod_sets(snapshot, queue, workload, assignment)
    return assignment


def _why_no_flavor(
    snapshot: Snapshot,
    queue: Queue,
    members: list[PodSet],
    request: Mapping[str, int],
    group: tuple[list[str], list[str]] | None,
    resource: str,
) -> str:
    """Return why the queue's flavors cannot serve the request of these podsets for a resource."""
    if group is None:
        return f"queue {queue.name} has no quota of {resource}"
    resources = sorted(r for r in request if r in group[0])
    if not any(flavor_suits(snapshot, queue, flavor, members, resources) for flavor in group[1]):
        return f"no flavor of queue {queue.name} suits its pods for {resource} (taints, labels, or topology)"
    return f"no flavor of queue {queue.name} can hold its {resource}, and Kueue tries no preemption for it"


def _units_of_workload(workload: Workload) -> Iterator[list[PodSet]]:
    """Yield podsets one by one, those of a group together, in order of first appearance (F1)."""
    groups: set[str] = set()
    for one in workload.pod_sets:
        if not one.group:
            yield [one]
        elif one.group not in groups:
            groups.add(one.group)
            yield [other for other in workload.pod_sets if other.group == one.group]


def _best_flavor(
    snapshot: Snapshot,
    workload: Workload,
    preemption: Preemption,
    members: list[PodSet],
    request: Mapping[str, int],
    group: tuple[list[str], list[str]] | None,
    earlier: Amounts,
    pinned: Pinned | None,
) -> tuple[str, dict[str, tuple[int, int]]] | None:
    """Return the flavor for a resource group and (mode, height) of each resource (F4, F5)."""
    if group is None:
        return None
    queue = snapshot.queues[workload.queue]
    resources = sorted(r for r in request if r in group[0])
    best: tuple[tuple[int, ...], str, dict[str, tuple[int, int]]] | None = None
    for flavor in group[1]:
        if pinned is not None and any(
            pinned.get(one.name, {}).get(r, flavor) != flavor for one in members for r in resources
        ):
            continue
        if not flavor_suits(snapshot, queue, flavor, members, resources):
            continue
        rated = {}
        for resource in resources:
            fr = (flavor, resource)
            rated[resource] = _mode_and_height(
                snapshot, workload, preemption, fr, earlier.get(fr, 0) + request[resource]
            )
        mode = min(mode for mode, _ in rated.values())
        height = max(height for _, height in rated.values())
        rank = _flavor_rank(queue, mode, height)
        if mode != NONE and (best is None or rank > best[0]):
            best = rank, flavor, rated
        try_next = (
            mode in (NONE, NO_CANDIDATES)
            or (mode in (PREEMPT, RECLAIM) and queue.can_preempt_next)
            or (height > 0 and queue.can_borrow_next)
        )
        if not try_next:
            break
    return None if best is None else (best[1], best[2])


def _flavor_rank(queue: Queue, mode: int, height: int) -> tuple[int, ...]:
    """Rank a flavor (F4): higher mode, then lower height; with PreemptionOverBorrowing the height first."""
    if mode <= NO_CANDIDATES:
        return (mode, 0, 0)
    return (2, -height, mode) if queue.prefer_preemption else (2, mode, -height)


def _mode_and_height(
    snapshot: Snapshot, workload: Workload, preemption: Preemption, fr: FlavorResource, amount: int
) -> tuple[int, int]:
    """Return the mode of `amount` of one pair of flavor and resource, and its height of borrowing (F3)."""
    queue = snapshot.queues[workload.queue]
    node = queue.node
    if amount > node.potential(fr):
        return NONE, 0
    height, smaller = node.borrowing_height(fr, amount)
    if amount <= node.available(fr):
        return FIT, height
    if not may_preempt(snapshot, queue, fr, amount, smaller):
        return NONE, height
    victims = preemption(snapshot, workload, {fr: amount}, frozenset({fr}), [])
    if not victims:
        return NO_CANDIDATES, height
    with snapshot.without_workloads(victims):
        height, _ = node.borrowing_height(fr, amount)
    own = any(victim.queue == queue.name for victim in victims)
    return (PREEMPT if own else RECLAIM), height


def may_preempt(snapshot: Snapshot, queue: Queue, fr: FlavorResource, amount: int, smaller: bool) -> bool:
    """Return whether Kueue tries preemption for the pair (F3)."""
    nominal = queue.node.nominal.get(fr, 0) >= amount
    fair = snapshot.config.fair and queue.reclaim != "Never"
    return nominal or smaller or queue.borrow or fair


def flavor_suits(snapshot: Snapshot, queue: Queue, flavor: str, members: list[PodSet], resources: list[str]) -> bool:
    """Return whether the pods may use the flavor (F2)."""
    entry = snapshot.flavors.get(flavor)
    if entry is None:
        return snapshot.any_flavor
    return all(
        _tolerates_taints(one.spec, entry)
        and _matches_labels(one.spec, entry.mapping("spec", "nodeLabels"))
        and _agrees_on_topology(snapshot, queue, flavor, one, resources)
        for one in members
    )


def _tolerates_taints(spec: Entry, flavor: Entry) -> bool:
    tolerations = [*spec.entries("tolerations"), *flavor.entries("spec", "tolerations")]
    for taint in flavor.entries("spec", "nodeTaints"):
        mark = (taint.needed("key"), taint.text("value"), taint.text("effect"))
        if mark[2] in ("NoSchedule", "NoExecute") and not any(tolerates(one, mark) for one in tolerations):
            return False
    return True


def _matches_labels(spec: Entry, labels: Mapping[str, str]) -> bool:
    """Return whether selector and affinity are satisfied by the flavor's own label keys."""
    if any(key in labels and labels[key] != value for key, value in spec.mapping("nodeSelector").items()):
        return False
    required = spec.under("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = [
        [one for one in term.entries("matchExpressions") if one.needed("key") in labels]
        for term in required.entries("nodeSelectorTerms")
    ]
    return not terms or any(all(expression(one, labels) for one in term) for term in terms)


def _agrees_on_topology(snapshot: Snapshot, queue: Queue, flavor: str, one: PodSet, resources: list[str]) -> bool:
    """Return whether flavor and podset agree on topology."""
    levels = snapshot.forest.levels.get(flavor)
    if not snapshot.config.feature_enabled("TopologyAwareScheduling", True):
        return True
    if one.explicit:
        if levels is None:
            return not any(one.each.get(resource) for resource in resources)
        return constraint(one.request, levels) is not None
    return levels is None or queue.topologies_only


def _record_flavors(
    assignment: Assignment,
    queue: Queue,
    members: list[PodSet],
    counts: Mapping[str, int],
    choices: Mapping[str, tuple[str, int, int]],
) -> None:
    """Add the flavors of a unit to the assignment."""
    for one in members:
        request = requests_of_pods(queue, one, counts[one.name])
        flavors = {resource: choices[resource][0] for resource in request}
        assignment.pod_sets[one.name] = Assigned(flavors, counts[one.name])
        for resource, amount in request.items():
            fr = (flavors[resource], resource)
            assignment.usage[fr] = assignment.usage.get(fr, 0) + amount
            assignment.modes[one.name, resource] = choices[resource][1]
            assignment.height = max(assignment.height, choices[resource][2])


def topology_units(snapshot: Snapshot, queue: Queue, workload: Workload, assignment: Assignment) -> list[Unit]:
    """Return the groups of podsets that need a placement, with their requests per pod.

    Without an explicit request for a topology, only podsets of queues whose flavors all have one need it.
    """
    if not snapshot.config.feature_enabled("TopologyAwareScheduling", True):
        return []
    units = []
    for members in _units_of_workload(workload):
        flavors = {f for one in members for r, f in assignment.pod_sets[one.name].flavors.items() if one.each.get(r)}
        flavor = next((f for f in sorted(flavors) if f in snapshot.forest.levels), None)
        implied = not any(one.explicit for one in members)
        if flavor is None or (implied and not queue.topologies_only):
            continue
        counts = {one.name: assignment.pod_sets[one.name].count for one in members}
        each = {one.name: {**{r: n for r, n in one.each.items() if r != "pods"}, "pods": 1} for one in members}
        units.append(Unit(flavor, members, counts, each, implied))
    return units


def _place_pod_sets(snapshot: Snapshot, queue: Queue, workload: Workload, assignment: Assignment) -> None:
    """Find domains for topology podsets, or change the mode (T6)."""
    if assignment.mode == NONE or workload.delayed:
        return
    assignment.units = topology_units(snapshot, queue, workload, assignment)
    if not assignment.units:
        return
    if assignment.mode == FIT:
        placed = snapshot.forest.find_placement(assignment.units)
        if placed is not None:
            write_placement(assignment, placed)
            return
        assignment.mode = PREEMPT
    alone = snapshot.forest.find_placement(assignment.units, empty=True)
    if alone is None:
        assignment.mode, assignment.why = NONE, "no placement exists even on empty nodes"
        return
    write_placement(assignment, alone)
    names = {one.name for unit in assignment.units for one in unit.members}
    assignment.contested |= {
        (flavor, resource) for name in names for resource, flavor in assignment.pod_sets[name].flavors.items()
    }


def write_placement(assignment: Assignment, placed: Mapping[str, Placed]) -> None:
    """Write a placement into the assignment."""
    for name, where in placed.items():
        assignment.pod_sets[name].domains = where


def reduced_counts(workload: Workload, step: int) -> dict[str, int]:
    """Return the pods of each podset after `step` steps of partial admission (F7)."""
    spare = {one.name: max(0, one.count - one.minimum) for one in workload.pod_sets}
    total = sum(spare.values())
    return {one.name: one.count - (spare[one.name] * step // total if total else 0) for one in workload.pod_sets}
