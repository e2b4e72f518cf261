"""The state of Kueue: workloads with their queues, cohorts and flavors, v1beta1 or v1beta2; with topologies, nodes too.

    kubectl get workloads,localqueues -A -o json > workloads.json
    kubectl get clusterqueues,cohorts,resourceflavors,topologies -o json > queues.json
    kubectl get configmap -n kueue-system kueue-manager-config -o json > config.json
    kubectl get nodes -o json > nodes.json; kubectl get pods -A -o json > pods.json     # where a flavor has a topology

A workload with reserved quota runs; one without waits in the ClusterQueue that its LocalQueue names. Whom it may evict
is Kueue's classical preemption (`kueue_tree.candidates`); fair sharing is refused. Flavors: `kueue_flavors.py`; nodes,
for topology-aware scheduling alone: `kueue_places.py`.
"""

from __future__ import annotations

import copy
import re

from mlsched.core.errors import InvalidInput, meant
from mlsched_admission.instances.states import kueue_flavors, kueue_places
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.asked import Waiting, asked_about
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.kueue_flavors import PodSet
from mlsched_admission.instances.states.kueue_tree import Runs, Tree, candidates, read_tree
from mlsched_admission.instances.states.losses import Losses, saved_at
from mlsched_admission.instances.states.state import Job, Options, State, Unit, plus, times

BOOST = "kueue.x-k8s.io/priority-boost"
_FAIR = re.compile(r"^fairSharing:(.*(?:\n[ \t]+.*)*)", re.M)


def read_kueue(found: k8s.Objects, options: Options) -> list[State]:
    """The state of these objects: one, or one per combination of flavors that the asked workload may use."""
    for kind, command in (("Workload", "workloads -A"), ("ClusterQueue", "clusterqueues")):
        if not found.get(kind):
            raise InvalidInput(f"the state has no {kind}; add what `kubectl get {command} -o json` prints")
    state, tree = State("kueue"), read_tree(found)
    _refuse_fair_sharing(found, state)
    state.quotas = tree.quotas
    running, waiting = _by_status(found, state)
    places = kueue_places.Places(found, state)
    units = _add_running(state, tree, running, options, places)
    line = [_Waits(entry, tree, found, state) for entry in waiting]
    there = {one.name: one for one in line if one.queue}
    _say(state, found, len(running), len(waiting))
    names = asked_about([one.place for one in there.values()], options, state)
    asked = [there[name] for name in names]
    for one in asked:
        one.say_what_is_not_modelled(tree, state)
    flavors = kueue_flavors.flavors_of(found)
    uses = {one.name: _uses(one, tree, flavors, units, options, state) for one in asked}
    state.above_nominal = any(
        tree.queues[one.queue].reclaim != "Never" and tree.quotas[one.queue].parent for one in asked
    )
    if len(asked) > 1 and (state.above_nominal or options.flavors == "free"):
        why = "--flavors free" if options.flavors == "free" else "their queues reclaim from others"
        raise InvalidInput(f"{len(asked)} jobs are named, and {why}: one at a time; name one --job")
    if options.flavors == "free" and asked:
        return _each(state, tree, asked[0], uses[asked[0].name], units, places)
    for one in asked:
        state.jobs[one.name] = _job(tree, one, uses[one.name][0], units, places, state)
    return [state]


def _refuse_fair_sharing(found: k8s.Objects, state: State) -> None:
    """By the text of the manager's configuration: it is YAML, of which only this one key is looked for."""
    texts = [text for entry in found.get("ConfigMap", []) for text in entry.mapping("data").values()]
    for text in texts:
        if (match := _FAIR.search(text)) and not re.search(r"enable:\s*false", match[1]):
            raise InvalidInput(
                "the manager's configuration turns on fairSharing: its preemption by shares is not modelled, only the "
                "classical one; judge a cluster without it"
            )
    if not texts:
        state.assume("fair sharing: off, for the state has no manager's ConfigMap (classical preemption)")


def _by_status(found: k8s.Objects, state: State) -> tuple[list[Entry], list[Entry]]:
    """Workloads that hold quota, and those that wait for it."""
    running, waiting = [], []
    for entry in found["Workload"]:
        name = k8s.full_name(entry)
        if k8s.condition(entry, "Finished"):
            continue
        if k8s.condition(entry, "QuotaReserved") and entry.get("status", "admission") is not None:
            if k8s.condition(entry, "Evicted"):
                state.assume(f"{name}: is being evicted already, so what it holds counts as free")
            else:
                running.append(entry)
        elif entry.get("spec", "active") is False:
            state.leave_out(name, ["it is not active: not asked about"])
        else:
            waiting.append(entry)
    return running, waiting


def _priority(entry: Entry) -> int:
    boost = entry.mapping("metadata", "annotations").get(BOOST, "0")
    if not re.fullmatch(r"-?[0-9]{1,9}", boost):
        entry.bad(("metadata", "annotations", BOOST), boost, "must be an integer")
    return entry.whole("spec", "priority") + int(boost)


def _add_running(
    state: State, tree: Tree, running: list[Entry], options: Options, places: kueue_places.Places
) -> list[Runs]:
    """Units, and what they use counted in their queues; the same as preemption sees them."""
    uses = {k8s.full_name(entry): _admitted_use(entry, tree) for entry in running}
    resources = {fr.partition("/")[2] for use in uses.values() for fr in use}
    every = (entry for kind in ("Workload", "Node", "Pod") for entry in places.found.get(kind, []))
    losses = Losses(state, options, k8s.latest(every), gpus=any(map(k8s.is_gpu, resources)))
    units = []
    for entry in running:
        name, use = k8s.full_name(entry), uses[k8s.full_name(entry)]
        queue = entry.needed("status", "admission", "clusterQueue")
        quota = tree.quotas[queue]
        quota.used = plus(quota.used, use)
        state.units[name] = unit = _unit(entry, name, use, losses, options)
        unit.queue = queue
        unit.pods = places.pods_of(entry, name)
        created = k8s.when(entry, "metadata", "creationTimestamp") or 0
        units.append(Runs(name, queue, unit.priority, created, use))
    return units


def _unit(entry: Entry, name: str, use: dict[str, int], losses: Losses, options: Options) -> Unit:
    reserved = k8s.condition(entry, "QuotaReserved")
    started = k8s.condition(entry, "Admitted") or reserved
    start = None if started is None else k8s.when(started, "lastTransitionTime")
    held = {fr.partition("/")[2]: 0 for fr in use}
    for fr, count in use.items():
        held[fr.partition("/")[2]] += count
    counted = 1000 * k8s.gpus(held) if losses.counted == "GPU" else held.get("cpu", 0)
    since = None if reserved is None else k8s.when(reserved, "lastTransitionTime")
    most = entry.get("spec", "maximumExecutionTimeSeconds")
    age = 0 if since is None or losses.now is None else max(0, losses.now - since)
    evictions = entry.under("status", "schedulingStats").entries("evictions")
    return Unit(
        name=name,
        priority=_priority(entry),
        lost=losses.of(counted, start, saved_at(entry.mapping("metadata", "annotations"), options), name),
        grace=max((_grace(one) for one in entry.entries("spec", "podSets")), default=0),
        preempted=sum(one.whole("count", low=0) for one in evictions if one.text("reason") == "Preempted"),
        age=age,
        ends=None if most is None else max(0, entry.whole("spec", "maximumExecutionTimeSeconds") - age),
        use=use,
        rank=entry.text("metadata", "uid"),
    )


def _grace(pod_set: Entry) -> int:
    """Seconds that the pods of a pod set have to end."""
    return pod_set.whole("template", "spec", "terminationGracePeriodSeconds", default=k8s.GRACE, low=0)


def _admitted_use(entry: Entry, tree: Tree) -> dict[str, int]:
    """What a workload uses of each flavor-resource; pods that have finished (reclaimablePods) no longer count."""
    queue = entry.needed("status", "admission", "clusterQueue")
    if queue not in tree.queues:
        known = list(tree.queues)
        entry.fail(
            f"was admitted by ClusterQueue {queue!r}, which the state does not have{meant(queue, known)}",
            "add what `kubectl get clusterqueues -o json` prints",
        )
    done = {one.needed("name"): one.whole("count", low=0) for one in entry.entries("status", "reclaimablePods")}
    total: dict[str, int] = {}
    for one in entry.entries("status", "admission", "podSetAssignments"):
        name, flavors = one.text("name", default="main"), one.mapping("flavors")
        count = one.whole("count", default=1, low=0)
        for resource, used in k8s.amounts(one, "resourceUsage").items():
            if resource not in flavors:
                continue
            fr = f"{flavors[resource]}/{resource}"
            if count and name in done:
                used = used * max(0, count - done[name]) // count
            total[fr] = total.get(fr, 0) + used
    return total


class _Waits:
    """A workload that waits: its queue, its pod sets, and its place in line."""

    def __init__(self, entry: Entry, tree: Tree, found: k8s.Objects, state: State) -> None:
        self.entry, self.name, self.priority = entry, k8s.full_name(entry), _priority(entry)
        self.queued = k8s.when(entry, "metadata", "creationTimestamp") or 0
        self.place = Waiting(self.name, entry.text("metadata", "name"), self.priority, self.queued)
        self.queue = _queue_of(entry, self.name, tree, found, state)
        given = {
            one.text("name", default="main"): k8s.amounts(one, "resources")
            for one in entry.entries("status", "resourceRequests")
        }
        self.pod_sets = []
        self.sets = list(entry.entries("spec", "podSets"))
        for one in self.sets:
            name, spec = one.text("name", default="main"), one.under("template", "spec")
            count = one.whole("count", default=1, low=0)
            self.pod_sets.append(PodSet(name, given.get(name) or times(count, k8s.requests(spec)), spec))

    def say_what_is_not_modelled(self, tree: Tree, state: State) -> None:
        """Name what it asks for beyond what the instance has."""
        for one in self.sets:
            name, count = one.text("name", default="main"), one.whole("count", default=1, low=0)
            if 0 < one.whole("minCount", low=0) < count:
                state.leave_out(self.name, [f"minCount of {name}: asked about all its {count} pods"])
            if one.text("topologyRequest", "podSetGroupName"):
                state.leave_out(self.name, [f"podSetGroupName of {name}"])
        queue = tree.queues[self.queue]
        state.leave_out(self.name, [f"admission check {check}: taken to pass" for check in queue.checks])
        for resource in kueue_flavors.uncovered(queue, self.pod_sets):
            state.leave_out(self.name, [f"{resource}, which queue {self.queue} does not cover: it cannot start"])


def _queue_of(entry: Entry, name: str, tree: Tree, found: k8s.Objects, state: State) -> str:
    """The ClusterQueue of a waiting workload; "" where it is not asked about."""
    local, space = entry.text("spec", "queueName"), entry.text("metadata", "namespace")
    if not local:
        state.leave_out(name, ["it has no queueName, so Kueue does not queue it: not asked about"])
        return ""
    queue = next(
        (q for q in found.get("LocalQueue", []) if k8s.full_name(q) == (f"{space}/{local}" if space else local)), None
    )
    if queue is None:
        entry.fail(
            f"waits in LocalQueue {local!r} of namespace {space!r}, which the state does not have",
            "add what `kubectl get localqueues -A -o json` prints",
        )
    cluster = queue.needed("spec", "clusterQueue")
    if cluster not in tree.queues:
        queue.fail(
            f"spec.clusterQueue = {cluster!r}: the state has no such ClusterQueue{meant(cluster, tree.queues)}",
            "add what `kubectl get clusterqueues -o json` prints",
        )
    if tree.queues[cluster].stopped or queue.text("spec", "stopPolicy", default="None") != "None":
        state.leave_out(name, [f"its queue {local} is stopped (stopPolicy): not asked about"])
        return ""
    return cluster


def _uses(
    one: _Waits, tree: Tree, flavors: dict[str, Entry], units: list[Runs], options: Options, state: State
) -> list[dict[str, int]]:
    """What the workload would use: of the flavors that Kueue chooses, or of each combination in turn."""
    queue = tree.queues[one.queue]
    asks = Runs(one.name, one.queue, one.priority, one.queued, {})
    if options.flavors == "free":
        free = kueue_flavors.uses_free(queue, one.pod_sets, flavors)
        if len(free) > kueue_flavors.MOST_FREE:
            raise InvalidInput(
                f"{one.name}: may use more than {kueue_flavors.MOST_FREE} combinations of flavors; --flavors chosen"
            )
        return free
    if any(len(names) > 1 for _, names in queue.groups):
        state.assume("flavors: as Kueue would choose them (--flavors free asks about all)")
    return [kueue_flavors.use_chosen(tree, asks, one.pod_sets, flavors, units)]


def _job(
    tree: Tree, one: _Waits, use: dict[str, int], units: list[Runs], places: kueue_places.Places, state: State
) -> Job:
    asks = Runs(one.name, one.queue, one.priority, one.queued, use)
    contested = frozenset(fr for fr, more in use.items() if more and tree.lacks(one.queue, fr, more)) or frozenset(use)
    always, only = candidates(tree, asks, contested, units)
    for fr in use:
        for node in tree.path(one.queue):
            if (most := tree.most(node, fr)) is not None and tree.usage(node, fr) > most:
                state.assume(f"{node} has been admitted more {fr} than its quota: Kueue's own arithmetic may differ")
    job = Job(one.name, one.priority, may=frozenset(always), may_if_nominal=frozenset(only), queue=one.queue, use=use)
    job.shapes = places.shapes_of(one.sets, use, one.name)
    return job


def _each(
    state: State, tree: Tree, one: _Waits, uses: list[dict[str, int]], units: list[Runs], places: kueue_places.Places
) -> list[State]:
    """A state per combination of flavors, all about the same workload."""
    made = []
    for use in uses:
        alone = copy.copy(state)
        alone.assumed = [*state.assumed, f"flavors: {', '.join(sorted(fr for fr, n in use.items() if n))}"]
        alone.jobs = {one.name: _job(tree, one, use, units, places, alone)}
        made.append(alone)
    return made


def _say(state: State, found: k8s.Objects, running: int, waiting: int) -> None:
    cohorts = sum(1 for name in state.quotas if name.startswith("cohort:"))
    state.read.append(
        f"Kueue: {len(found['ClusterQueue'])} cluster queues, {cohorts} cohorts, {running} workloads with quota, "
        f"{waiting} waiting"
    )
