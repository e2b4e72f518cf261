"""Gangs of Kubernetes' own PodGroups, of coscheduling and of Volcano (section 7 of `docs/admission-rules.md`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.unmodelled import found_in

#: Labels and annotations by which pods name their group, with the scheduler that reads them.
_MARKS = {
    "coscheduling": ("labels", ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")),
    "volcano": ("annotations", ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")),
}
_PREEMPTABLE = "volcano.sh/preemptable"


@dataclass
class Gang:
    """A group of pods: its minimum (0: members start one by one), and features of it that are not modelled."""

    name: str
    system: str
    minimum: int
    level: str = ""
    unmodelled: list[str] = field(default_factory=list)
    pods: list[Entry] = field(default_factory=list)


class Gangs:
    """The groups of a state, and which pod is in which."""

    def __init__(self, found: k8s.Objects, pods: list[Entry]) -> None:
        self.by_key = {
            (k8s.POD_GROUPS[k8s.api_group(entry)], k8s.full_name(entry)): _gang(entry)
            for entry in found.get("PodGroup", [])
        }
        self.of: dict[str, Gang] = {}
        for pod in pods:
            mark = group_of(pod)
            if mark is None:
                continue
            system, name = mark
            space = pod.text("metadata", "namespace")
            gang = self.by_key.get((system, f"{space}/{name}" if space else name))
            if gang is None:
                pod.fail(
                    f"is in pod group {name!r} of {system}, which the state does not have",
                    "add what `kubectl get podgroups -A -o json` prints",
                )
            if gang.minimum:
                gang.pods.append(pod)
                self.of[k8s.full_name(pod)] = gang


def group_of(pod: Entry) -> tuple[str, str] | None:
    """Return the system and the name of a pod's group; None if it is in none."""
    if name := pod.text("spec", "schedulingGroup", "podGroupName"):
        return "kubernetes", name
    for system, (place, keys) in _MARKS.items():
        there = pod.mapping("metadata", place)
        for key in keys:
            if there.get(key):
                return system, there[key]
    return None


def _gang(entry: Entry) -> Gang:
    system = k8s.POD_GROUPS[k8s.api_group(entry)]
    made = Gang(k8s.full_name(entry), system, 1, unmodelled=found_in("gangs", "PodGroup", entry))
    if system == "kubernetes":
        gang = entry.get("spec", "schedulingPolicy", "gang")
        made.minimum = (
            0 if gang is None else max(1, entry.whole("spec", "schedulingPolicy", "gang", "minCount", default=1))
        )
        for one in entry.under("spec", "schedulingConstraints").entries("topology"):
            made.level = one.text("key")
    else:
        made.minimum = max(1, entry.whole("spec", "minMember", default=1, low=0))
    return made


def preemptable(pod: Entry) -> bool:
    """Return whether Volcano may evict the pod: annotation, then label; anything unreadable is no (rule G3)."""
    for place in ("annotations", "labels"):
        text = pod.mapping("metadata", place).get(_PREEMPTABLE)
        if text is not None:
            return text.lower() in ("true", "1", "t")
    return True
