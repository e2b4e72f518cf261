"""The state of Kueue: workloads with their queues, cohorts and flavors, v1beta1 or v1beta2; with topologies, nodes too.

    kubectl get workloads,localqueues -A -o json > workloads.json
    kubectl get clusterqueues,cohorts,resourceflavors,topologies,admissionchecks,namespaces -o json > queues.json
    kubectl get configmap -n kueue-system kueue-manager-config -o json > config.json
    kubectl get nodes -o json > nodes.json; kubectl get pods -A -o json > pods.json     # if a flavor has a topology

A workload with reserved quota runs; one without waits in the ClusterQueue that its LocalQueue names. Kueue's own
program (`systems/kueue`) assigns flavors; the instance asks about these. Nodes, for topology-aware scheduling:
`kueue_places.py`.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Iterable, Mapping

from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import kueue_places
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.asked import Waiting, asked_about
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.losses import Losses, save_time_of
from mlsched_admission.instances.states.state import Job, Options, Quota, State, Unit
from mlsched_admission.instances.states.unmodelled import unmodelled_features
from mlsched_admission.instances.systems.kueue import cycle, fair, flavors, preemption
from mlsched_admission.instances.systems.kueue.flavors import Assignment
from mlsched_admission.instances.systems.kueue.reading import read_snapshot
from mlsched_admission.instances.systems.kueue.snapshot import Snapshot, Workload
from mlsched_admission.instances.systems.kueue.tree import Amounts, FlavorResource, Node

#: Most combinations of flavors that are examined one by one.
MOST_FREE = 64
#: Placeholder for a resource without a suitable flavor in the queue: its quota is 0.
UNCOVERED = "(none)"
#: Largest use of a flavor by a workload in an instance: more than any quota.
MOST_USE = 2**52


def read_kueue(by_kind: k8s.Objects, options: Options) -> list[State]:
    """Return the state of these objects: one, or one per combination of flavors that the requested workload may use."""
    for kind, command in (("Workload", "workloads -A"), ("ClusterQueue", "clusterqueues")):
        if not by_kind.get(kind):
            raise InvalidInput(f"{kind} is missing in the state; add the output of `kubectl get {command} -o json`")
    snapshot = read_snapshot(by_kind)
    state = State("kueue", model=snapshot)
    state.quotas = {_name_of_node(node): _quota_of_node(node) for node in _all_nodes(snapshot)}
    places = kueue_places.Places(by_kind, state, snapshot.forest.machines)
    entries = {k8s.full_name(entry): entry for entry in by_kind["Workload"]}
    _add_running(state, snapshot, entries, options, places)
    _record_counts(state, by_kind, snapshot)
    _record_unmodelled(state, snapshot)
    for one in snapshot.waiting.values():
        if one.inadmissible:
            state.held[one.name] = one.inadmissible

    def about(options_of_call: Options) -> list[State]:
        return _state_about_jobs(state.copy(), snapshot, entries, options_of_call, places)

    state.again = about
    return about(options)


def _state_about_jobs(
    state: State, snapshot: Snapshot, entries: Mapping[str, Entry], options: Options, places: kueue_places.Places
) -> list[State]:
    """Return the state with the requested jobs."""
    places.state = state
    line = [_place_in_line(one) for one in snapshot.waiting.values() if not one.inadmissible]
    if not line and state.held:
        name, reason = next(iter(state.held.items()))
        raise InvalidInput(f"{name}: {reason}; no other workload waits")
    names = asked_about(line, options, state)
    workloads = [snapshot.waiting[name] for name in names]
    reclaims = any(snapshot.queues[one.queue].reclaim != "Never" for one in workloads)
    state.above_nominal = reclaims and not snapshot.config.fair
    if len(workloads) > 1 and (state.above_nominal or options.flavors == "free"):
        why = "--flavors free" if options.flavors == "free" else "their queues reclaim from others"
        raise InvalidInput(f"{len(workloads)} jobs are named, and {why}: one at a time; name one --job")
    for one in workloads:
        state.leave_out(one.name, unmodelled_features("kueue", "Workload", entries[one.name]))
        if snapshot.config.block_admission:
            state.leave_out(one.name, ["waitForPodsReady.blockAdmission"])
    if options.flavors == "free" and workloads:
        return _state_per_combination(state, snapshot, workloads[0], entries[workloads[0].name], places)
    for one in workloads:
        assignment = cycle.nomination_of(snapshot, one).assignment
        if any(len(group[1]) > 1 for group in snapshot.queues[one.queue].groups):
            state.assume("flavors: as Kueue would choose them (--flavors free asks about all)")
        state.jobs[one.name] = _job_of_workload(state, snapshot, one, assignment, entries[one.name], places)
    return [state]


# --- queues ----------------------------------------------------------------------------------------------------------


def _all_nodes(snapshot: Snapshot) -> Iterable[Node]:
    return [*snapshot.cohorts.values(), *(queue.node for queue in snapshot.queues.values())]


def _name_of_node(node: Node) -> str:
    """Return a node's name; cohorts have a prefix, so that they never clash with queues."""
    return node.name if node.is_queue else f"cohort:{node.name}"


def _label_of_pair(fr: FlavorResource) -> str:
    return f"{fr[0]}/{fr[1]}"


def _amounts_by_label(amounts: Mapping[FlavorResource, int]) -> dict[str, int]:
    return {_label_of_pair(fr): amount for fr, amount in amounts.items()}


def _quota_of_node(node: Node) -> Quota:
    quota = Quota(
        _name_of_node(node), "" if node.parent is None else _name_of_node(node.parent), _amounts_by_label(node.nominal)
    )
    quota.borrow, quota.lend = dict(_amounts_by_label(node.borrowing)), dict(_amounts_by_label(node.lending))
    quota.used = _amounts_by_label(node.usage) if node.is_queue else {}
    return quota


def _record_unmodelled(state: State, snapshot: Snapshot) -> None:
    """Name the memory of Kueue and the features that the second program lacks."""
    config = snapshot.config
    if config.admission_fair:
        raise InvalidInput(
            "the manager's configuration turns on admissionFairSharing: past usage is in Kueue's memory; judge a "
            "cluster without it"
        )
    for gate in (
        "ConcurrentAdmission",
        "TASBalancedPlacement",
        "TASRespectNodeAffinityPreferred",
        "PrioritizePreemptorWorkloads",
    ):
        if config.feature_enabled(gate, False):
            raise InvalidInput(f"the manager's feature gate {gate} is not modelled; judge a cluster without it")


# --- running workloads -----------------------------------------------------------------------------------------------


def _add_running(
    state: State, snapshot: Snapshot, entries: Mapping[str, Entry], options: Options, places: kueue_places.Places
) -> None:
    """Add running units with their usage and places."""
    resources = {fr[1] for one in snapshot.running.values() for fr in one.usage}
    every = (entry for kind in ("Workload", "Node", "Pod") for entry in places.found.get(kind, []))
    losses = Losses(state, options, k8s.latest_time(every), gpus=any(map(k8s.is_gpu, resources)))
    for one in snapshot.running.values():
        state.units[one.name] = unit = _unit_of_workload(entries[one.name], one, losses, options)
        unit.pods = places.pods_of(entries[one.name], one.name)
    losses.settle_losses(state.units)
    lowest = min((one.priority for one in snapshot.running.values()), default=0)
    for one in snapshot.running.values():
        if one.evicted:
            state.units[one.name].lost, state.units[one.name].priority = 0, lowest
            state.assume(
                f"{one.name}: is being evicted already, which loses nothing more and nobody of a higher priority"
            )


def _unit_of_workload(entry: Entry, one: Workload, losses: Losses, options: Options) -> Unit:
    reservation = k8s.condition(entry, "QuotaReserved")
    admission = k8s.condition(entry, "Admitted") or reservation
    start = None if admission is None else k8s.time_of(admission, "lastTransitionTime")
    usage: dict[str, int] = {}
    for fr, count in one.usage.items():
        usage[fr[1]] = usage.get(fr[1], 0) + count
    amount = k8s.gpus_thousandths(usage) if losses.counted == "GPU" else usage.get("cpu", 0)
    since = None if reservation is None else k8s.time_of(reservation, "lastTransitionTime")
    most = entry.get("spec", "maximumExecutionTimeSeconds")
    age = 0 if since is None or losses.now is None else max(0, losses.now - since)
    evictions = entry.under("status", "schedulingStats").entries("evictions")
    return Unit(
        name=one.name,
        priority=one.priority,
        lost=losses.loss_of(amount, start, save_time_of(entry.mapping("metadata", "annotations"), options), one.name),
        grace=max((_grace_seconds(part) for part in entry.entries("spec", "podSets")), default=0),
        preempted=sum(part.whole("count", low=0) for part in evictions if part.text("reason") == "Preempted"),
        age=age,
        ends=None if most is None else max(0, entry.whole("spec", "maximumExecutionTimeSeconds") - age),
        queue=one.queue,
        use=_amounts_by_label(one.usage),
        rank=one.uid,
    )


def _grace_seconds(pod_set: Entry) -> int:
    """Return the seconds that the pods of a pod set have to end."""
    return pod_set.whole("template", "spec", "terminationGracePeriodSeconds", default=k8s.GRACE, low=0)


# --- waiting workloads -----------------------------------------------------------------------------------------------


def _place_in_line(one: Workload) -> Waiting:
    return Waiting(one.name, one.name.rpartition("/")[2], one.priority, one.queued)


def _job_of_workload(
    state: State, snapshot: Snapshot, one: Workload, assignment: Assignment, entry: Entry, places: kueue_places.Places
) -> Job:
    """Return the job with the flavors of an assignment, and its possible victims (P1 to P3, S2)."""
    lower = snapshot.queues[one.queue].within == "LowerPriority"
    job = Job(one.name, one.priority, queue=one.queue, by_priority=lower)
    counts = {name: part.count for name, part in assignment.pod_sets.items()}
    for part in one.pod_sets:
        if 0 < counts.get(part.name, part.count) < part.count:
            state.assume(f"partial admission of {one.name}: {counts[part.name]} of {part.count} pods of {part.name}")
    if assignment.impossible and len(assignment.pod_sets) < len(one.pod_sets):
        state.assume(f"{one.name}: {assignment.why}, so Kueue does not admit it in this state")
        why, assignment = assignment.why, _imposed_assignment(snapshot, one, _first_suiting(snapshot, one))
        assignment = dataclasses.replace(assignment, mode=flavors.NONE, why="")
        if any(flavor == UNCOVERED for flavor, _ in assignment.usage):
            state.blocked[one.name] = why
    job.use = _amounts_by_label({fr: min(amount, MOST_USE) for fr, amount in assignment.usage.items() if amount})
    job.contested = frozenset(map(_label_of_pair, assignment.contested))
    if assignment.impossible:
        if assignment.why:
            state.assume(f"{one.name}: {assignment.why}")
    elif snapshot.config.fair:
        job.may = frozenset(
            c.name for c in fair.fair_candidates(snapshot, one, assignment.contested or frozenset(assignment.usage))
        )
    else:
        line = preemption.classical_candidates(
            snapshot, one, assignment.usage, assignment.contested or frozenset(assignment.usage)
        )
        job.may = frozenset(c.workload.name for c in line if c.kind != preemption.NO_BORROW)
        job.may_if_nominal = frozenset(c.workload.name for c in line if c.kind == preemption.NO_BORROW)
    for fr in assignment.usage:
        for node in snapshot.queues[one.queue].node.path_to_root():
            limit = node.borrowing.get(fr)
            if node.parent is not None and limit is not None and node.usage_of(fr) > node.subtree_quota(fr) + limit:
                state.assume(
                    f"{node.name} has been admitted more {_label_of_pair(fr)} than its quota and borrowing limit"
                )
    if not one.delayed:
        job.shapes = places.shapes_of(one, assignment, job.use)
    elif any(flavor in snapshot.forest.levels for flavor, _ in assignment.usage):
        state.leave_out(one.name, ["placement that an admission check delays"])
    return job


def _first_suiting(snapshot: Snapshot, one: Workload) -> list[tuple[str, dict[str, str]]]:
    """Return the first suitable flavor for each podset and group; without one, a flavor without quota."""
    queue, suitable = snapshot.queues[one.queue], []
    for part in one.pod_sets:
        request = flavors.requests_of_pods(queue, part, part.count)
        for covered, names in queue.groups:
            resources = sorted(r for r in request if r in covered)
            able = (name for name in names if flavors.flavor_suits(snapshot, queue, name, [part], resources))
            suitable.append((part.name, dict.fromkeys(resources, next(able, UNCOVERED))))
    return suitable


def _state_per_combination(
    state: State, snapshot: Snapshot, one: Workload, entry: Entry, places: kueue_places.Places
) -> list[State]:
    """Return a state per combination of flavors, all about the same workload."""
    states = []
    for assignment in _free_assignments(snapshot, one):
        alone = copy.copy(state)
        alone.assumed = [*state.assumed]
        job = _job_of_workload(alone, snapshot, one, assignment, entry, places)
        alone.assumed.append(f"flavors: {_flavors_in_words(assignment)}")
        alone.jobs = {one.name: job}
        states.append(alone)
    return states


def _flavors_in_words(assignment: Assignment) -> str:
    sets = assignment.pod_sets.items()
    return "; ".join(f"{name}: {', '.join(sorted(set(part.flavors.values())))}" for name, part in sets)


def _free_assignments(snapshot: Snapshot, one: Workload) -> list[Assignment]:
    """Return an assignment per combination of suitable flavors, with what it lacks now as contested."""
    queue = snapshot.queues[one.queue]
    choices: list[list[tuple[str, dict[str, str]]]] = []
    for part in one.pod_sets:
        request = flavors.requests_of_pods(queue, part, part.count)
        for covered, names in queue.groups:
            resources = sorted(r for r in request if r in covered)
            able = [name for name in names if flavors.flavor_suits(snapshot, queue, name, [part], resources)] or names[
                :1
            ]
            if resources:
                choices.append([(part.name, dict.fromkeys(resources, name)) for name in able])
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST_FREE:
        raise InvalidInput(f"{one.name}: may use more than {MOST_FREE} combinations of flavors; --flavors chosen")
    return [_imposed_assignment(snapshot, one, combined) for combined in itertools.product(*choices)]


def _imposed_assignment(
    snapshot: Snapshot, one: Workload, combined: Iterable[tuple[str, dict[str, str]]]
) -> Assignment:
    queue, assignment = snapshot.queues[one.queue], Assignment()
    assignment.pod_sets = {part.name: flavors.Assigned({}, part.count) for part in one.pod_sets}
    for name, choice in combined:
        assignment.pod_sets[name].flavors |= choice
    usage: Amounts = {}
    for part in one.pod_sets:
        for resource, amount in flavors.requests_of_pods(queue, part, part.count).items():
            fr = (assignment.pod_sets[part.name].flavors.get(resource, UNCOVERED), resource)
            usage[fr] = usage.get(fr, 0) + amount
    assignment.usage = usage
    assignment.contested = frozenset(fr for fr, amount in usage.items() if amount > queue.node.available(fr))
    assignment.units = flavors.topology_units(snapshot, queue, one, assignment)
    if assignment.units and snapshot.forest.find_placement(assignment.units) is None:
        assignment.contested |= frozenset(usage)
    return assignment


def _record_counts(state: State, by_kind: k8s.Objects, snapshot: Snapshot) -> None:
    state.read.append(
        f"Kueue: {count_of(len(snapshot.queues), 'cluster queue')}, {count_of(len(snapshot.cohorts), 'cohort')}, "
        f"{count_of(len(snapshot.running), 'workload')} with quota, {len(snapshot.waiting)} waiting"
    )
    if not by_kind.get("ConfigMap"):
        state.assume("fair sharing: off, for the state has no manager's ConfigMap (classical preemption)")
    elif snapshot.config.fair:
        state.read.append(f"fair sharing: on ({', '.join(snapshot.config.strategies)})")
    if not any(e.get("spec", "namespaceSelector") is not None for e in by_kind["ClusterQueue"]):
        state.assume("namespaceSelector: absent, taken to match every namespace (Kueue matches none then)")
    elif not by_kind.get("Namespace") and any(e.get("spec", "namespaceSelector") for e in by_kind["ClusterQueue"]):
        state.assume("namespaces: none in the state, taken to match their queues' namespaceSelector")
    if snapshot.any_flavor:
        state.assume("flavors: the state has no ResourceFlavor, so each exists, without labels and taints")
    checks = {name for queue in snapshot.queues.values() for name in queue.checks}
    for name in sorted(checks):
        state.assume(f"admission check {name}: taken to pass")
    state.assume(
        "Kueue's internal state is not in the file: assumed are flavors tried from the first, and no job with a "
        "reserved turn"
    )
