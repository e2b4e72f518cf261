"""The state of plain Kubernetes: pods, nodes and disruption budgets, as its default scheduler and its preemptor see it.

    kubectl get pods -A -o json > pods.json
    kubectl get nodes -o json > nodes.json
    kubectl get pdb -A -o json > budgets.json

A pod waits if it lacks a node; it may evict pods of a lower priority, unless its preemptionPolicy is Never. Pods in
deletion release their resources soon. A pod starts when its node has room for all its requests. Pods of a gang
(`gangs.py`) start together, and are lost together below its minimum.
"""

from __future__ import annotations

import functools

from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.asked import Waiting, asked_about
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.gangs import Gang, Gangs
from mlsched_admission.instances.states.losses import Losses, save_time_of
from mlsched_admission.instances.states.state import (
    Amounts,
    Budget,
    Job,
    Node,
    Options,
    Pod,
    Shape,
    State,
    Unit,
    sum_of_amounts,
)
from mlsched_admission.instances.states.unmodelled import unmodelled_features
from mlsched_admission.instances.systems import kube as systems_kube

_ENDED = ("Succeeded", "Failed")
_MIRROR = "kubernetes.io/config.mirror"


def read_kubernetes(by_kind: k8s.Objects, options: Options) -> State:
    """Return the state of these objects."""
    if not by_kind.get("Node"):
        raise InvalidInput("nodes are missing in the state; add the output of `kubectl get nodes -o json`")
    state = State("kubernetes")
    pods = [pod for pod in by_kind.get("Pod", []) if pod.text("status", "phase") not in _ENDED]
    machines = k8s.machines_by_name(by_kind)
    bound = [pod for pod in pods if pod.text("spec", "nodeName")]
    requests_by_pod = {id(pod): k8s.requests(pod.under("spec")) for pod in pods}
    fill_nodes(state, machines, bound, requests_by_pod)
    losses = Losses(
        state,
        options,
        k8s.latest_time([*pods, *by_kind["Node"]]),
        gpus=any(k8s.gpus_thousandths(requests_by_pod[id(pod)]) for pod in bound),
    )
    for pod in bound:
        node = pod.text("spec", "nodeName")
        if node in machines and not pod.get("metadata", "deletionTimestamp") and not _is_mirror(pod):
            unit = running_unit(pod, requests_by_pod[id(pod)], losses, options, state)
            unit.pods = [
                Pod(unit.name, node, {**requests_by_pod[id(pod)], "pods": 1}, pod.mapping("metadata", "labels"))
            ]
            state.units[unit.name] = unit
    losses.settle_losses(state.units)
    gangs = Gangs(by_kind, pods)
    gangs.join_members(state)
    waiting = waiting_pods(pods, state)
    state.read.append(_counts_in_words(state, pods, waiting))
    line = _waiting_entries(waiting, gangs, state)
    state.budgets = disruption_budgets(by_kind, state)
    alone = set(waiting) - set(gangs.of)
    state.model = functools.cache(lambda: systems_kube.Cluster(by_kind, requests=requests_by_pod, waiting=alone))
    if not by_kind.get("PodDisruptionBudget"):
        state.assume("disruption budgets: none, for the state has none (kubectl get pdb -A -o json)")
    asking = _Asking(waiting, gangs, line, requests_by_pod, k8s.Placing(machines), bound)

    def about(options_of_call: Options) -> list[State]:
        return [asking.about(state.copy(), options_of_call)]

    state.again = about
    return about(options)[0]


class _Asking:
    """Waiting pods and gangs, with the data to make jobs of them."""

    def __init__(
        self,
        waiting: dict[str, Entry],
        gangs: Gangs,
        line: list[Waiting],
        requests_by_pod: dict[int, Amounts],
        placing: k8s.Placing,
        bound: list[Entry],
    ) -> None:
        self.waiting, self.gangs, self.line, self.held, self.placing = waiting, gangs, line, requests_by_pod, placing
        self.repelling = [(pod, _own_anti_affinity(pod)) for pod in bound if _has_anti_affinity(pod)]

    def about(self, state: State, options: Options) -> State:
        """Return the state with the requested jobs."""
        for name in asked_about(self.line, options, state):
            gangs = (g for g in self.gangs.of.values() if g.name == name and name not in self.waiting)
            gang = next(gangs, None)
            members = [self.waiting[name]] if gang is None else self._pods_for_minimum(gang)
            _add_job(state, name, members, self.held, self.placing, gang)
            for pod in members:
                _name_obstacles(state, name, pod, self.repelling)
            if gang is not None and gang.system == "volcano" and len(self.gangs.volcano_queues()) > 1:
                state.leave_out(name, ["reclaim between queues of Volcano"])
        return state

    def _pods_for_minimum(self, gang: Gang) -> list[Entry]:
        """Return the waiting pods that a gang needs to reach its minimum."""
        return self.gangs.waiting_members(gang, self.waiting)[: gang.minimum - self.gangs.running_count(gang)]


def _waiting_entries(waiting: dict[str, Entry], gangs: Gangs, state: State) -> list[Waiting]:
    """Return the waiting entries: each pod, or a gang in place of its pods while it runs fewer than its minimum.

    Record gangs with too few pods to start in `state.held`, and schedulers that are unknown here as assumptions.

    Args:
        waiting: Name -> waiting pod.
        gangs: Gangs of the pods.
        state: State of the cluster, changed in place.
    """
    line = [as_waiting(pod) for name, pod in waiting.items() if name not in gangs.of]
    own_schedulers = {"", "default-scheduler", "volcano", "kai-scheduler", "scheduler-plugins-scheduler"}
    for pod in waiting.values():
        if (scheduler := pod.text("spec", "schedulerName")) not in own_schedulers:
            state.assume(f"scheduler {scheduler!r}: not known here; its pods are judged by priorities and room alone")
    waiting_gangs: dict[str, Gang] = {gang.name: gang for name, gang in gangs.of.items() if name in waiting}
    for gang in waiting_gangs.values():
        running, pods = gangs.running_count(gang), gangs.waiting_members(gang, waiting)
        if running + len(pods) < gang.minimum:
            why = f"it has {running + len(pods)} of at least {gang.minimum} pods, so it cannot start"
            state.held = {gang.name: why, **state.held}
        elif running < gang.minimum:
            first = as_waiting(pods[0])
            line.append(Waiting(gang.name, gang.name.rpartition("/")[2], first.priority, first.since))
        else:
            line += [as_waiting(pod) for pod in pods]
    return line


def _has_anti_affinity(pod: Entry) -> bool:
    affinity = pod.get("spec", "affinity")
    return isinstance(affinity, dict) and bool(affinity.get("podAntiAffinity"))


def _own_anti_affinity(pod: Entry) -> list[systems_kube.Term]:
    """Return the terms of the pods that this pod repels."""
    return systems_kube.read_pod(pod).apart


def _name_obstacles(
    state: State, name: str, pod: Entry, repelling: list[tuple[Entry, list[systems_kube.Term]]]
) -> None:
    """Name what the model leaves out of the rules for a pod."""
    state.leave_out(name, unmodelled_features("kubernetes", "Pod", Entry(pod.value.get("spec", {}), pod.where)))
    mine = systems_kube.read_pod(pod)
    others = [k8s.full_name(other) for other, terms in repelling if any(term.matches(mine) for term in terms)]
    if others:
        state.leave_out(
            name, [f"required anti-affinity of {others[0]}" + f" and {len(others) - 1} more" * (len(others) > 1)]
        )


def fill_nodes(
    state: State, machines: dict[str, k8s.Machine], bound: list[Entry], requests_by_pod: dict[int, Amounts]
) -> None:
    """Add nodes with their free amounts, and with the amounts of pods in deletion."""
    for name, machine in machines.items():
        state.nodes[name] = Node(name, dict(machine.room))
    for pod in bound:
        node = state.nodes.get(pod.text("spec", "nodeName"))
        if node is None:
            state.assume(f"{pod.where}: runs on a node that the state does not have, so it frees none of those it has")
            continue
        request = {**requests_by_pod[id(pod)], "pods": 1}
        node.free = sum_of_amounts(node.free, {name: -value for name, value in request.items() if name in node.free})
        if pod.get("metadata", "deletionTimestamp"):
            node.draining = sum_of_amounts(
                node.draining, {name: value for name, value in request.items() if name in node.free}
            )


def running_unit(pod: Entry, request: Amounts, losses: Losses, options: Options, state: State) -> Unit:
    """Return a running pod as a unit, without its place."""
    name = k8s.full_name(pod)
    grace = pod.get("spec", "terminationGracePeriodSeconds")
    if grace is None:
        state.assume(f"grace: {k8s.GRACE} s where a pod does not say")
    start = k8s.time_of(pod, "status", "startTime")
    amount = k8s.gpus_thousandths(request) if losses.counted == "GPU" else request.get("cpu", 0)
    return Unit(
        name=name,
        priority=pod.whole("spec", "priority"),
        lost=losses.loss_of(amount, start, save_time_of(pod.mapping("metadata", "annotations"), options), name),
        grace=pod.whole("spec", "terminationGracePeriodSeconds", default=k8s.GRACE, low=0),
        age=0 if start is None or losses.now is None else max(0, losses.now - start),
        rank=pod.text("metadata", "uid"),
    )


def _is_mirror(pod: Entry) -> bool:
    """Return whether the kubelet runs the pod by itself: it cannot be evicted."""
    return _MIRROR in pod.mapping("metadata", "annotations")


def waiting_pods(pods: list[Entry], state: State) -> dict[str, Entry]:
    """Return pods without a node that wait for the scheduler, by name; gated pods are recorded in `state.held`."""
    waiting = {}
    for pod in pods:
        if pod.text("spec", "nodeName") or pod.get("metadata", "deletionTimestamp"):
            continue
        if pod.items("spec", "schedulingGates"):
            state.held[k8s.full_name(pod)] = "it is gated, so it does not wait for the scheduler"
        else:
            waiting[k8s.full_name(pod)] = pod
    return waiting


def as_waiting(pod: Entry) -> Waiting:
    """Return its place in line."""
    created = k8s.time_of(pod, "metadata", "creationTimestamp") or 0
    return Waiting(k8s.full_name(pod), pod.text("metadata", "name"), pod.whole("spec", "priority"), created)


def _add_job(
    state: State,
    name: str,
    pods: list[Entry],
    requests_by_pod: dict[int, Amounts],
    placing: k8s.Placing,
    gang: Gang | None,
) -> None:
    """Add a job of one pod, or of the pods of a gang: equal ones are one shape."""
    priority = min(pod.whole("spec", "priority") for pod in pods)
    never = any(pod.text("spec", "preemptionPolicy") == "Never" for pod in pods)
    may = () if never else (u.name for u in state.units.values() if u.priority < priority and not u.fixed)
    job = Job(name, priority, may=frozenset(may), by_priority=not never)
    alike: dict[tuple[object, ...], Shape] = {}
    for pod in pods:
        demand, nodes = {**requests_by_pod[id(pod)], "pods": 1}, placing.nodes_of(pod.under("spec"))
        key = (tuple(sorted(demand.items())), nodes)
        alike.setdefault(key, Shape(0, demand, nodes)).count += 1
    job.shapes = list(alike.values())
    if gang is not None:
        state.leave_out(name, gang.unmodelled)
        if gang.level and len(job.shapes) == 1:
            state.levels = [*state.levels, *({gang.level} - set(state.levels))]
            for machine in placing.nodes.values():
                if gang.level in machine.labels:
                    state.nodes[machine.name].domain[gang.level] = machine.labels[gang.level]
            job.shapes[0].level = gang.level
        elif gang.level:
            state.leave_out(name, [f"topology {gang.level} of a gang whose pods differ"])
    state.jobs[name] = job


def disruption_budgets(by_kind: k8s.Objects, state: State) -> list[Budget]:
    """Return disruption budgets, and the running pods that each covers."""
    listed_budgets = []
    for entry in by_kind.get("PodDisruptionBudget", []):
        space = entry.text("metadata", "namespace")
        if entry.get("spec", "selector") is None:
            continue
        selector = entry.under("spec", "selector")
        covered = frozenset(
            pod.name
            for unit in state.units.values()
            for pod in unit.pods
            if pod.name.partition("/")[0] == space and k8s.selector_matches(selector, pod.labels)
        )
        if covered:
            remaining = entry.whole("status", "disruptionsAllowed", low=0)
            listed_budgets.append(Budget(k8s.full_name(entry), remaining, covered))
    return listed_budgets


def _counts_in_words(state: State, pods: list[Entry], waiting: dict[str, Entry]) -> str:
    draining = sum(1 for pod in pods if pod.get("metadata", "deletionTimestamp"))
    running = f"{count_of(len(state.nodes), 'node')}, {count_of(len(state.units), 'running pod')}"
    description = f"Kubernetes: {running}, {len(waiting)} waiting"
    return description + (f", {draining} on their way out" if draining else "")
