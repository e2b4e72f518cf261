"""The state of KAI, from the archive that its snapshot plugin serves (`/get-snapshot`).

A pod group runs or waits as one: a gang of its pods, which is lost whole below `minMember`. It may preempt lower groups
of its own leaf queue, reclaim from queues that hold more than they deserve while its own holds less, and move (to
consolidate) what it may not evict. KAI deletes pods without asking disruption budgets, so there are none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from mlsched.core.brief import counted
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import kube, values
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.asked import Waiting, asked_about
from mlsched_admission.instances.states.documents import Document
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.losses import Losses, saved_at
from mlsched_admission.instances.states.state import (
    THOUSANDTHS,
    Amounts,
    Job,
    Limit,
    Options,
    Pod,
    Shape,
    State,
    Unit,
    plus,
    times,
)

GROUP = "pod-group-name"
STARTED = "kai.scheduler/last-start-timestamp"
FRACTION, MEMORY = "gpu-fraction", "gpu-memory"
GPU = "nvidia.com/gpu"
#: Priorities from here on are not preempted, where a group does not say (preemptibility).
NON_PREEMPTIBLE = 100
#: The priority of groups without a class: KAI's default, "train".
DEFAULT_PRIORITY = 50
#: Factor from the units of a queue's quotas to those of pods: GPUs, thousandths of a CPU, megabytes.
_QUEUE_UNITS = {"gpu": (GPU, 1), "cpu": ("cpu", 1), "memory": ("memory", 10**6)}


def read_kai(documents: list[Document], options: Options) -> State:
    """The state of a snapshot."""
    if len(documents) > 1:
        raise InvalidInput(f"{len(documents)} snapshots of KAI are given; give one")
    raw = documents[0].entry.under("rawObjects")
    found = _named(raw, documents[0].path)
    if not found["Node"]:
        raw.fail("has no nodes", "fetch the snapshot again")
    state = State("kai")
    return _Snapshot(found, state, options).read()


def _named(raw: Entry, path: str) -> k8s.Objects:
    """The objects of the snapshot by kind; they do not say their kind themselves."""
    kinds = {
        "pods": "Pod",
        "nodes": "Node",
        "queues": "Queue",
        "podGroups": "PodGroup",
        "priorityClasses": "PriorityClass",
    }
    found: k8s.Objects = {}
    for key, kind in kinds.items():
        found[kind] = list(raw.entries(key))
        for entry in found[kind]:
            entry.needed("metadata", "name")
            entry.where = f"{path}: {kind} {k8s.full_name(entry)}"
    return found


class _Snapshot:
    """A snapshot as it is read: pods by group, queues by name."""

    def __init__(self, found: k8s.Objects, state: State, options: Options) -> None:
        self.found, self.state, self.options = found, state, options
        self.machines = k8s.machines(found)
        self.placing = k8s.Placing(self.machines)
        self.groups = {k8s.full_name(group): group for group in found["PodGroup"]}
        self.classes = {one.text("metadata", "name"): one.whole("value") for one in found["PriorityClass"]}
        self.queues = {one.text("metadata", "name"): one for one in found["Queue"]}
        self.chains: dict[str, list[str]] = {}  # by queue, see `_chain`
        self.holdings: dict[tuple[str, str], int] = {}  # by queue and resource, see `_held_by`
        self.pods: dict[str, list[Entry]] = {}
        for pod in found["Pod"]:
            if pod.text("status", "phase") not in ("Succeeded", "Failed"):
                self.pods.setdefault(self._group_of(pod), []).append(pod)
        self.held = {id(pod): self._requests(pod) for pods in self.pods.values() for pod in pods}

    def _group_of(self, pod: Entry) -> str:
        """The pod's group; "" for what KAI does not schedule."""
        name = pod.mapping("metadata", "annotations").get(GROUP, "")
        space = pod.text("metadata", "namespace")
        full = f"{space}/{name}" if space else name
        if name and full not in self.groups:
            self.state.assume(f"{pod.where}: its pod group is not in the snapshot, so nobody may evict it")
        return full if name and full in self.groups else ""

    def _requests(self, pod: Entry) -> Amounts:
        """What the pod asks for, GPUs in thousandths: a share of one by annotation."""
        asked = k8s.requests(pod.under("spec"))
        asked[GPU] = 1000 * asked.get(GPU, 0)
        notes = pod.mapping("metadata", "annotations")
        if FRACTION in notes:
            share = values.quantity(notes[FRACTION])
            if share is None or not 0 < share <= 1:
                pod.bad(("metadata", "annotations", FRACTION), notes[FRACTION], "must be a share of a GPU, 0 to 1")
            asked[GPU] += math.ceil(1000 * share)
        elif MEMORY in notes:
            asked[GPU] += 1000
            self.state.assume(f"{pod.where}: asks for GPU memory, which counts as a whole GPU")
        return {**asked, "pods": 1}

    def read(self) -> State:
        state, bound = self.state, [p for pods in self.pods.values() for p in pods if p.text("spec", "nodeName")]
        state.scales = {**state.scales, GPU: THOUSANDTHS}
        for machine in self.machines.values():
            machine.room[GPU] = 1000 * machine.room.get(GPU, 0)
        kube.fill_nodes(state, self.machines, bound, self.held)
        if any(FRACTION in pod.mapping("metadata", "annotations") for pod in bound):
            state.assume("shares of GPUs: summed up by node, not packed into single devices")
        everything = (entry for kind in ("Pod", "Node", "PodGroup") for entry in self.found[kind])
        losses = Losses(
            state, self.options, k8s.latest(everything), gpus=any(self.held[id(pod)].get(GPU) for pod in bound)
        )
        line = []
        for name, group in self.groups.items():
            pods = [pod for pod in self.pods.get(name, []) if not pod.get("metadata", "deletionTimestamp")]
            running = [pod for pod in pods if pod.text("spec", "nodeName")]
            waits = len(running) < max(1, group.whole("spec", "minMember", default=1, low=0))
            if running:
                self._add_units(name, group, running, losses)
            elif pods and waits:
                created = k8s.when(group, "metadata", "creationTimestamp") or 0
                line.append(Waiting(name, group.text("metadata", "name"), self._priority(group), created))
        state.read.append(
            f"KAI: {counted(len(state.nodes), 'node')}, {counted(len(self.queues), 'queue')}, "
            f"{counted(len({unit.gang for unit in state.units.values()}), 'running pod group')}, {len(line)} waiting"
        )
        for name in asked_about(line, self.options, state):
            self._add_job(name)
        return state

    def _priority(self, group: Entry) -> int:
        name = group.text("spec", "priorityClassName")
        if name and name not in self.classes:
            group.fail(f"spec.priorityClassName = {name!r}: the snapshot has no such class", "fetch it again")
        if not name:
            self.state.assume(f"priority: {DEFAULT_PRIORITY} where a pod group names no class (KAI's default, train)")
        return self.classes.get(name, DEFAULT_PRIORITY)

    def _preemptible(self, group: Entry) -> bool:
        said = group.text("spec", "preemptibility")
        return said == "preemptible" or (not said and self._priority(group) < NON_PREEMPTIBLE)

    def _add_units(self, name: str, group: Entry, running: list[Entry], losses: Losses) -> None:
        """Each running pod of a group as a unit of the gang: KAI evicts pods beyond minMember one by one."""
        minimum = max(1, group.whole("spec", "minMember", default=1, low=0))
        notes = group.mapping("metadata", "annotations")
        start = values.moment(notes.get(STARTED, ""))
        for pod in running:
            node, held = pod.text("spec", "nodeName"), self.held[id(pod)]
            if node not in self.machines:
                continue
            full = k8s.full_name(pod)
            began = start if start is not None else k8s.when(pod, "status", "startTime")
            saved = saved_at({**notes, **pod.mapping("metadata", "annotations")}, self.options)
            counted = held.get(GPU if losses.counted == "GPU" else "cpu", 0)
            unit = Unit(full, self._priority(group), gang=name, minimum=minimum, queue=group.text("spec", "queue"))
            unit.lost = losses.of(counted, began, saved, full)
            unit.grace = pod.whole("spec", "terminationGracePeriodSeconds", default=k8s.GRACE, low=0)
            unit.age = 0 if began is None or losses.now is None else max(0, losses.now - began)
            unit.movable = self._preemptible(group)
            unit.rank = pod.text("metadata", "uid")
            unit.use = held
            unit.pods = [Pod(full, node, held, nodes=self.placing.nodes_of(pod.under("spec")))]
            self.state.units[full] = unit

    def _add_job(self, name: str) -> None:
        group = self.groups[name]
        job = Job(name, self._priority(group))
        minimum = max(1, group.whole("spec", "minMember", default=1, low=0))
        pods = [pod for pod in self.pods[name] if not pod.get("metadata", "deletionTimestamp")][:minimum]
        alike: dict[str, tuple[int, Entry]] = {}
        for pod in pods:
            key = f"{sorted(self.held[id(pod)].items())} {sorted(self.placing.nodes_of(pod.under('spec')))}"
            alike[key] = (alike.get(key, (0, pod))[0] + 1, pod)
        for count, pod in alike.values():
            shape = Shape(count, self.held[id(pod)], self.placing.nodes_of(pod.under("spec")))
            job.shapes.append(shape)
            self.state.leave_out(name, k8s.beyond(pod.under("spec")))
        self._require(job, group, name)
        if group.items("spec", "subGroups"):
            self.state.leave_out(name, ["subGroups: asked about its minMember pods"])
        if len(pods) < minimum:
            self.state.leave_out(
                name, [f"minMember {minimum}: it has {len(pods)} pods so far, and is asked about them"]
            )
        use = plus(*(times(shape.count, shape.demand) for shape in job.shapes))
        job.may = frozenset(self._victims(group, use))
        self.state.jobs[name] = job
        self._limit(name, group, use)

    def _require(self, job: Job, group: Entry, name: str) -> None:
        """A required level of a topology: the node label itself says which domain a node is in."""
        constraint = group.under("spec", "topologyConstraint")
        if preferred := constraint.text("preferredTopologyLevel"):
            self.state.leave_out(name, [f"preferred level {preferred}: a wish, which plans may not keep"])
        level = constraint.text("requiredTopologyLevel")
        if not level:
            return
        if len(job.shapes) > 1:
            self.state.leave_out(name, [f"required level {level}, for its pods differ"])
            return
        self.state.levels = [*self.state.levels, *({level} - set(self.state.levels))]
        for machine in self.machines.values():
            if level in machine.labels:
                self.state.nodes[machine.name].domain[level] = machine.labels[level]
        for shape in job.shapes:
            shape.level = level

    def _chain(self, queue: str) -> list[str]:
        """A queue and those above it."""
        if queue not in self.chains:
            chain, above = list[str](), queue
            while above and above in self.queues:
                if above in chain:
                    raise InvalidInput(f"queue {above}: its parents form a cycle; correct spec.parentQueue")
                chain.append(above)
                above = self.queues[above].text("spec", "parentQueue")
            self.chains[queue] = chain
        return self.chains[queue]

    def _amount(self, queue: str, key: str, which: str) -> int | None:
        """A queue's quota or limit in the units of pods; None where it is unlimited (-1)."""
        entry = self.queues[queue]
        value = entry.get("spec", "resources", key, which)
        if value is None:
            return None if which == "limit" else 0
        if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > 2**40:
            entry.bad(("spec", "resources", key, which), value, "must be a number")
        factor = 1000 if key == "gpu" else _QUEUE_UNITS[key][1]
        return None if value < 0 else math.floor(value * factor)

    def _held_by(self, queue: str, resource: str) -> int:
        """What all units of a queue hold; asked when all units are known."""
        if (queue, resource) not in self.holdings:
            units = self.state.units.values()
            self.holdings[queue, resource] = sum(u.use.get(resource, 0) for u in units if queue in self._chain(u.queue))
        return self.holdings[queue, resource]

    def _victims(self, group: Entry, use: Amounts) -> Iterable[str]:
        """Units that the group may evict: lower ones of its own queue, and those of queues above what they deserve."""
        mine, priority = group.text("spec", "queue"), self._priority(group)
        below = mine in self.queues and self._within_deserved(mine, use)
        now = self.state.now
        for unit in self.state.units.values():
            theirs = self.groups[unit.gang]
            if not self._preemptible(theirs):
                continue
            if unit.queue == mine:
                able = unit.priority < priority and self._ran(unit, mine, "preemptMinRuntime", now)
            else:
                able = below and self._above_deserved(unit.queue, mine)
                able = able and self._ran(unit, unit.queue, "reclaimMinRuntime", now)
                if able:
                    self.state.assume(
                        "reclaim: from queues that hold more GPUs than their quota, by one that holds less; fair "
                        "shares beyond the quota are not modelled"
                    )
            if able:
                yield unit.name

    def _within_deserved(self, queue: str, use: Amounts) -> bool:
        """Whether the queue, with the job, holds no more GPUs than it deserves."""
        deserved = self._amount(queue, "gpu", "quota")
        return deserved is None or not use.get(GPU) or self._held_by(queue, GPU) + use[GPU] <= deserved

    def _above_deserved(self, theirs: str, mine: str) -> bool:
        """Whether a queue, or one above it that is not above ours too, holds more GPUs than it deserves."""
        ours = set(self._chain(mine))
        for queue in self._chain(theirs):
            if queue in ours:
                break
            deserved = self._amount(queue, "gpu", "quota")
            if deserved is not None and self._held_by(queue, GPU) > deserved:
                return True
        return False

    def _ran(self, unit: Unit, queue: str, key: str, now: int | None) -> bool:
        """Whether a unit has run for the queue's minimum; the nearest queue that says one counts."""
        for one in self._chain(queue):
            text = self.queues[one].text("spec", key)
            if text and text not in ("0s", "0"):
                return now is None or unit.age >= values.span(f"queue {one}: {key}", re.sub(r"\.[0-9]+s$", "s", text))
        return True

    def _limit(self, name: str, group: Entry, use: Amounts) -> None:
        """What queues may hold at most, from the group's own to the root."""
        for queue in self._chain(group.text("spec", "queue")):
            for key, (resource, _) in _QUEUE_UNITS.items():
                most = self._amount(queue, key, "limit")
                if most is None or not use.get(resource):
                    continue
                inside = {
                    u.name: u.use.get(resource, 0) for u in self.state.units.values() if queue in self._chain(u.queue)
                }
                remaining = most - sum(inside.values())
                self.state.limits.append(Limit(f"queue {queue}: {resource}", remaining, {name: use[resource]}, inside))
