"""Kueue's queues and cohorts as a tree of quotas, and whom its classical preemption may evict for a workload.

A flavor-resource is named "flavor/resource". Notation of the judge: subtree quota of a node = nominal + sum over its
children of (subtree quota - what the child keeps to itself); usage of a cohort = sum of what its children use beyond
that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from mlsched.core.errors import InvalidInput
from mlsched.instances.admission.states.entries import Entry
from mlsched.instances.admission.states.objects import Objects, quantity
from mlsched.instances.admission.states.state import Amounts, Quota

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
    """Quotas by name ("cohort:c" for cohorts, so that none is taken for a queue), and what queues say."""

    quotas: dict[str, Quota]
    queues: dict[str, Queue]
    _known: dict[tuple[str, str, str], int] = field(default_factory=dict)
    _below: dict[str, list[str]] = field(default_factory=dict)

    def path(self, name: str) -> Iterator[str]:
        """The node and its ancestors, the root last."""
        seen: set[str] = set()
        while name:
            if name in seen:
                raise InvalidInput(f"{name}: its cohorts form a cycle; correct spec.parentName")
            seen.add(name)
            yield name
            name = self.quotas[name].parent

    def children(self, name: str) -> list[str]:
        """Queues and cohorts right below a cohort."""
        if not self._below:
            for quota in self.quotas.values():
                self._below.setdefault(quota.parent, []).append(quota.name)
        return self._below.get(name, [])

    def subtree(self, name: str, fr: str) -> int:
        """The quota of the node and all below it that they share."""
        if ("subtree", name, fr) not in self._known:
            total = self.quotas[name].nominal.get(fr, 0)
            total += sum(self.subtree(child, fr) - self.local(child, fr) for child in self.children(name))
            self._known["subtree", name, fr] = total
        return self._known["subtree", name, fr]

    def local(self, name: str, fr: str) -> int:
        """What the node keeps to itself: its subtree quota above its lending limit."""
        limit = self.quotas[name].lend.get(fr)
        return 0 if limit is None else max(0, self.subtree(name, fr) - limit)

    def usage(self, name: str, fr: str) -> int:
        """What the node uses: a queue all that runs in it, a cohort what its children use beyond their own.

        Asked for once all that runs has been counted.
        """
        if name in self.queues:
            return self.quotas[name].used.get(fr, 0)
        if ("usage", name, fr) not in self._known:
            beyond = (max(0, self.usage(child, fr) - self.local(child, fr)) for child in self.children(name))
            self._known["usage", name, fr] = sum(beyond)
        return self._known["usage", name, fr]

    def lacking(self, name: str, fr: str, more: int, usage: Callable[[str, str], int] | None = None) -> str:
        """The first node, from a queue to its root, where so much more does not fit; "" where it fits.

        More at a node reaches its parent only beyond what the node has free of its own. usage: what to count instead
        of what runs now.
        """
        usage = usage or self.usage
        for node in self.path(name):
            used, own, most = usage(node, fr), self.local(node, fr), self.most(node, fr)
            if more > 0 and most is not None and used + more > most:
                return node
            more = max(0, used + more - own) - max(0, used - own)
        return ""

    def most(self, node: str, fr: str) -> int | None:
        """What the node may use in all; None where nothing limits it."""
        quota = self.quotas[node]
        limit = quota.borrow.get(fr) if quota.parent else 0
        return None if limit is None else self.subtree(node, fr) + limit

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
