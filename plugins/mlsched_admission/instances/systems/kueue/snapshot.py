"""A state of Kueue as its scheduler sees it: queues with their policies, workloads, flavors and nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlsched.core.aliases import Data
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.systems.kueue.tree import Amounts, FlavorResource, Node

if TYPE_CHECKING:
    from mlsched_admission.instances.systems.kueue.topology import Forest

#: Pods per domain: (flavor, values of the levels) -> (requests of one pod, pods).
Placement = tuple[str, tuple[str, ...], Mapping[str, int], int]


@dataclass
class Config:
    """The manager's configuration, as far as decisions depend on it."""

    fair: bool = False
    strategies: tuple[str, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
    admission_fair: bool = False
    gates: dict[str, bool] = field(default_factory=dict)
    transformations: list[tuple[str, bool, dict[str, str], str]] = field(default_factory=list)
    excluded: tuple[str, ...] = ()
    block_admission: bool = False

    def feature_enabled(self, name: str, default: bool) -> bool:
        """Return whether a feature gate is on."""
        return self.gates.get(name, default)


@dataclass(eq=False)
class Queue:
    """A ClusterQueue: its node of the tree and its policies."""

    name: str
    node: Node
    within: str = "Never"
    reclaim: str = "Never"
    borrow: bool = False
    threshold: int | None = None
    groups: list[tuple[list[str], list[str]]] = field(default_factory=list)
    can_borrow_next: bool = False
    can_preempt_next: bool = True
    prefer_preemption: bool = False
    strict: bool = False
    checks: list[str] = field(default_factory=list)
    inactive: str = ""
    running: dict[str, Workload] = field(default_factory=dict)
    topologies_only: bool = False


@dataclass
class PodSet:
    """Equal pods of a workload. `each`: requests of one pod; `delayed`: an admission check places it later."""

    name: str
    count: int
    minimum: int
    each: dict[str, int]
    spec: Entry
    request: Entry
    group: str = ""

    @property
    def explicit(self) -> bool:
        """Return whether the podset itself requests a topology."""
        request = self.request
        return bool(request.value) and any(
            request.get(key) is not None
            for key in (
                "required",
                "preferred",
                "unconstrained",
                "podSetSliceRequiredTopology",
                "podsetSliceRequiredTopologyConstraints",
            )
        )


@dataclass(eq=False)
class Workload:
    """A workload; one with reserved quota has `usage` and `placements`."""

    name: str
    uid: str
    queue: str
    priority: int
    queued: int
    evicted: bool = False
    reserved: int = 0
    usage: Amounts = field(default_factory=dict)
    placements: list[Placement] = field(default_factory=list)
    pod_sets: list[PodSet] = field(default_factory=list)
    gated: bool = False
    delayed: bool = False
    inadmissible: str = ""
    unmodelled: list[str] = field(default_factory=list)


@dataclass
class Snapshot:
    """Queues by name, workloads that wait, flavors, and the nodes of topologies."""

    config: Config
    queues: dict[str, Queue]
    cohorts: dict[str, Node]
    running: dict[str, Workload]
    waiting: dict[str, Workload]
    flavors: dict[str, Entry]
    forest: Forest
    any_flavor: bool = False
    known: Data = field(default_factory=dict)
    """Workload -> what `cycle.nominated` found on this snapshot."""

    def remove_workload(self, workload: Workload) -> None:
        """Take a running workload out."""
        queue = self.queues[workload.queue]
        del queue.running[workload.name]
        queue.node.add_usage(workload.usage, -1)
        self.forest.count_placements(workload.placements, -1)

    def restore_workload(self, workload: Workload) -> None:
        """Put a running workload back."""
        queue = self.queues[workload.queue]
        queue.running[workload.name] = workload
        queue.node.add_usage(workload.usage)
        self.forest.count_placements(workload.placements)

    @contextlib.contextmanager
    def without_workloads(self, workloads: Iterable[Workload]) -> Iterator[None]:
        """Take workloads out for a while."""
        by_name = {one.name: one for one in workloads}
        leaving = [one for one in by_name.values() if one.name in self.queues[one.queue].running]
        for one in leaving:
            self.remove_workload(one)
        try:
            yield
        finally:
            for one in reversed(leaving):
                self.restore_workload(one)

    def amounts_fit(self, queue: Queue, amounts: Mapping[FlavorResource, int]) -> bool:
        """Return whether the amounts fit in the queue, borrowing included."""
        return all(amount <= queue.node.available(fr) for fr, amount in amounts.items())
