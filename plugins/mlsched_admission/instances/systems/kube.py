"""Default preemption of kube-scheduler (rules B1 to B6 of `docs/problems/admission-rules.md`).

A pod that fits nowhere evicts pods of lower priority from one node. Per node all of them go, and come back one after
another, budget violators first, while the pod still fits. Then the node is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.entries import Entry

_ANTI = ("podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_TOGETHER = ("podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


@dataclass(eq=False)
class Term:
    """A required term of pod affinity or anti-affinity."""

    key: str
    spaces: frozenset[str] | None
    selector: Entry | None

    def matches(self, pod: Pod) -> bool:
        """Return whether the term selects the pod; without a selector it never does."""
        if self.selector is None or (self.spaces is not None and pod.space not in self.spaces):
            return False
        return k8s.selector_matches(self.selector, pod.labels)


@dataclass(eq=False)
class Pod:
    """A pod as the scheduler sees it. start: None is as late as can be."""

    name: str
    space: str
    short: str
    node: str
    priority: int
    start: int | None
    labels: Mapping[str, str]
    requests: Mapping[str, int]
    apart: list[Term] = field(default_factory=list)
    leaving: bool = False
    preempted: bool = False

    def importance(self) -> tuple[int, bool, int]:
        """Return the sort key: higher priority, then earlier start."""
        return (-self.priority, self.start is None, self.start or 0)


@dataclass
class Budget:
    """A disruption budget: its namespace, selector, pods that may still go, and pods that are going already."""

    space: str
    selector: Entry
    allowed: int
    disrupted: frozenset[str]

    def covers(self, pod: Pod) -> bool:
        """Return whether the budget counts the pod; an empty selector and pods without labels match nothing (B4)."""
        if not pod.labels or pod.space != self.space or pod.short in self.disrupted:
            return False
        has_terms = self.selector.get("matchLabels") or self.selector.get("matchExpressions")
        return bool(has_terms) and k8s.selector_matches(self.selector, pod.labels)


@dataclass
class Choice:
    """A node with its victims, and how many of them violate budgets."""

    node: str
    victims: list[Pod]
    violations: int


@dataclass
class Decided:
    """The scheduler's decision about a pod. choices: all nodes on which preemption helps."""

    node: str | None
    victims: list[Pod]
    choices: list[Choice]
    starts: bool = False
    why: str = ""


class Cluster:
    """Nodes with their pods, budgets, and terms by which running pods keep others away."""

    def __init__(
        self,
        by_kind: k8s.Objects,
        filters: Collection[str] = ("fit", "affinity", "spread"),
        requests: Mapping[int, Mapping[str, int]] | None = None,
        waiting: Collection[str] | None = None,
    ) -> None:
        """Create the cluster. requests: of the pods, by the id of their entry, if known. waiting: pods of possible
        queries.
        """
        self.filters = filters
        requests = {} if requests is None else requests
        self.machines = k8s.machines_by_name(by_kind)
        self.placing = k8s.Placing(self.machines)
        self.on: dict[str, list[Pod]] = {name: [] for name in self.machines}
        self.used: dict[str, dict[str, int]] = {name: {} for name in self.machines}
        self.waiting: dict[str, Entry] = {}
        self.nominated: list[tuple[Pod, str]] = []
        self.repelling: list[Pod] = []
        for entry in by_kind.get("Pod", []):
            if entry.text("status", "phase") in ("Succeeded", "Failed"):
                continue
            node = entry.text("spec", "nodeName")
            if not node:
                gated = entry.items("spec", "schedulingGates") or entry.get("metadata", "deletionTimestamp")
                own = entry.text("spec", "schedulerName") in ("", "default-scheduler")
                if own and not gated and (waiting is None or k8s.full_name(entry) in waiting):
                    self.waiting[k8s.full_name(entry)] = entry
                if place := entry.text("status", "nominatedNodeName"):
                    self.nominated.append((read_pod(entry), place))
            elif node in self.on:
                self._add_pod(read_pod(entry, requests.get(id(entry))))
        self.budgets = [
            Budget(
                entry.text("metadata", "namespace"),
                entry.under("spec", "selector"),
                entry.whole("status", "disruptionsAllowed"),
                frozenset(entry.mapping("status", "disruptedPods")),
            )
            for entry in by_kind.get("PodDisruptionBudget", [])
        ]

    def _add_pod(self, pod: Pod) -> None:
        self.on[pod.node].append(pod)
        usage = self.used[pod.node]
        for resource, amount in pod.requests.items():
            usage[resource] = usage.get(resource, 0) + amount
        if pod.apart:
            self.repelling.append(pod)

    def decide_pod(self, name: str) -> Decided:
        """Decide about a waiting pod, or about one of that name without its namespace."""
        entry = self.waiting[name]
        question = _Question(self, entry)
        free = [node for node in question.open_to if question.fits(node, frozenset())]
        if free:
            return Decided(None, [], [], starts=True)
        if why := question.not_eligible():
            return Decided(None, [], [], why=why)
        choices = [choice for node in question.open_to if (choice := question.candidate(node)) is not None]
        if not choices:
            return Decided(None, [], [], why="no node can take it after evictions of lower priorities")
        best = min(choices, key=_node_key)
        return Decided(best.node, best.victims, choices)

    def victims_by_node(self, name: str) -> list[Choice]:
        """Return the victims on each node on which preemption helps, whether or not the pod fits without."""
        question = _Question(self, self.waiting[name])
        return [choice for node in question.open_to if (choice := question.candidate(node)) is not None]

    def equal_choices(self, decision: Decided) -> list[str]:
        """Return all nodes that are as good as the chosen one: the scheduler may take any of them (B5)."""
        best = min(map(_node_key, decision.choices), default=None)
        return [choice.node for choice in decision.choices if _node_key(choice) == best]


def read_pod(entry: Entry, requests: Mapping[str, int] | None = None) -> Pod:
    """Return a pod with its own required anti-affinity. requests: its requests, if they are known."""
    space = entry.text("metadata", "namespace")
    preempted = k8s.condition(entry, "DisruptionTarget")
    return Pod(
        k8s.full_name(entry),
        space,
        entry.text("metadata", "name"),
        entry.text("spec", "nodeName"),
        entry.whole("spec", "priority"),
        k8s.time_of(entry, "status", "startTime"),
        entry.mapping("metadata", "labels"),
        {**(k8s.requests(entry.under("spec")) if requests is None else requests), "pods": 1},
        _affinity_terms(entry, _ANTI) if entry.get("spec", "affinity") else [],
        entry.get("metadata", "deletionTimestamp") is not None,
        preempted is not None and preempted.text("reason") == "PreemptionByScheduler",
    )


def _affinity_terms(entry: Entry, keys: tuple[str, str]) -> list[Term]:
    own = entry.text("metadata", "namespace")
    terms = []
    for one in entry.under("spec", "affinity", keys[0]).entries(keys[1]):
        namespaces = one.texts("namespaces")
        everywhere = one.get("namespaceSelector") is not None
        spaces = None if everywhere else frozenset(namespaces or [own])
        selector = None if one.get("labelSelector") is None else one.under("labelSelector")
        terms.append(Term(one.text("topologyKey"), spaces, selector))
    return terms


class _Question:
    """One waiting pod."""

    def __init__(self, cluster: Cluster, entry: Entry) -> None:
        self.cluster, self.entry, self.pod = cluster, entry, read_pod(entry)
        self.never = entry.text("spec", "preemptionPolicy") == "Never"
        able = cluster.placing.nodes_of(entry.under("spec"))
        self.open_to = [name for name in cluster.machines if name in able and self._large_enough(name)]
        check = "affinity" in cluster.filters
        self.apart = self.pod.apart if check else []
        self.together = _affinity_terms(entry, _TOGETHER) if check else []
        self.repelling = [
            (other, term)
            for other in (cluster.repelling if check else [])
            for term in other.apart
            if term.matches(self.pod)
        ]
        self.spread = self._spread_constraints() if "spread" in cluster.filters else []

    def _large_enough(self, name: str) -> bool:
        room = self.cluster.machines[name].room
        return all(n <= room.get(r, 0) for r, n in self.pod.requests.items() if n > 0 and (r != "pods" or r in room))

    def not_eligible(self) -> str:
        """Return why the pod may not preempt (B1)."""
        if self.never:
            return "its preemptionPolicy is Never"
        place = self.entry.text("status", "nominatedNodeName")
        if place in self.open_to and any(
            pod.leaving and pod.preempted and pod.priority < self.pod.priority for pod in self.cluster.on[place]
        ):
            return f"victims on its nominated node {place} are still leaving"
        return ""

    def fits(self, node: str, leaving: Collection[Pod]) -> bool:
        """Return whether the pod passes all filters on a node once some pods of that node are gone."""
        return (
            self._has_room(node, leaving) and self._meets_affinity(node, leaving) and self._meets_spread(node, leaving)
        )

    def _has_room(self, node: str, leaving: Collection[Pod]) -> bool:
        """Compare only the pod's requests, and the number of pods (B3)."""
        room, usage = self.cluster.machines[node].room, self.cluster.used[node]
        others = [pod for pod, place in self.cluster.nominated if place == node and self._may_be_evicted(pod)]
        for resource, amount in self.pod.requests.items():
            if amount <= 0 or (resource == "pods" and resource not in room):
                continue
            back = sum(pod.requests.get(resource, 0) for pod in leaving)
            more = sum(pod.requests.get(resource, 0) for pod in others)
            if usage.get(resource, 0) - back + more + amount > room.get(resource, 0):
                return False
        return True

    def _may_be_evicted(self, other: Pod) -> bool:
        return other.name != self.pod.name and other.priority >= self.pod.priority

    def _pods_in_domain(self, node: str, key: str) -> Iterable[Pod]:
        """Return the pods in the domain of a node."""
        machines = self.cluster.machines
        value = machines[node].labels.get(key)
        if value is None:
            return ()
        return (
            pod
            for name, machine in machines.items()
            if machine.labels.get(key) == value
            for pod in self.cluster.on[name]
        )

    def _meets_affinity(self, node: str, leaving: Collection[Pod]) -> bool:
        """Return whether required affinity and anti-affinity are satisfied, of the pod and against it (B6)."""
        labels = self.cluster.machines[node].labels
        for other, term in self.repelling:
            theirs = self.cluster.machines[other.node].labels.get(term.key)
            if other not in leaving and theirs is not None and theirs == labels.get(term.key):
                return False
        for term in self.apart:
            if any(term.matches(pod) and pod not in leaving for pod in self._pods_in_domain(node, term.key)):
                return False
        if not self.together:
            return True
        if any(term.key not in labels for term in self.together):
            return False

        def is_selected(pod: Pod) -> bool:
            return all(term.matches(pod) for term in self.together)

        if all(
            any(is_selected(pod) and pod not in leaving for pod in self._pods_in_domain(node, t.key))
            for t in self.together
        ):
            return True
        nobody = not any(is_selected(pod) and pod not in leaving for pods in self.cluster.on.values() for pod in pods)
        return nobody and is_selected(self.pod)

    def _spread_constraints(self) -> list[tuple[str, int, Callable[[Pod], bool], int]]:
        """Return the hard spread constraints: (key, maxSkew, selector, minDomains)."""
        constraints: list[tuple[str, int, Callable[[Pod], bool], int]] = []
        for one in self.entry.under("spec").entries("topologySpreadConstraints"):
            if one.text("whenUnsatisfiable", default="DoNotSchedule") == "DoNotSchedule":
                selector = one.under("labelSelector") if one.get("labelSelector") is not None else None

                def is_counted(pod: Pod, selector: Entry | None = selector) -> bool:
                    same = pod.space == self.pod.space and not pod.leaving
                    return same and selector is not None and k8s.selector_matches(selector, pod.labels)

                least = one.whole("minDomains", default=1, low=1)
                constraints.append((one.text("topologyKey"), one.whole("maxSkew", default=1, low=1), is_counted, least))
        return constraints

    def _meets_spread(self, node: str, leaving: Collection[Pod]) -> bool:
        """Return whether the hard spread constraints are satisfied, counted after the removal."""
        machines = self.cluster.machines
        keys = [key for key, *_ in self.spread]
        if any(key not in machines[node].labels for key in keys):
            return False
        eligible = self._eligible_nodes(keys) if self.spread else []
        for key, skew, is_counted, least in self.spread:
            by_domain: dict[str, int] = {}
            for name in eligible:
                value = machines[name].labels[key]
                there = sum(1 for pod in self.cluster.on[name] if is_counted(pod) and pod not in leaving)
                by_domain[value] = by_domain.get(value, 0) + there
            lowest = min(by_domain.values(), default=0) if len(by_domain) >= least else 0
            here = by_domain.get(machines[node].labels[key], 0)
            if here + int(is_counted(self.pod)) - lowest > skew:
                return False
        return True

    def _eligible_nodes(self, keys: list[str]) -> list[str]:
        """Return the nodes that spread constraints count: with all keys, by selector and affinity."""
        plain = {key: self.entry.get("spec", key) for key in ("nodeSelector", "affinity")}
        everything = [{"operator": "Exists"}]
        spec = Entry({**plain, "tolerations": everything}, self.entry.where)
        able = self.cluster.placing.nodes_of(spec)
        return [
            name
            for name, machine in self.cluster.machines.items()
            if name in able and all(key in machine.labels for key in keys)
        ]

    def candidate(self, node: str) -> Choice | None:
        """Return the victims on a node; None without victims, or if their leaving does not help (B2, B4)."""
        lower = [pod for pod in self.cluster.on[node] if pod.priority < self.pod.priority]
        if not lower or not self.fits(node, set(lower)):
            return None
        lower.sort(key=Pod.importance)
        violators, others = self._split_by_budget(lower)
        leaving = set(lower)
        for pod in [*violators, *others]:
            leaving.discard(pod)
            if not self.fits(node, leaving):
                leaving.add(pod)
        victims = [pod for pod in lower if pod in leaving]
        return Choice(node, victims, sum(1 for pod in violators if pod in leaving)) if victims else None

    def _split_by_budget(self, pods: list[Pod]) -> tuple[list[Pod], list[Pod]]:
        """Split pods, the most important first, into those whose eviction violates a budget and others (B4)."""
        remaining = [budget.allowed for budget in self.cluster.budgets]
        violators: list[Pod] = []
        others: list[Pod] = []
        for pod in pods:
            violates = False
            for n, budget in enumerate(self.cluster.budgets):
                if budget.covers(pod):
                    remaining[n] -= 1
                    violates = violates or remaining[n] < 0
            (violators if violates else others).append(pod)
        return violators, others


def _node_key(choice: Choice) -> tuple[int, int, int, int, float]:
    """Return the sort key of nodes, the smallest first (B5)."""
    highest = max(pod.priority for pod in choice.victims)
    starts = [float("inf") if p.start is None else p.start for p in choice.victims if p.priority == highest]
    total = sum(pod.priority + 2**31 for pod in choice.victims)
    return choice.violations, highest, total, len(choice.victims), -min(starts)
