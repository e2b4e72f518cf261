"""Known fields that the models leave out: one table per format, for the reader and for the documentation.

A job that has one of them gets the verdict "unknown" instead of an accusation.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from mlsched_admission.instances.states.entries import Entry


@dataclass(frozen=True)
class Unmodelled:
    """A field: the kind of its object, its path ([] after a name: each entry of the list), and its name in words."""

    kind: str
    path: tuple[str, ...]
    feature: str


def _fields_of_pod(*rows: tuple[str, str]) -> list[Unmodelled]:
    return [Unmodelled("Pod", tuple(path.split(".")), feature) for path, feature in rows]


_PINNING = ("persistentVolumeClaim", "ephemeral", "csi", "iscsi", "rbd", "awsElasticBlockStore", "gcePersistentDisk")
_POD = _fields_of_pod(
    ("affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", "required pod affinity"),
    ("affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution", "required pod anti-affinity"),
    ("topologySpreadConstraints", "topology spread constraints"),
    ("resourceClaims", "resource claims (DRA)"),
    *((f"volumes[].{volume}", "volumes that may bind to nodes") for volume in _PINNING),
    ("containers[].ports[].hostPort", "host ports"),
    ("resourceClaimTemplates", "resource claims (DRA)"),
)

#: Fields of Slurm's jobs (`slurm_jobs.shapes`).
SLURM = {
    "dependency": "dependency",
    "licenses": "licenses",
    "burst_buffer": "burst buffer",
    "contiguous": "contiguous nodes",
    "minimum_switches": "switches",
    "tres_per_socket": "resources per socket",
    "mcs_label": "MCS label",
    "container": "container",
}

TABLES: dict[str, list[Unmodelled]] = {
    "kueue": [
        Unmodelled("Workload", ("metadata", "labels", "kueue.x-k8s.io/elastic-job"), "elastic workload slices"),
        Unmodelled("Workload", ("metadata", "annotations", "kueue.x-k8s.io/elastic-job"), "elastic workload slices"),
        Unmodelled("Workload", ("status", "unhealthyNodes"), "replacement of unhealthy nodes (second pass)"),
        Unmodelled(
            "Workload",
            ("status", "admission", "podSetAssignments[]", "delayedTopologyRequest"),
            "placement after admission (second pass)",
        ),
        Unmodelled(
            "Workload",
            ("spec", "podSets[]", "topologyRequest", "podsetSliceRequiredTopologyConstraints[1]"),
            "nested topology slices",
        ),
        Unmodelled(
            "Workload",
            ("spec", "podSets[]", "topologyRequest", "podSetSliceRequiredTopologyConstraints[1]"),
            "nested topology slices",
        ),
        Unmodelled(
            "Workload", ("spec", "podSets[]", "topologyRequest", "podSetGroupName"), "podsets that are placed together"
        ),
        Unmodelled("Workload", ("spec", "podSets[]", "template", "spec", "resourceClaims"), "resource claims (DRA)"),
    ],
    "kubernetes": _POD,
    "kai": [
        *_POD,
        Unmodelled("PodGroup", ("spec", "topologyConstraint", "requiredTopologyLevel"), "required topology levels"),
        Unmodelled("PodGroup", ("spec", "subGroups[]", "topologyConstraint"), "topology constraints of subgroups"),
        Unmodelled("PodGroup", ("spec", "subGroups[]", "parent"), "nested subgroups"),
        Unmodelled("Pod", ("runai/mig-profile",), "MIG by annotation"),
    ],
    "gangs": [
        Unmodelled("PodGroup", ("spec", "networkTopology"), "networkTopology of Volcano"),
        Unmodelled("PodGroup", ("spec", "subGroupPolicy"), "subGroupPolicy of Volcano"),
        Unmodelled("PodGroup", ("spec", "minTaskMember"), "minTaskMember of Volcano"),
        Unmodelled("PodGroup", ("spec", "parentCompositePodGroupName"), "CompositePodGroups"),
        Unmodelled("PodGroup", ("spec", "resourceClaims"), "resource claims of groups"),
        Unmodelled("PodGroup", ("spec", "schedulingConstraints", "topology[1]"), "several topology constraints"),
    ],
    "slurm": [Unmodelled("Job", (field,), feature) for field, feature in SLURM.items()],
}


def unmodelled_features(table: str, kind: str, entry: Entry) -> list[str]:
    """Return the features that an object has, of the fields that a table lists for its kind."""
    there = entry.value if isinstance(entry.value, dict) else {}
    rows = [row for row in _rows_of_kind(table, kind) if row.path[0].partition("[")[0] in there]
    return list(dict.fromkeys(row.feature for row in rows if any(_values_at_path(entry.value, row.path))))


@functools.cache
def _rows_of_kind(table: str, kind: str) -> list[Unmodelled]:
    return [row for row in TABLES[table] if row.kind == kind]


def _values_at_path(value: object, path: tuple[str, ...]) -> Iterator[object]:
    """Yield the values at a path that are not empty."""
    if not path:
        if value not in (None, "", [], {}, False, 0):
            yield value
        return
    key, bracket, index = path[0].partition("[")
    if not isinstance(value, dict):
        return
    inner = value.get(key)
    if not bracket:
        yield from _values_at_path(inner, path[1:])
    elif isinstance(inner, list):
        number = index.removesuffix("]")
        for one in inner[int(number) :] if number else inner:
            yield from _values_at_path(one, path[1:])
