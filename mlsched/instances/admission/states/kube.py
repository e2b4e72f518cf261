"""The state of plain Kubernetes: pods, nodes and disruption budgets, as its default scheduler and its preemptor see it.

    kubectl get pods -A -o json > pods.json
    kubectl get nodes -o json > nodes.json
    kubectl get pdb -A -o json > budgets.json

A pod waits where it has no node; it may evict pods of a lower priority, unless its preemptionPolicy is Never. Pods that
are being deleted give back what they hold, soon. A pod starts when its node has room for all it requests.
"""

from __future__ import annotations

from mlsched.core.errors import InvalidInput
from mlsched.instances.admission.states import objects as k8s
from mlsched.instances.admission.states.entries import Entry
from mlsched.instances.admission.states.losses import Losses, saved_at
from mlsched.instances.admission.states.state import Amounts, Budget, Job, Node, Options, Pod, Shape, State, Unit, plus

#: What a pod has when its grace period is not in the state, in s: the default of the API.
GRACE = 30
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
        state,
        options,
        k8s.latest([*pods, *found["Node"]]),
        gpus=any(k8s.gpus(held[id(pod)]) for pod in bound),
    )
    for pod in bound:
        node = pod.text("spec", "nodeName")
        if node in machines and not pod.get("metadata", "deletionTimestamp") and not _is_mirror(pod):
            unit = running(pod, held[id(pod)], losses, options, state)
            unit.pods = [Pod(unit.name, node, held[id(pod)], pod.mapping("metadata", "labels"))]
            state.units[unit.name] = unit
    placing = k8s.Placing(machines)
    for pod in pods:
        if not pod.text("spec", "nodeName") and not pod.get("metadata", "deletionTimestamp"):
            _add_waiting(state, pod, held[id(pod)], placing)
    state.budgets = budgets(found, state)
    _say(state, found, pods)
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
        state.assume(f"grace: {GRACE} s where a pod does not say")
    start = k8s.when(pod, "status", "startTime")
    counted = 1000 * k8s.gpus(held) if losses.counted == "GPU" else held.get("cpu", 0)
    return Unit(
        name=name,
        priority=pod.whole("spec", "priority"),
        lost=losses.of(counted, start, saved_at(pod.mapping("metadata", "annotations"), options), name),
        grace=pod.whole("spec", "terminationGracePeriodSeconds", default=GRACE, low=0),
        gang=name,
        minimum=1,
        order=(-(start or 0),),
    )


def _is_mirror(pod: Entry) -> bool:
    """Whether the kubelet runs it by itself: nobody can evict it."""
    return _MIRROR in pod.mapping("metadata", "annotations")


def _add_waiting(state: State, pod: Entry, asked: Amounts, placing: k8s.Placing) -> None:
    name, spec = k8s.full_name(pod), pod.under("spec")
    if pod.list("spec", "schedulingGates"):
        state.leave_out(name, ["it is gated, so it does not wait for the scheduler: not asked about"])
        return
    priority = pod.whole("spec", "priority")
    never = pod.text("spec", "preemptionPolicy") == "Never"
    may = () if never else (unit.name for unit in state.units.values() if unit.priority < priority)
    job = Job(name, priority, [Shape(1, {**asked, "pods": 1}, placing.nodes_of(spec))], frozenset(may))
    job.alike = (pod.text("metadata", "name"),)
    state.jobs[name] = job
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


def _say(state: State, found: k8s.Objects, pods: list[Entry]) -> None:
    draining = sum(1 for pod in pods if pod.get("metadata", "deletionTimestamp"))
    state.read.append(
        f"Kubernetes: {len(state.nodes)} nodes, {len(state.units)} running pods, {len(state.jobs)} waiting"
        + (f", {draining} on their way out" if draining else "")
    )
    if found.get("PodDisruptionBudget"):
        state.read.append(f"{len(found['PodDisruptionBudget'])} disruption budgets")
    else:
        state.assume("disruption budgets: none in the state (kubectl get pdb -A -o json)")
