"""A session of KAI: pods, jobs, queues and nodes with their devices (rules A1, A2)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

#: Amounts of one GPU: shares are millionths.
GPU = 1_000_000
#: Resources in quotas: millicores, bytes, millionths of a GPU.
Vector = tuple[int, int, int]
ZERO: Vector = (0, 0, 0)
CPU_, MEMORY_, GPU_ = range(3)
#: Statuses of pods (A1).
PENDING, GATED, BOUND, RUNNING, ALLOCATED, PIPELINED, RELEASING = (
    "Pending",
    "Gated",
    "Bound",
    "Running",
    "Binding",
    "Pipelined",
    "Releasing",
)
ACTIVE = frozenset({BOUND, RUNNING, ALLOCATED, PIPELINED})
#: Statuses in which a pod uses its resources now.
HOLDING = frozenset({BOUND, RUNNING, ALLOCATED, RELEASING})


def sum_of_vectors(a: Vector, b: Vector, sign: int = 1) -> Vector:
    """Return a + sign * b."""
    return (a[0] + sign * b[0], a[1] + sign * b[1], a[2] + sign * b[2])


@dataclass(eq=False)
class Pod:
    """A pod. Its GPUs are complete, or a share (`portion`) or memory (MiB) on each of `devices` devices, or MIG."""

    name: str
    uid: str
    job: Job
    subgroup: str
    status: str
    node: str
    cpu: int
    memory: int
    gpus: int = 0
    portion: int = 0
    gpu_memory: int = 0
    devices: int = 1
    mig: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, int] = field(default_factory=dict)
    priority: int = 0
    created: int = 0
    groups: tuple[str, ...] = ()
    nominated: str = ""
    open_to: frozenset[str] | None = None
    evicted: bool = False
    """Whether a search has just evicted it: it leaves its node, and waits for a place."""
    accepted: int = -1
    """Millionths of a GPU that it counts where it is placed; -1: not placed."""

    @property
    def waits(self) -> bool:
        """Return whether it waits for a place."""
        return self.status == PENDING or (self.status == RELEASING and self.evicted)

    @property
    def shared(self) -> bool:
        """Return whether it uses parts of devices."""
        return self.portion > 0 or self.gpu_memory > 0

    def order(self) -> tuple[int, int, str]:
        """Return the sort key among the pods of a job."""
        return (-self.priority, self.created, self.uid)

    def request(self, smallest: int) -> Vector:
        """Return its amounts in quotas; GPU memory counts by the smallest device of the cluster."""
        if self.gpu_memory and self.accepted < 0:
            gpu = GPU * self.gpu_memory * self.devices // max(1, smallest)
        else:
            gpu = self.accepted if self.accepted >= 0 else self.gpus * GPU + self.portion * self.devices
        return (self.cpu, self.memory, gpu + GPU * sum(mig_gpus(name) * n for name, n in self.mig.items()))


def mig_gpus(resource: str) -> int:
    """Return the number of GPUs of a MIG resource in quotas: N of nvidia.com/mig-Ng.*."""
    digits = resource.rpartition("/")[2].removeprefix("mig-").partition("g")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 3 else 1


@dataclass(eq=False)
class Job:
    """A pod group: subgroups with their minimum, and its pods."""

    name: str
    uid: str
    queue: str
    priority: int
    created: int
    preemptible: bool
    minima: dict[str, int] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    unmodelled: list[str] = field(default_factory=list)

    def active_count(self, subgroup: str, leaving: Container[Pod] = ()) -> int:
        """Return the number of active pods of a subgroup, without the pods in `leaving`."""
        return sum(1 for pod in self.pods if pod.subgroup == subgroup and pod.status in ACTIVE and pod not in leaving)

    @property
    def ready(self) -> bool:
        """Return whether every subgroup has its minimum of living, ungated pods."""
        return all(
            sum(1 for pod in self.pods if pod.subgroup == name and (pod.waits or pod.status in ACTIVE)) >= least
            for name, least in self.minima.items()
        )

    def active_ratio(self, subgroup: str) -> float:
        """Return active pods over the minimum of a subgroup."""
        return self.active_count(subgroup) / max(1, self.minima[subgroup])

    def chunk_to_place(self) -> list[Pod]:
        """Return the chunk that is placed next (A7)."""
        waiting: dict[str, list[Pod]] = {name: [] for name in self.minima}
        for pod in sorted(self.pods, key=Pod.order):
            if pod.waits:
                waiting[pod.subgroup].append(pod)
        line = sorted(self.minima, key=lambda name: (self.active_ratio(name), name))
        missing = {name: self.minima[name] - self.active_count(name) for name in line}
        if any(more > 0 for more in missing.values()):
            return [pod for name in line if missing[name] > 0 for pod in waiting[name][: missing[name]]]
        return next((waiting[name][:1] for name in line if waiting[name]), [])

    def chunk_to_evict(self, leaving: Iterable[Pod] = ()) -> tuple[list[Pod], bool]:
        """Return the chunk that is evicted next, without pods that are gone, and whether pods are left (A7)."""
        out = set(leaving)
        remaining = [pod for pod in self.pods if pod.status in ACTIVE and pod not in out]
        counts = {name: sum(1 for pod in remaining if pod.subgroup == name) for name in self.minima}
        above = [name for name in self.minima if counts[name] > self.minima[name]]
        if not above:
            return remaining, False
        fullest = max(above, key=lambda name: (counts[name] / max(1, self.minima[name]), name))
        last = max((pod for pod in remaining if pod.subgroup == fullest), key=Pod.order)
        return [last], True


@dataclass(eq=False)
class Queue:
    """A queue: amounts are those of `Vector`; -1 is unlimited."""

    name: str
    parent: str
    priority: int
    created: int
    deserved: Vector
    limit: Vector
    weight: tuple[float, float, float]
    children: list[str] = field(default_factory=list)
    allocated: Vector = ZERO
    fixed: Vector = ZERO
    """What non-preemptible jobs hold."""
    requested: Vector = ZERO
    fair: Vector = ZERO

    def allocatable(self, r: int) -> float:
        """Return the allocatable share of a resource (A3)."""
        most = float("inf") if self.limit[r] < 0 else self.limit[r]
        return most if self.deserved[r] < 0 else min(most, max(self.deserved[r], self.fair[r]))

    def within_deserved(self, amounts: Vector) -> bool:
        """Return whether amounts are within the deserved share everywhere."""
        return all(d < 0 or a <= d for a, d in zip(amounts, self.deserved, strict=True))


@dataclass(eq=False)
class Group:
    """A shared device: present, leaving and pipelined amounts, in memory times `GPU`."""

    held: int = 0
    leaving: int = 0
    coming: int = 0

    @property
    def free(self) -> int:
        """Return the memory in use now, leaving pods included."""
        return self.held + self.leaving


class Node:
    """A node: undivided resources now and after all releases, and shared devices."""

    def __init__(
        self, name: str, room: Mapping[str, int], device: int, strategy: str, *, usable: bool, labelled: bool = True
    ) -> None:
        """Create a node. labelled: its label gives the memory of a device; else it refuses GPU memory requests."""
        self.name, self.room, self.device, self.strategy, self.usable = name, dict(room), device, strategy, usable
        self.labelled = labelled
        self.now: dict[str, int] = dict(room)
        self.soon: dict[str, int] = dict(room)
        self.groups: dict[str, Group] = {}
        self.pods: set[Pod] = set()

    @property
    def devices_now(self) -> int:
        """Return the number of wholly idle devices."""
        return self.now.get("gpu", 0) - len([g for g in self.groups.values() if g.held or g.leaving])

    @property
    def devices_soon(self) -> int:
        """Return the number of devices that are idle after all releases."""
        return self.soon.get("gpu", 0) - len([g for g in self.groups.values() if g.held or g.coming])

    def free_gpus(self) -> float:
        """Return idle and releasing GPUs, parts of shared devices included."""
        parts = sum(max(0, self.device * GPU - g.held - g.coming) for g in self.groups.values() if g.held or g.coming)
        return self.devices_soon + parts / (self.device * GPU)

    def memory_needed(self, pod: Pod) -> int:
        """Return the memory (times `GPU`) that a pod takes of a shared device here."""
        return pod.gpu_memory * GPU if pod.gpu_memory else pod.portion * self.device

    def undivided_amounts(self, pod: Pod) -> Iterator[tuple[str, int]]:
        """Yield the resources of a pod that are not parts of devices."""
        yield "cpu", pod.cpu
        yield "memory", pod.memory
        yield "pods", 1
        if pod.gpus:
            yield "gpu", pod.gpus
        yield from pod.mig.items()
        yield from pod.others.items()

    def count_pod(self, pod: Pod, sign: int = 1) -> None:
        """Count a pod by its status and groups (sign -1: no longer)."""
        (self.pods.add if sign > 0 else self.pods.discard)(pod)
        for resource, amount in self.undivided_amounts(pod):
            if pod.status in HOLDING:
                self.now[resource] = self.now.get(resource, 0) - sign * amount
            if pod.status in ACTIVE:
                self.soon[resource] = self.soon.get(resource, 0) - sign * amount
        for name in pod.groups if pod.shared else ():
            group = self.groups.setdefault(name, Group())
            amount = sign * self.memory_needed(pod)
            if pod.status == RELEASING:
                group.leaving += amount
            elif pod.status == PIPELINED:
                group.coming += amount
            elif pod.status in ACTIVE:
                group.held += amount
            if not (group.held or group.leaving or group.coming):
                del self.groups[name]

    def devices_for(self, pod: Pod, *, releases: bool) -> tuple[str, ...] | None:
        """Return the devices for a pod (empty for undivided ones), or None if it does not fit (A2).

        releases: count leaving pods as free.
        """
        if pod.gpus and pod.gpus > (self.devices_soon if releases else min(self.devices_now, self.devices_soon)):
            return None
        room = self.soon if releases else self.now
        for resource, amount in self.undivided_amounts(pod):
            if resource != "gpu" and amount > min(room.get(resource, 0), self.soon.get(resource, 0)):
                return None
        if self.strategy == "mixed" and (pod.gpus or pod.shared):
            return None
        if self.strategy == "single" and (pod.mig or pod.shared):
            return None
        return self._shared_devices(pod, releases) if pod.shared and not pod.gpus else ()

    def _shared_devices(self, pod: Pod, releases: bool) -> tuple[str, ...] | None:
        need, capacity = self.memory_needed(pod), self.device * GPU
        if need > capacity or (pod.gpu_memory and not self.labelled):
            return None
        devices = self.joinable_devices(pod)[: pod.devices]
        if not releases and any(self._memory_in_use(self.groups[name]) + need > capacity for name in devices):
            return None
        if (more := pod.devices - len(devices)) > 0:
            idle = self.devices_soon if releases else min(self.devices_now, self.devices_soon)
            room = min(self.soon["pods"], self.soon["pods"] if releases else self.now["pods"])
            if idle < more or room < 1 + more:
                return None
            taken_names, number = set(self.groups), 0
            while len(devices) < pod.devices:
                number += 1
                if (name := f"~{self.name}-{number}") not in taken_names:
                    devices.append(name)
        return tuple(devices)

    def _memory_in_use(self, group: Group) -> int:
        return max(group.free, group.held + group.coming)

    def joinable_devices(self, pod: Pod) -> list[str]:
        """Return the shared devices that have room after releases, the most used first, then by name."""
        need, capacity = self.memory_needed(pod), self.device * GPU
        able = [
            name for name, g in self.groups.items() if (g.held or g.coming) and capacity - g.held - g.coming >= need
        ]
        return sorted(able, key=lambda name: (-self.groups[name].free, name))


@dataclass
class Session:
    """The scheduler's view in one session."""

    nodes: dict[str, Node]
    queues: dict[str, Queue]
    jobs: dict[str, Job]
    total: Vector
    smallest: int
    """Memory of the smallest device, MiB."""
    read: list[str] = field(default_factory=list)

    def path_to_root(self, name: str) -> list[Queue]:
        """Return a queue and those above it."""
        queues_up = []
        while name in self.queues:
            queues_up.append(self.queues[name])
            name = self.queues[name].parent
        return queues_up

    def all_pods(self) -> Iterator[Pod]:
        """Yield all pods of jobs."""
        for job in self.jobs.values():
            yield from job.pods

    def set_status(self, pod: Pod, status: str, node: str = "", groups: tuple[str, ...] = ()) -> None:
        """Give a pod another status and place, and update nodes and queues."""
        self._count_pod(pod, -1)
        pod.status, pod.node, pod.groups = status, node, groups
        pod.accepted = -1
        if pod.gpu_memory and status in ACTIVE and node in self.nodes:
            device = max(1, self.nodes[node].device)
            pod.accepted = -(-100 * pod.gpu_memory // device) * (GPU // 100) * pod.devices
        self._count_pod(pod, 1)

    def _count_pod(self, pod: Pod, sign: int) -> None:
        if pod.node in self.nodes and (pod.status in ACTIVE or pod.status == RELEASING):
            self.nodes[pod.node].count_pod(pod, sign)
        if pod.status in ACTIVE:
            amounts = pod.request(self.smallest)
            for queue in self.path_to_root(pod.job.queue):
                queue.allocated = sum_of_vectors(queue.allocated, amounts, sign)
                if not pod.job.preemptible:
                    queue.fixed = sum_of_vectors(queue.fixed, amounts, sign)

    def requested_amounts(self, pods: Iterable[Pod]) -> Vector:
        """Return the amounts of pods in quotas."""
        total = ZERO
        for pod in pods:
            total = sum_of_vectors(total, pod.request(self.smallest))
        return total
