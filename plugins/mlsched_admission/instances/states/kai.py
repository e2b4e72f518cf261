"""The state of KAI, from the archive of its snapshot plugin (`/get-snapshot`).

A pod group runs or waits as one: a gang of its pods, which is lost completely below its minimum. It may preempt lower
groups of its own leaf queue, reclaim from queues above their share, and move (to consolidate) units that it may not
evict. Shares, requests and chunks are those of KAI's own program (`systems/kai`). KAI deletes pods regardless of
disruption budgets.
"""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Iterable

from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states import values
from mlsched_admission.instances.states.asked import Waiting, asked_about
from mlsched_admission.instances.states.documents import Document
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.losses import Losses, save_time_of
from mlsched_admission.instances.states.state import (
    THOUSANDTHS,
    Amounts,
    Job,
    Limit,
    Node,
    Options,
    Pod,
    Quota,
    Shape,
    State,
    Unit,
    multiple_of_amounts,
    sum_of_amounts,
)
from mlsched_admission.instances.states.unmodelled import unmodelled_features
from mlsched_admission.instances.systems.kai import actions, shares
from mlsched_admission.instances.systems.kai.model import ACTIVE, RELEASING
from mlsched_admission.instances.systems.kai.model import Job as KaiJob
from mlsched_admission.instances.systems.kai.model import Pod as KaiPod
from mlsched_admission.instances.systems.kai.model import Queue as KaiQueue
from mlsched_admission.instances.systems.kai.model import sum_of_vectors as k_plus
from mlsched_admission.instances.systems.kai.reading import GROUP, UNKNOWN_PRIORITY, read_session

STARTED = "kai.scheduler/last-start-timestamp"
#: Product of movable pods and nodes up to which moves are considered.
MOST_MOVES = 10_000
STALE = "kai.scheduler/stale-podgroup-timestamp"
GPU = "nvidia.com/gpu"
#: Fields of queues with the least time that a group runs before it is preempted, or reclaimed.
RUNTIMES = ("preemptMinRuntime", "reclaimMinRuntime")


def read_kai(documents: list[Document], options: Options) -> State:
    """Return the state of a snapshot."""
    if len(documents) > 1:
        raise InvalidInput(f"{len(documents)} snapshots of KAI are given; give one")
    raw = documents[0].entry.under("rawObjects")
    by_kind = _objects_by_kind(raw, documents[0].path)
    if not by_kind["Node"]:
        raw.fail("nodes are missing", "fetch the snapshot again")
    state = State("kai")
    return _Snapshot(by_kind, state, options, documents[0].entry.under("config")).read()


def _objects_by_kind(raw: Entry, path: str) -> k8s.Objects:
    """Return the objects of the snapshot by kind; the objects themselves lack their kind."""
    kinds = {
        "pods": "Pod",
        "nodes": "Node",
        "queues": "Queue",
        "podGroups": "PodGroup",
        "priorityClasses": "PriorityClass",
    }
    by_kind: k8s.Objects = {}
    for key, kind in kinds.items():
        by_kind[kind] = list(raw.entries(key))
        for entry in by_kind[kind]:
            entry.needed("metadata", "name")
            entry.where = f"{path}: {kind} {k8s.full_name(entry)}"
    return by_kind


class _Snapshot:
    """A snapshot as read: the session of KAI's program, and its pods by name."""

    def __init__(self, by_kind: k8s.Objects, state: State, options: Options, config: Entry) -> None:
        self.found, self.state, self.options, self.config = by_kind, state, options, config
        self.moves = True
        self.machines = k8s.machines_by_name(by_kind)
        self.session = read_session(by_kind, self.machines)
        shares.divide_fairly(self.session)
        self.groups = {k8s.full_name(group): group for group in by_kind["PodGroup"]}
        self.queues = {one.text("metadata", "name"): one for one in by_kind["Queue"]}
        self.entries = {k8s.full_name(pod): pod for pod in by_kind["Pod"]}
        for pod in by_kind["Pod"]:
            group_name = pod.mapping("metadata", "annotations").get(GROUP, "")
            space = pod.text("metadata", "namespace")
            if group_name and (f"{space}/{group_name}" if space else group_name) not in self.groups:
                state.assume(f"{pod.where}: its pod group is not in the snapshot, so nobody may evict it")

    def _amounts_on_node(self, pod: KaiPod) -> Amounts:
        """Return a pod's amounts on a node: GPUs in thousandths, parts of devices summed up."""
        share = pod.portion * pod.devices
        if pod.gpu_memory:
            share = pod.accepted if pod.accepted >= 0 else pod.request(self.session.smallest)[2]
        gpu = 1000 * pod.gpus + -(-share // 1000)
        totals = {"cpu": pod.cpu, "memory": pod.memory, GPU: gpu, "pods": 1, **pod.mig, **pod.others}
        return {name: amount for name, amount in totals.items() if amount}

    def _amounts_in_quotas(self, pods: Iterable[KaiPod]) -> Amounts:
        """Return the amounts of pods in quotas."""
        cpu, memory, gpu = self.session.requested_amounts(pods)
        return {"cpu": cpu, "memory": memory, GPU: -(-gpu // 1000)}

    def read(self) -> State:
        state, session = self.state, self.session
        state.scales = {**state.scales, GPU: THOUSANDTHS}
        for machine in self.machines.values():
            machine.room[GPU] = 1000 * machine.room.get(GPU, 0)
            state.nodes[machine.name] = Node(machine.name, dict(machine.room))
        for node in session.nodes.values():
            for pod in node.pods:
                self._subtract_pod(state.nodes[node.name], pod)
        bound = [pod for node in session.nodes.values() for pod in node.pods]
        if any(pod.shared for pod in bound):
            state.assume("shares of GPUs: summed up by node, not packed into single devices")
        everything = (entry for kind in ("Pod", "Node", "PodGroup") for entry in self.found[kind])
        losses = Losses(
            state, self.options, k8s.latest_time(everything), gpus=any(self._gpus_of_pod(pod) for pod in bound)
        )
        line = []
        preemptible = sum(len(job.pods) for job in session.jobs.values() if job.preemptible)
        self.moves = preemptible * len(session.nodes) <= MOST_MOVES
        for name, job in session.jobs.items():
            running = [pod for pod in job.pods if pod.status in ACTIVE and pod.node in state.nodes]
            if running:
                self._add_units(job, running, losses)
            if job.ready and job.chunk_to_place():
                line.append(Waiting(name, self.groups[name].text("metadata", "name"), job.priority, job.created))
            elif not running and job.pods:
                state.held[name] = "it has fewer pods than its minimum, so it cannot start"
        losses.settle_losses(state.units)
        gangs = {unit.gang for unit in state.units.values()}
        state.read.append(
            f"KAI: {count_of(len(state.nodes), 'node')}, {count_of(len(self.queues), 'queue')}, "
            f"{count_of(len(gangs), 'running pod group')}, {len(line)} waiting"
        )
        if any(not group.text("spec", "priorityClassName") for group in self.groups.values()):
            state.assume(f"priority: {UNKNOWN_PRIORITY} where a pod group names no class (KAI's default, train)")
        names = asked_about(line, self.options, state)
        for name in names:
            self._add_job(session.jobs[name], alone=len(names) == 1)
        if not self._lacks_own_program():
            session = self.session
            state.model = lambda: pickle.loads(pickle.dumps(session))  # four times as fast as reading it again
        return state

    def _subtract_pod(self, node: Node, pod: KaiPod) -> None:
        amounts = {name: amount for name, amount in self._amounts_on_node(pod).items() if name in node.free}
        node.free = sum_of_amounts(node.free, multiple_of_amounts(-1, amounts))
        if pod.status == RELEASING:
            node.draining = sum_of_amounts(node.draining, amounts)

    def _gpus_of_pod(self, pod: KaiPod) -> int:
        amounts = dict(self._amounts_on_node(pod))
        whole = amounts.pop(GPU, 0)
        return whole + k8s.gpus_thousandths(amounts)

    def _lacks_own_program(self) -> bool:
        """Return whether KAI's own program lacks a feature of the state here; then the rule for instances decides."""
        times_ = [key for q in self.queues.values() for key in RUNTIMES if q.text("spec", key) not in ("", "0s", "0")]
        groups = [line for g in self.groups.values() for line in unmodelled_features("kai", "PodGroup", g)]
        pods = [line for pod in self.found["Pod"] for line in self._unmodelled_of_pod(pod)]
        stale = [f"stale gangs ({name})" for name in self._stale_groups()]
        reasons = list(dict.fromkeys([*times_, *groups, *pods, *stale, *self._placement_strategies()]))
        for what in reasons:
            self.state.assume(f"{what}: KAI's own program here does not have it")
        return bool(reasons)

    def _placement_strategies(self) -> list[str]:
        """Return configured strategies of placement other than bin packing."""
        plugins = [one for tier in self.config.entries("tiers") for one in tier.entries("plugins")]
        placements = [one for one in plugins if one.text("name") == "nodeplacement"]
        spread = [key for one in placements for key, how in one.mapping("arguments").items() if how == "spread"]
        return [f"spread placement of {key}" for key in spread]

    def _stale_groups(self) -> list[str]:
        """Return groups that KAI has marked as stale: it evicts them completely past a grace period."""
        return [name for name, group in self.groups.items() if STALE in group.mapping("metadata", "annotations")]

    def _unmodelled_of_pod(self, pod: Entry) -> list[str]:
        notes = Entry(pod.mapping("metadata", "annotations"), pod.where)
        return [
            *unmodelled_features("kai", "Pod", Entry(pod.value.get("spec") or {}, pod.where)),
            *unmodelled_features("kai", "Pod", notes),
        ]

    def _add_units(self, job: KaiJob, running: list[KaiPod], losses: Losses) -> None:
        """Add each running pod of a group as a unit of the gang: KAI evicts pods above the minimum one by one."""
        group = self.groups[job.name]
        notes = group.mapping("metadata", "annotations")
        start = values.parse_time(notes.get(STARTED, ""))
        for pod in running:
            entry = self.entries[pod.name]
            began = start if start is not None else k8s.time_of(entry, "status", "startTime")
            save_time = save_time_of({**notes, **entry.mapping("metadata", "annotations")}, self.options)
            amount = self._gpus_of_pod(pod) if losses.counted == "GPU" else pod.cpu
            unit = Unit(pod.name, job.priority, gang=job.name, minimum=max(1, sum(job.minima.values())))
            unit.lost = losses.loss_of(amount, began, save_time, pod.name)
            unit.grace = entry.whole("spec", "terminationGracePeriodSeconds", default=k8s.GRACE, low=0)
            unit.age = 0 if began is None or losses.now is None else max(0, losses.now - began)
            unit.movable = job.preemptible and self.moves
            unit.rank = pod.uid
            unit.queue, unit.use = job.queue, self._amounts_in_quotas([pod])
            unit.pods = [Pod(pod.name, pod.node, self._amounts_on_node(pod), nodes=pod.open_to)]
            self.state.units[pod.name] = unit

    def _add_job(self, group: KaiJob, *, alone: bool) -> None:
        """Add the chunk that KAI places next, and the group's possible victims."""
        name, chunk, entry = group.name, group.chunk_to_place(), self.groups[group.name]
        job = Job(name, group.priority)
        alike: dict[tuple[object, ...], Shape] = {}
        for pod in chunk:
            demand, nodes = self._amounts_on_node(pod), pod.open_to or frozenset()
            key = (tuple(sorted(demand.items())), nodes)
            alike.setdefault(key, Shape(0, demand, nodes)).count += 1
            self.state.leave_out(name, self._unmodelled_of_pod(self.entries[pod.name]))
        if any(pod.shared for pod in chunk):
            self.state.leave_out(name, ["shares of single devices"])
        job.shapes = list(alike.values())
        if len(chunk) < sum(1 for pod in group.pods if pod.waits):
            self.state.leave_out(name, ["pods of an elastic group beyond the chunk that is placed next"])
        if not self.moves:
            self.state.leave_out(name, ["moving what runs, on a state of this size,"])
        if stale := self._stale_groups():
            self.state.leave_out(name, [f"stale gangs ({stale[0]})"])
        self._require_level(job, entry, name)
        self.state.leave_out(name, unmodelled_features("kai", "PodGroup", entry))
        use = self._amounts_in_quotas(chunk)
        path = self.session.path_to_root(group.queue)
        if path:
            self._add_victims(job, group, chunk, use, path, alone=alone)
            self._add_limits(name, group, use, path)
        self.state.jobs[name] = job

    def _require_level(self, job: Job, group: Entry, name: str) -> None:
        """Require a level of a topology: the node label itself is the name of a node's domain."""
        constraint = group.under("spec", "topologyConstraint")
        if preferred := constraint.text("preferredTopologyLevel"):
            self.state.assume(f"preferred level {preferred} of {name}: a wish, which plans may not keep")
        level = constraint.text("requiredTopologyLevel")
        if not level or len(job.shapes) > 1:
            return
        self.state.levels = [*self.state.levels, *({level} - set(self.state.levels))]
        for machine in self.machines.values():
            if level in machine.labels:
                self.state.nodes[machine.name].domain[level] = machine.labels[level]
        for shape in job.shapes:
            shape.level = level

    def _add_victims(
        self, job: Job, group: KaiJob, chunk: list[KaiPod], use: Amounts, path: list[KaiQueue], *, alone: bool
    ) -> None:
        """Add lower groups of the own leaf queue (preempt), and groups of queues above their share (reclaim)."""
        session, request, now = self.session, self.session.requested_amounts(chunk), self.state.now
        leaf = path[0]
        within_share = group.preemptible or all(q.within_deserved(k_plus(q.fixed, request)) for q in path)
        fair = all(a <= f for a, f in zip(k_plus(leaf.allocated, request), leaf.fair, strict=True))
        reclaims = within_share and fair
        may = set()
        sides: dict[str, KaiQueue] = {}
        for unit in self.state.units.values():
            other = session.jobs[unit.gang]
            if other is group or not other.preemptible:
                continue
            if other.queue == group.queue:
                if (
                    within_share
                    and other.priority < group.priority
                    and self._has_run_minimum(unit, group.queue, RUNTIMES[0], now)
                ):
                    may.add(unit.name)
            elif (
                reclaims
                and (theirs := session.path_to_root(other.queue))
                and self._has_run_minimum(unit, other.queue, RUNTIMES[1], now)
            ):
                mine, side = actions.sides_of_queues(path, theirs)
                if self._is_above_share(mine, side, request):
                    may.add(unit.name)
                    sides[unit.name] = side
        job.may = frozenset(may)
        if sides and alone:
            self._add_share_tree(job, sides, use, path, request)

    def _is_above_share(self, mine: KaiQueue, side: KaiQueue, request: tuple[int, int, int]) -> bool:
        """Return whether the queue `side` is above the part that the reclaimer's queue `mine` must leave it (A11)."""
        needy = mine.within_deserved(k_plus(mine.allocated, request)) and not side.within_deserved(side.allocated)
        return needy or any(side.allocated[r] > side.allocatable(r) for r in range(3))

    def _add_share_tree(
        self, job: Job, sides: dict[str, KaiQueue], use: Amounts, path: list[KaiQueue], request: tuple[int, int, int]
    ) -> None:
        """Add shares as quotas of a flat tree: a queue gives only while it is above its share of a resource (A11).

        Args:
            job: The waiting job; its queue and use are set.
            sides: Unit -> the queue that must be above its share to lose it.
            use: Amounts of the job that count in quotas.
            path: Queues of the job, from its own to the root.
            request: Requested CPU, memory and GPU.
        """
        state, most = self.state, 2**50
        names = [f"share/{name}" for name, amount in use.items() if amount]
        state.above_nominal = True
        root = Quota("KAI", nominal=dict.fromkeys(names, most))
        state.quotas = {"KAI": root, path[0].name: Quota(path[0].name, "KAI")}
        own = path[0].allocated
        state.quotas[path[0].name].used = self._shares_by_resource(own)
        for side in {queue.name: queue for queue in sides.values()}.values():
            mine = next(q for q in path if q.parent == side.parent)
            needy = mine.within_deserved(k_plus(mine.allocated, request))
            shares_ = [side.allocatable(r) for r in range(3)]
            if needy:
                shares_ = [min(a, d) if d >= 0 else a for a, d in zip(shares_, side.deserved, strict=True)]
            nominal = tuple(int(min(a, most)) for a in shares_)
            quota = Quota(side.name, "KAI", self._shares_by_resource((nominal[0], nominal[1], nominal[2])))
            quota.lend = dict.fromkeys(names, 0)
            quota.used = self._shares_by_resource(side.allocated)
            state.quotas[side.name] = quota
        for unit in state.units.values():
            unit_side = sides.get(unit.name)
            unit.use = {f"share/{name}": amount for name, amount in unit.use.items()}
            unit.queue = unit_side.name if unit_side is not None else path[0].name if unit.queue == path[0].name else ""
            if not unit.queue:
                unit.use = {}
        job.queue, job.use = path[0].name, {f"share/{name}": amount for name, amount in use.items() if amount}
        job.contested = frozenset(names)

    def _shares_by_resource(self, amounts: tuple[int, int, int]) -> Amounts:
        cpu, memory, gpu = amounts
        return {"share/cpu": cpu, "share/memory": memory, f"share/{GPU}": -(-gpu // 1000)}

    def _has_run_minimum(self, unit: Unit, queue: str, key: str, now: int | None) -> bool:
        """Return whether a unit has run for the queue's minimum; the nearest queue with a minimum counts."""
        for one in self.session.path_to_root(queue):
            text = self.queues[one.name].text("spec", key)
            if text and text not in ("0s", "0"):
                least = values.parse_span(f"queue {one.name}: {key}", re.sub(r"\.[0-9]+s$", "s", text))
                return now is None or unit.age >= least
        return True

    def _add_limits(self, name: str, group: KaiJob, use: Amounts, path: list[KaiQueue]) -> None:
        """Add the limits of queues, and of non-preemptible groups to their deserved share (rule A8)."""
        for queue in path:
            inside = [job for job in self.session.jobs.values() if queue in self.session.path_to_root(job.queue)]
            for r, resource in enumerate(("cpu", "memory", GPU)):
                factor = 1000 if resource == GPU else 1
                if not use.get(resource):
                    continue
                rows = [(queue.limit[r], queue.allocated[r], "limit")]
                if not group.preemptible:
                    rows.append((queue.deserved[r], queue.fixed[r], "quota of non-preemptible groups"))
                for most, use_now, what in rows:
                    if most < 0:
                        continue
                    releases = {
                        pod.name: self._amounts_in_quotas([pod])[resource]
                        for job in inside
                        if what == "limit" or not job.preemptible
                        for pod in job.pods
                        if pod.name in self.state.units
                    }
                    remaining = most // factor - -(-use_now // factor)
                    unit, label = 1, resource
                    if resource == GPU:
                        whole = math.gcd(remaining, use[resource], *releases.values()) % 1000 == 0
                        unit, label = (1000, GPU) if whole else (1, f"thousandths of {GPU}")
                    amounts = {pod: amount // unit for pod, amount in releases.items()}
                    name_ = f"queue {queue.name}: {what} of {label}"
                    self.state.limits.append(Limit(name_, remaining // unit, {name: use[resource] // unit}, amounts))
