"""Kueue's queues and cohorts as a tree of quotas, and whom its classical preemption may evict for a workload.

A flavor-resource is named "flavor/resource". The arithmetic of the tree is `instances/admission/quotas.py`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, ints
from mlsched_admission.instances.instance import Instance
from mlsched_admission.instances.quotas import NO_LIMIT, Quotas
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.objects import Objects, quantity
from mlsched_admission.instances.states.state import Amounts, Quota

#: Fields that an instance must have; the other ones may be left out.
_WITHOUT_QUOTAS = tuple(f.name for f in dataclasses.fields(Instance) if f.default is dataclasses.MISSING)
#: What a field that is absent says.
_NEVER = "Never"
_WITHIN = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
_RECLAIM = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")


@dataclass
class Queue:
    """What a ClusterQueue says besides its quota. groups: covered resources, and flavors in their order."""

    name: str
    within: str = _NEVER
    reclaim: str = _NEVER
    borrowing: bool = False
    threshold: int | None = None
    groups: list[tuple[list[str], list[str]]] = field(default_factory=list)
    stop_at_borrow: bool = True
    stop_at_preempt: bool = False
    prefer_preemption: bool = False
    stopped: bool = False
    checks: list[str] = field(default_factory=list)


@dataclass
class Tree:
    """Quotas by name ("cohort:c" for cohorts, so that none is taken for a queue), and what queues say.

    The arithmetic is asked for once all that runs has been counted (`Quota.used`).
    """

    quotas: dict[str, Quota]
    queues: dict[str, Queue]

    def path(self, name: str) -> Iterator[str]:
        """The node and its ancestors, the root last."""
        seen: set[str] = set()
        while name:
            if name in seen:
                raise InvalidInput(f"{name}: its cohorts form a cycle; correct spec.parentName")
            seen.add(name)
            yield name
            name = self.quotas[name].parent

    @functools.cached_property
    def frs(self) -> dict[str, int]:
        """Flavor-resources that have a quota somewhere, or are used."""
        return {
            fr: f for f, fr in enumerate(sorted({fr for q in self.quotas.values() for fr in (*q.nominal, *q.used)}))
        }

    @functools.cached_property
    def number(self) -> dict[str, int]:
        """Node -> its number."""
        return {name: number for number, name in enumerate(self.quotas)}

    @functools.cached_property
    def arithmetic(self) -> Quotas:
        """Subtree quotas, usage and limits of all nodes."""
        quotas, frs = list(self.quotas.values()), list(self.frs)
        # An instance in which nothing runs and nothing waits: its quotas alone.
        nothing: dict[str, Any] = dict.fromkeys(_WITHOUT_QUOTAS, ())

        def table(rows: Iterable[Mapping[str, int | None]], absent: int) -> IntArray:
            cells = [[absent if (n := row.get(fr)) is None else n for fr in frs] for row in rows]
            return np.array(cells, dtype=np.int64).reshape(len(quotas), len(frs))

        instance = Instance(
            **nothing,
            quota_parent=ints(self.number.get(quota.parent, -1) for quota in quotas),
            quota_nominal=table((quota.nominal for quota in quotas), 0),
            quota_borrow=table((quota.borrow for quota in quotas), -1),
            quota_lend=table((quota.lend for quota in quotas), -1),
            quota_used=table((quota.used for quota in quotas), 0),
        )
        return Quotas(instance)

    def subtree(self, name: str, fr: str) -> int:
        """The quota that a node and all below it share."""
        return int(self.arithmetic.subtree[self.number[name], self.frs[fr]]) if fr in self.frs else 0

    def usage(self, name: str, fr: str) -> int:
        """What the node uses now: a queue all that runs in it, a cohort what those below use beyond their own."""
        return int(self.arithmetic.used[self.number[name], self.frs[fr]]) if fr in self.frs else 0

    def most(self, name: str, fr: str) -> int | None:
        """What the node may use in all; None where nothing limits it."""
        if fr not in self.frs:
            return 0
        allowed = int(self.arithmetic.allowed[self.number[name], self.frs[fr]])
        return None if allowed == NO_LIMIT else allowed

    def lacks(
        self, queue: str, fr: str, more: int, gone: Mapping[str, int] | None = None, *, empty: bool = False
    ) -> bool:
        """Whether so much more of a queue does not fit, there or at an ancestor.

        gone: what queues give back first. empty: as if nothing ran.
        """
        if fr not in self.frs:
            return more > 0
        own = (
            np.zeros_like(self.arithmetic.instance.quota_used) if empty else self.arithmetic.instance.quota_used.copy()
        )
        own[self.number[queue], self.frs[fr]] += more
        for other, less in (gone or {}).items():
            own[self.number[other], self.frs[fr]] -= less
        path = [self.number[node] for node in self.path(queue)]
        usage = self.arithmetic.usage(own)[path, self.frs[fr]]
        return more > 0 and bool((usage > self.arithmetic.allowed[path, self.frs[fr]]).any())

    def within_nominal(self, name: str, use: Mapping[str, int]) -> bool:
        """Whether so much more leaves the node within its own subtree quota, now."""
        return all(self.usage(name, fr) + more <= self.subtree(name, fr) for fr, more in use.items())


def read_tree(found: Objects) -> Tree:
    """The queues and cohorts of a state; a cohort that is only named exists without quota."""
    tree = Tree({}, {})
    for entry in found.get("Cohort", []):
        name = f"cohort:{entry.needed('metadata', 'name')}"
        parent = entry.text("spec", "parentName") or entry.text("spec", "parent")
        tree.quotas[name] = Quota(name, f"cohort:{parent}" if parent else "")
        _fill(tree.quotas[name], entry)
    for entry in found.get("ClusterQueue", []):
        name = entry.needed("metadata", "name")
        parent = entry.text("spec", "cohortName") or entry.text("spec", "cohort")
        tree.quotas[name] = Quota(name, f"cohort:{parent}" if parent else "")
        tree.queues[name] = _queue(entry, name, _fill(tree.quotas[name], entry))
    for quota in list(tree.quotas.values()):
        if quota.parent and quota.parent not in tree.quotas:
            tree.quotas[quota.parent] = Quota(quota.parent)
    for name in tree.quotas:
        list(tree.path(name))
    return tree


def _fill(quota: Quota, entry: Entry) -> list[tuple[list[str], list[str]]]:
    """Read the quotas; the resource groups as (covered resources, flavors)."""
    groups = []
    for group in entry.entries("spec", "resourceGroups"):
        flavors = []
        for flavor in group.entries("flavors"):
            flavors.append(flavor.needed("name"))
            for resource in flavor.entries("resources"):
                name = resource.needed("name")
                fr = f"{flavors[-1]}/{name}"
                quota.nominal[fr] = quantity(resource, name, "nominalQuota") or 0
                quota.borrow[fr] = quantity(resource, name, "borrowingLimit")
                quota.lend[fr] = quantity(resource, name, "lendingLimit")
        groups.append((group.texts("coveredResources"), flavors))
    return groups


def _queue(entry: Entry, name: str, groups: list[tuple[list[str], list[str]]]) -> Queue:
    preemption = entry.under("spec", "preemption")
    fungibility = entry.under("spec", "flavorFungibility")
    checks = [*entry.texts("spec", "admissionChecks")]
    for one in (*entry.entries("spec", "admissionChecksStrategy", "admissionChecks"),):
        checks.append(one.needed("name"))
    return Queue(
        name,
        _word(preemption, ("withinClusterQueue",), _WITHIN),
        _word(preemption, ("reclaimWithinCohort",), _RECLAIM),
        _word(preemption, ("borrowWithinCohort", "policy"), ("Never", "LowerPriority")) != _NEVER,
        preemption.get("borrowWithinCohort", "maxPriorityThreshold")
        and preemption.whole("borrowWithinCohort", "maxPriorityThreshold"),
        groups,
        # v1beta1 wrote Borrow and Preempt for what is MayStopSearch now.
        fungibility.text("whenCanBorrow", default="Borrow") in ("Borrow", "MayStopSearch"),
        fungibility.text("whenCanPreempt", default="TryNextFlavor") in ("Preempt", "MayStopSearch"),
        fungibility.text("preference") == "PreemptionOverBorrowing",
        entry.text("spec", "stopPolicy", default="None") != "None",
        checks,
    )


def _word(entry: Entry, keys: tuple[str, ...], known: tuple[str, ...]) -> str:
    word = entry.text(*keys, default=_NEVER)
    if word not in known:
        entry.bad(keys, word, f"must be one of {', '.join(known)}")
    return word


@dataclass(frozen=True)
class Runs:
    """A workload as preemption sees it: its queue, priority, when it was queued, and what it uses."""

    name: str
    queue: str
    priority: int
    queued: int
    use: Amounts


def candidates(tree: Tree, job: Runs, contested: frozenset[str], units: list[Runs]) -> tuple[set[str], set[str]]:
    """Whom `job` may evict whether it then borrows or not, and whom only where it does not.

    contested: the flavor-resources that do not fit now. That another queue must be above its nominal quota when one of
    its workloads goes is the instance's `above_nominal`, for it changes as others go.
    """
    queue, path = tree.queues[job.queue], list(tree.path(job.queue))
    always, only_nominal = set(), set()
    fits = {}
    for node in path:  # once the request fits in a subtree, all above it have the advantage
        fits[node] = tree.within_nominal(node, job.use)
    for unit in units:
        if not contested & unit.use.keys():
            continue
        if unit.queue == job.queue:
            if _passes(queue.within, unit, job):
                always.add(unit.name)
            continue
        below = _below_common(tree, path, unit.queue)
        if not below or not _passes(queue.reclaim, unit, job):
            continue
        lower = unit.priority < job.priority and (queue.threshold is None or unit.priority <= queue.threshold)
        if any(fits[node] for node in below) or (queue.borrowing and lower):
            always.add(unit.name)
        else:
            only_nominal.add(unit.name)
    return always, only_nominal


def _below_common(tree: Tree, path: list[str], other: str) -> list[str]:
    """The nodes of the path below the lowest cohort in common with another queue; none where there is none."""
    theirs = set(tree.path(other))
    for depth, node in enumerate(path):
        if node in theirs:
            return path[:depth]
    return []


def _passes(policy: str, unit: Runs, job: Runs) -> bool:
    if policy == "LowerPriority":
        return unit.priority < job.priority
    if policy == "LowerOrNewerEqualPriority":
        return unit.priority < job.priority or (unit.priority == job.priority and unit.queued > job.queued)
    return policy == "Any"
