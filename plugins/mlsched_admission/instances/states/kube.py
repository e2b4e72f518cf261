"""The state of plain Kubernetes: pods, nodes and disruption budgets, as its default scheduler and its preemptor see it.

    kubectl get pods -A -o json > pods.json
    kubectl get nodes -o json > nodes.json
    kubectl get pdb -A -o json > budgets.json

A pod waits where it has no node; it may evict pods of a lower priority, unless its preemptionPolicy is Never. Pods that
are being deleted give back what they hold, soon. A pod starts when its node has room for all it requests.
"""

from __future__ import annotations

from mlsched.core.brief import counted
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.asked import Waiting, asked_about
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.losses import Losses, saved_at
from mlsched_admission.instances.states.state import Amounts, Budget, Job, Node, Options, Pod, Shape, State, Unit, plus

_ENDED = ("Succeeded", "Failed")
_MIRROR = "kubernetes.io/config.mirror"


def read_kubernetes(found: k8s.Objects, options: Options) -> State:
    """The state of these objects."""
    if not found.get("Node"):
        raise InvalidInput("the state has no nodes; add what `kubectl get nodes -o json` prints")
    state = State("kubernetes")
    pods = [pod for pod in found.get("Pod", []) if pod.text("status", "phase") not in _ENDED]
    machines = k8s.machines(found)
    bound = [pod for pod in pods if pod.text("spec", "nodeName")]
    held = {id(pod): k8s.requests(pod.under("spec")) for pod in pods}
    fill_nodes(state, machines, bound, held)
    losses = Losses(
        state, options, k8s.latest([*pods, *found["Node"]]), gpus=any(k8s.gpus(held[id(pod)]) for pod in bound)
    )
    for pod in bound:
        node = pod.text("spec", "nodeName")
        if node in machines and not pod.get("metadata", "deletionTimestamp") and not _is_mirror(pod):
            unit = running(pod, held[id(pod)], losses, options, state)
            unit.pods = [Pod(unit.name, node, {**held[id(pod)], "pods": 1}, pod.mapping("metadata", "labels"))]
            state.units[unit.name] = unit
    waiting = waiting_pods(pods, state)
    state.read.append(_counts(state, pods, waiting))
    placing = k8s.Placing(machines)
    for name in asked_about(list(map(as_waiting, waiting.values())), options, state):
        _add_job(state, waiting[name], held[id(waiting[name])], placing)
    state.budgets = budgets(found, state)
    if not found.get("PodDisruptionBudget"):
        state.assume("disruption budgets: none, for the state has none (kubectl get pdb -A -o json)")
    return state


def fill_nodes(state: State, machines: dict[str, k8s.Machine], bound: list[Entry], held: dict[int, Amounts]) -> None:
    """Nodes with what no pod holds, and what pods on their way out will give back."""
    for name, machine in machines.items():
        state.nodes[name] = Node(name, dict(machine.room))
    for pod in bound:
        node = state.nodes.get(pod.text("spec", "nodeName"))
        if node is None:
            state.assume(f"{pod.where}: runs on a node that the state does not have, so it frees none of those it has")
            continue
        asked = {**held[id(pod)], "pods": 1}
        node.free = plus(node.free, {name: -value for name, value in asked.items() if name in node.free})
        if pod.get("metadata", "deletionTimestamp"):
            node.draining = plus(node.draining, {name: value for name, value in asked.items() if name in node.free})


def running(pod: Entry, held: Amounts, losses: Losses, options: Options, state: State) -> Unit:
    """A running pod as a unit, its place not filled in."""
    name = k8s.full_name(pod)
    grace = pod.get("spec", "terminationGracePeriodSeconds")
    if grace is None:
        state.assume(f"grace: {k8s.GRACE} s where a pod does not say")
    start = k8s.when(pod, "status", "startTime")
    counted = 1000 * k8s.gpus(held) if losses.counted == "GPU" else held.get("cpu", 0)
    return Unit(
        name=name,
        priority=pod.whole("spec", "priority"),
        lost=losses.of(counted, start, saved_at(pod.mapping("metadata", "annotations"), options), name),
        grace=pod.whole("spec", "terminationGracePeriodSeconds", default=k8s.GRACE, low=0),
        age=0 if start is None or losses.now is None else max(0, losses.now - start),
        rank=pod.text("metadata", "uid"),
    )


def _is_mirror(pod: Entry) -> bool:
    """Whether the kubelet runs it by itself: nobody can evict it."""
    return _MIRROR in pod.mapping("metadata", "annotations")


def waiting_pods(pods: list[Entry], state: State) -> dict[str, Entry]:
    """Pods without a node that wait for the scheduler, by name."""
    waiting = {}
    for pod in pods:
        if pod.text("spec", "nodeName") or pod.get("metadata", "deletionTimestamp"):
            continue
        if pod.items("spec", "schedulingGates"):
            state.leave_out(k8s.full_name(pod), ["it is gated, so it does not wait for the scheduler: not asked about"])
        else:
            waiting[k8s.full_name(pod)] = pod
    return waiting


def as_waiting(pod: Entry) -> Waiting:
    """Its place in line."""
    created = k8s.when(pod, "metadata", "creationTimestamp") or 0
    return Waiting(k8s.full_name(pod), pod.text("metadata", "name"), pod.whole("spec", "priority"), created)


def _add_job(state: State, pod: Entry, asked: Amounts, placing: k8s.Placing) -> None:
    name, spec, priority = k8s.full_name(pod), pod.under("spec"), pod.whole("spec", "priority")
    never = pod.text("spec", "preemptionPolicy") == "Never"
    may = () if never else (unit.name for unit in state.units.values() if unit.priority < priority)
    state.jobs[name] = Job(name, priority, [Shape(1, {**asked, "pods": 1}, placing.nodes_of(spec))], frozenset(may))
    state.leave_out(name, k8s.beyond(spec))


def budgets(found: k8s.Objects, state: State) -> list[Budget]:
    """Disruption budgets, and the running pods that each covers."""
    made = []
    for entry in found.get("PodDisruptionBudget", []):
        space = entry.text("metadata", "namespace")
        if entry.get("spec", "selector") is None:
            continue
        selector = entry.under("spec", "selector")
        covered = frozenset(
            pod.name
            for unit in state.units.values()
            for pod in unit.pods
            if pod.name.partition("/")[0] == space and k8s.selects(selector, pod.labels)
        )
        if covered:
            remaining = entry.whole("status", "disruptionsAllowed", low=0)
            made.append(Budget(k8s.full_name(entry), remaining, covered))
    return made


def _counts(state: State, pods: list[Entry], waiting: dict[str, Entry]) -> str:
    draining = sum(1 for pod in pods if pod.get("metadata", "deletionTimestamp"))
    running = f"{counted(len(state.nodes), 'node')}, {counted(len(state.units), 'running pod')}"
    found = f"Kubernetes: {running}, {len(waiting)} waiting"
    return found + (f", {draining} on their way out" if draining else "")
