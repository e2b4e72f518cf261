"""Gangs of Kubernetes' PodGroups, coscheduling and Volcano (section 7 of `docs/problems/admission-rules.md`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.state import State, Unit
from mlsched_admission.instances.states.unmodelled import unmodelled_features

#: Labels and annotations by which pods name their group, with the scheduler that reads them.
_MARKS = {
    "coscheduling": ("labels", ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")),
    "volcano": ("annotations", ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")),
}
_PREEMPTABLE = "volcano.sh/preemptable"


@dataclass
class Gang:
    """A group of pods: its minimum (0: members start one by one), and features of it that are not modelled.

    Attributes:
        whole: Preemption takes all of its pods or none.
        queue: Queue of Volcano.
    """

    name: str
    system: str
    minimum: int
    level: str = ""
    whole: bool = False
    queue: str = ""
    unmodelled: list[str] = field(default_factory=list)
    pods: list[Entry] = field(default_factory=list)


class Gangs:
    """The groups of a state, and the group of each pod."""

    def __init__(self, by_kind: k8s.Objects, pods: list[Entry]) -> None:
        self.by_key = {
            (k8s.POD_GROUPS[k8s.api_group(entry)], k8s.full_name(entry)): _gang_of_entry(entry)
            for entry in by_kind.get("PodGroup", [])
        }
        self.of: dict[str, Gang] = {}
        for pod in pods:
            mark = group_of_pod(pod)
            if mark is None:
                continue
            system, name = mark
            space = pod.text("metadata", "namespace")
            gang = self.by_key.get((system, f"{space}/{name}" if space else name))
            if gang is None:
                pod.fail(
                    f"is in pod group {name!r} of {system}, which is missing in the state",
                    "add the output of `kubectl get podgroups -A -o json`",
                )
            if gang.minimum:
                gang.pods.append(pod)
                self.of[k8s.full_name(pod)] = gang

    def join_members(self, state: State) -> None:
        """Make running members units of their gang, as far as preemption regards it (rules G2, G3).

        Volcano takes pods down to the minimum, never more: a unit without pods and protected from eviction keeps it so.
        Of Kubernetes' own groups in mode PodGroup all pods leave or none; in other groups each pod leaves separately.
        """
        for gang in {id(gang): gang for gang in self.of.values()}.values():
            units = [state.units[name] for name in map(k8s.full_name, gang.pods) if name in state.units]
            for unit, pod in ((u, p) for u in units for p in gang.pods if k8s.full_name(p) == u.name):
                unit.fixed = gang.system == "volcano" and not preemptable(pod)
            if gang.system == "volcano" and units and gang.minimum > 1:
                keeper = Unit(f"{gang.name} (its minimum)", units[0].priority, gang=gang.name, fixed=True)
                state.units[keeper.name] = keeper
                units.append(keeper)
            if gang.whole or (gang.system == "volcano" and gang.minimum > 1):
                for unit in units:
                    unit.gang = gang.name
                    unit.minimum = len(units) if gang.whole else gang.minimum + 1
        systems = {gang.system for gang in self.of.values()}
        if "volcano" in systems:
            state.assume("gangs of Volcano: a running one loses pods down to its minimum, never more")
        if systems - {"volcano"}:
            state.assume("gangs of Kubernetes and coscheduling: pods of running ones are evicted one by one")
        if any(gang.whole for gang in self.of.values()):
            state.assume("groups in disruption mode PodGroup: evicted whole (workload-aware preemption)")

    def waiting_members(self, gang: Gang, waiting: Mapping[str, Entry]) -> list[Entry]:
        """Return the members that wait, the first in line first."""
        pods = [pod for pod in gang.pods if k8s.full_name(pod) in waiting]
        created = {id(pod): k8s.time_of(pod, "metadata", "creationTimestamp") or 0 for pod in pods}
        return sorted(pods, key=lambda pod: (-pod.whole("spec", "priority"), created[id(pod)], k8s.full_name(pod)))

    def running_count(self, gang: Gang) -> int:
        """Return the number of members that run and stay."""
        there = (pod for pod in gang.pods if pod.text("spec", "nodeName"))
        return sum(1 for pod in there if not pod.get("metadata", "deletionTimestamp"))

    def volcano_queues(self) -> set[str]:
        """Return the Volcano queues of the groups."""
        return {gang.queue for gang in self.of.values() if gang.system == "volcano"}


def group_of_pod(pod: Entry) -> tuple[str, str] | None:
    """Return the system and the name of a pod's group; None if it is in none."""
    if name := pod.text("spec", "schedulingGroup", "podGroupName"):
        return "kubernetes", name
    for system, (place, keys) in _MARKS.items():
        there = pod.mapping("metadata", place)
        for key in keys:
            if there.get(key):
                return system, there[key]
    return None


def _gang_of_entry(entry: Entry) -> Gang:
    system = k8s.POD_GROUPS[k8s.api_group(entry)]
    gang_of_entry = Gang(k8s.full_name(entry), system, 1, unmodelled=unmodelled_features("gangs", "PodGroup", entry))
    if system == "kubernetes":
        gang = entry.get("spec", "schedulingPolicy", "gang")
        gang_of_entry.minimum = (
            0 if gang is None else max(1, entry.whole("spec", "schedulingPolicy", "gang", "minCount", default=1))
        )
        mode = entry.get("spec", "disruptionMode")
        gang_of_entry.whole = mode == "PodGroup" or (isinstance(mode, dict) and mode.get("all") is not None)
        for one in entry.under("spec", "schedulingConstraints").entries("topology"):
            gang_of_entry.level = one.text("key")
    else:
        gang_of_entry.minimum = max(1, entry.whole("spec", "minMember", default=1, low=0))
        gang_of_entry.queue = entry.text("spec", "queue", default="default") if system == "volcano" else ""
    return gang_of_entry


def preemptable(pod: Entry) -> bool:
    """Return whether Volcano may evict the pod: annotation, then label; an unreadable value is false (rule G3)."""
    for place in ("annotations", "labels"):
        text = pod.mapping("metadata", place).get(_PREEMPTABLE)
        if text is not None:
            return text.lower() in ("true", "1", "t")
    return True
