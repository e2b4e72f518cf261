"""Kubernetes' objects: found in documents by kind, with the data of nodes and pods that all schedulers read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mlsched.core.errors import shorten
from mlsched_admission.instances.states import values
from mlsched_admission.instances.states.documents import Document
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.state import Amounts, sum_of_amounts

Objects = dict[str, list[Entry]]

#: Groups of the known kinds; a kind of another group is different (scheduling.k8s.io has a Workload, too).
_GROUPS = {
    "Workload": "kueue.x-k8s.io",
    "ClusterQueue": "kueue.x-k8s.io",
    "Cohort": "kueue.x-k8s.io",
    "LocalQueue": "kueue.x-k8s.io",
    "ResourceFlavor": "kueue.x-k8s.io",
    "Topology": "kueue.x-k8s.io",
    "WorkloadPriorityClass": "kueue.x-k8s.io",
    "AdmissionCheck": "kueue.x-k8s.io",
    "Pod": "",
    "Node": "",
    "Namespace": "",
    "LimitRange": "",
    "ConfigMap": "",
    "Event": "",
    "PodDisruptionBudget": "policy",
    "PriorityClass": "scheduling.k8s.io",
}
#: API groups of PodGroups -> the scheduler: Kubernetes, coscheduling and Volcano.
POD_GROUPS = {
    "scheduling.k8s.io": "kubernetes",
    "scheduling.x-k8s.io": "coscheduling",
    "scheduling.sigs.k8s.io": "coscheduling",
    "scheduling.volcano.sh": "volcano",
}
#: Known versions of Kueue's kinds; cohorts and topologies were v1alpha1 before they were v1beta1.
_KUEUE_VERSIONS = ("v1beta1", "v1beta2")
_ALPHA = {"Cohort": ("v1alpha1",), "Topology": ("v1alpha1",)}
#: Default grace period of a pod in s, from the API.
GRACE = 30
_HARD = ("NoSchedule", "NoExecute")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def objects_by_kind(documents: Iterable[Document]) -> Objects:
    """Return the objects of these documents by kind; identical duplicates count once."""
    by_kind: Objects = {}
    earlier: dict[tuple[str, str, str], Entry] = {}
    for document in documents:
        for entry in _items_of_document(document):
            kind = entry.needed("kind")
            if kind == "PodGroup" and api_group(entry) in POD_GROUPS:
                pass
            elif kind not in _GROUPS or api_group(entry) != _GROUPS[kind]:
                continue
            name = entry.needed("metadata", "name")
            entry.where = f"{document.path}: {kind} {shorten(full_name(entry), 80)}"
            _check_version(entry, kind)
            key = (kind, entry.text("metadata", "namespace"), name)
            if key not in earlier:
                by_kind.setdefault(kind, []).append(entry)
            elif earlier[key].value != entry.value:
                entry.fail("is given twice, in different words", "give the state of one moment")
            earlier[key] = entry
    return by_kind


def _items_of_document(document: Document) -> list[Entry]:
    entry = document.entry
    kind = entry.text("kind")
    if not (kind == "List" or kind.endswith("List")):
        return [entry]
    items = list(entry.entries("items"))
    for item in items:  # a typed list does not repeat the kind of its items
        if kind != "List" and "kind" not in item.value:
            item.value["kind"] = kind.removesuffix("List")
            item.value.setdefault("apiVersion", entry.text("apiVersion"))
    return items


def api_group(entry: Entry) -> str:
    group, slash, _ = entry.text("apiVersion").partition("/")
    return group if slash else ""


def _check_version(entry: Entry, kind: str) -> None:
    if _GROUPS.get(kind) != "kueue.x-k8s.io":
        return
    version = entry.text("apiVersion").partition("/")[2]
    if version not in _KUEUE_VERSIONS + _ALPHA.get(kind, ()):
        entry.fail(
            f"apiVersion = {entry.text('apiVersion')!r}: v1beta1 and v1beta2 are read",
            f"write kubectl get {kind.lower()}s.v1beta1.kueue.x-k8s.io -o json",
        )


def full_name(entry: Entry) -> str:
    """Return namespace/name, or the name of an object without a namespace."""
    namespace, name = entry.text("metadata", "namespace"), entry.text("metadata", "name")
    return f"{namespace}/{name}" if namespace else name


def amounts(entry: Entry, *keys: str, down: bool = False, cap: bool = False) -> Amounts:
    """Return quantities by resource, as integers (`values.amount`). cap: larger values become the limit."""
    quantities: Amounts = {}
    for resource, text in entry.mapping(*keys).items():
        number = values.parse_amount(resource, text, down=down, cap=cap)
        if number is None or number < 0:
            entry.bad((*keys, resource), text, "expected a quantity such as 500m, 8 or 16Gi, below 2^53")
        quantities[resource] = number
    return quantities


def quantity(entry: Entry, resource: str, *keys: str) -> int | None:
    """Return one quantity, of a resource that another field names; None if it is absent."""
    value = entry.get(*keys)
    if value is None:
        return None
    number = values.parse_amount(resource, str(value)) if type(value) in (str, int) else None
    if number is None:
        entry.bad(keys, value, "expected a quantity such as 500m, 8 or 16Gi, below 2^53")
    return number


def time_of(entry: Entry, *keys: str) -> int | None:
    """Return a time as seconds since 1970; None if it is absent."""
    text = entry.text(*keys)
    if not text:
        return None
    time = values.parse_time(text)
    if time is None:
        entry.bad(keys, text, "expected a time such as 2026-11-24T10:00:00Z")
    return time


def condition(entry: Entry, kind: str) -> Entry | None:
    """Return the status condition of that type if it is true."""
    for one in entry.entries("status", "conditions"):
        if one.text("type") == kind and one.text("status") == "True":
            return one
    return None


def requests(spec: Entry) -> Amounts:
    """Return the requests of a pod of that spec: the scheduler's sum over its containers.

    The larger of the sum of its containers (with the sidecars) and each init container (with the sidecars before it),
    plus overhead; the pod's own stated sum replaces it. A limit without a request is the request.
    """
    total: Amounts = {}
    for container in spec.entries("containers"):
        total = sum_of_amounts(total, _requested_amounts(container))
    largest: Amounts = {}
    sidecars: Amounts = {}
    for container in spec.entries("initContainers"):
        request = _requested_amounts(container)
        if container.text("restartPolicy") == "Always":
            sidecars = sum_of_amounts(sidecars, request)
            request = sidecars
        else:
            request = sum_of_amounts(sidecars, request)
        largest = {name: max(largest.get(name, 0), request.get(name, 0)) for name in {*largest, *request}}
    total = sum_of_amounts(total, sidecars)
    whole = {name: max(total.get(name, 0), largest.get(name, 0)) for name in {*total, *largest}}
    whole |= _requested_amounts(spec)
    return sum_of_amounts(whole, amounts(spec, "overhead"))


def _requested_amounts(holder: Entry) -> Amounts:
    return amounts(holder, "resources", "limits", cap=True) | amounts(holder, "resources", "requests", cap=True)


@dataclass
class Machine:
    """A node as pods see it. hard: its taints (key, value, effect) that keep pods off."""

    name: str
    room: Amounts
    labels: dict[str, str]
    hard: list[tuple[str, str, str]] = field(default_factory=list)
    closed: bool = False
    """Whether it is cordoned or not ready."""


def machines_by_name(by_kind: Objects) -> dict[str, Machine]:
    """Return the nodes by name."""
    return {machine.name: machine for machine in map(_machine_of_entry, by_kind.get("Node", []))}


def _machine_of_entry(entry: Entry) -> Machine:
    name = entry.needed("metadata", "name")
    labels = entry.mapping("metadata", "labels")
    labels.setdefault("kubernetes.io/hostname", name)
    hard = [
        (taint.needed("key"), taint.text("value"), taint.text("effect"))
        for taint in entry.entries("spec", "taints")
        if taint.text("effect") in _HARD
    ]
    if entry.flag("spec", "unschedulable"):
        hard.append(("node.kubernetes.io/unschedulable", "", "NoSchedule"))
    ready = [one.text("status") for one in entry.entries("status", "conditions") if one.text("type") == "Ready"]
    if ready and ready[0] != "True":
        hard.append(("node.kubernetes.io/not-ready", "", "NoSchedule"))
    closed = entry.flag("spec", "unschedulable") or bool(ready and ready[0] != "True")
    return Machine(name, amounts(entry, "status", "allocatable", down=True), labels, hard, closed)


class Placing:
    """Allowed nodes of a pod: selector, required node affinity, taints. Equal specs are looked up once."""

    def __init__(self, nodes: Mapping[str, Machine]) -> None:
        self.nodes = nodes
        self._known: dict[str, frozenset[str]] = {}

    def nodes_of(
        self, spec: Entry, labels: Mapping[str, str] = {}, tolerations: Iterable[Entry] = ()
    ) -> frozenset[str]:
        """Return the names of the nodes; `labels` and `tolerations` are a flavor's, on top of the pod's own."""
        selector = {**spec.mapping("nodeSelector"), **labels}
        required = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        tolerated = [*spec.entries("tolerations"), *tolerations]
        key = json.dumps([selector, spec.get(*required), [one.value for one in tolerated]], sort_keys=True)
        if key not in self._known:
            terms = list(spec.under(*required).entries("nodeSelectorTerms"))
            has_affinity = spec.get(*required) is not None
            self._known[key] = frozenset(
                name
                for name, node in self.nodes.items()
                if all(node.labels.get(label) == value for label, value in selector.items())
                and (not has_affinity or any(_meets_term(term, node) for term in terms))
                and all(any(tolerates(one, taint) for one in tolerated) for taint in node.hard)
            )
        return self._known[key]


def tolerates(toleration: Entry, taint: tuple[str, str, str]) -> bool:
    """Return whether one toleration is enough for a taint."""
    key, value, effect = taint
    if toleration.text("effect") not in ("", effect):
        return False
    if toleration.text("operator") == "Exists":
        return toleration.text("key") in ("", key)
    return toleration.text("key") == key and toleration.text("value") == value


def _meets_term(term: Entry, node: Machine) -> bool:
    """Return whether a node meets all expressions of a term; an empty term matches zero nodes."""
    by_label = list(term.entries("matchExpressions"))
    by_field = list(term.entries("matchFields"))
    if not by_label and not by_field:
        return False
    return all(expression(one, node.labels) for one in by_label) and all(
        expression(one, {"metadata.name": node.name}) for one in by_field
    )


def expression(one: Entry, labels: Mapping[str, str]) -> bool:
    """Return whether labels meet one expression of a selector."""
    value, operator, choices = labels.get(one.needed("key")), one.needed("operator"), one.texts("values")
    if operator not in _OPERATORS:
        one.bad(("operator",), operator, f"expected one of {', '.join(_OPERATORS)}")
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    if operator in ("In", "NotIn"):
        return (value in choices) == (operator == "In")
    number = re.compile(r"-?[0-9]{1,18}")
    if value is None or not number.fullmatch(value) or len(choices) != 1 or not number.fullmatch(choices[0]):
        return False
    return int(value) > int(choices[0]) if operator == "Gt" else int(value) < int(choices[0])


def selector_matches(selector: Entry, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector takes an object with these labels; an empty one takes all."""
    return all(labels.get(name) == value for name, value in selector.mapping("matchLabels").items()) and all(
        expression(one, labels) for one in selector.entries("matchExpressions")
    )


#: Slices of a complete GPU, of which a MIG resource of g slices counts g/7.
_MIG = re.compile(r"mig-([0-9])g\.")
#: Parts of devices that are not devices: memory and cores.
_PARTS = ("memory", "mem", "core", "cores", "vcore", "percentage")


def gpu_count(amounts: Mapping[str, int]) -> int:
    """Return the number of GPUs (or slices of MIG), by the names of the resources."""
    return sum(count for name, count in amounts.items() if is_gpu(name))


def gpus_thousandths(amounts: Mapping[str, int]) -> int:
    """Return GPUs in thousandths; a MIG slice of g counts g/7, rounded up; memory and cores of GPUs count nothing."""
    total = 0
    for name, count in amounts.items():
        if is_gpu(name):
            slices = _MIG.match(name.rpartition("/")[2].lower())
            total += -(-1000 * count * int(slices[1]) // 7) if slices else 1000 * count
    return total


def is_gpu(resource: str) -> bool:
    """Return whether a resource of that name is a GPU or a slice of one; its memory or cores are not."""
    last = resource.rpartition("/")[2].lower()
    if last.startswith("mig-"):
        return True
    return "gpu" in last and not any(part in re.split(r"[-._]", last) for part in _PARTS)


def latest_time(documents: Iterable[Entry]) -> int | None:
    """Return the latest time that the cluster wrote in objects: creation, start, changes of conditions."""
    all_times: list[int] = []
    for entry in documents:
        times = [time_of(entry, "metadata", "creationTimestamp"), time_of(entry, "status", "startTime")]
        for one in entry.entries("status", "conditions"):
            times += [
                time_of(one, "lastTransitionTime"),
                time_of(one, "lastHeartbeatTime"),
                time_of(one, "lastProbeTime"),
            ]
        all_times += [time for time in times if time is not None]
    return max(all_times, default=None)


def seconds_apart(documents: Sequence[Document]) -> int:
    """Return the seconds between the latest times in these files, of those with pods, nodes or workloads."""
    latest_times = []
    for document in documents if len(documents) > 1 else ():
        changing = (one for one in _items_of_document(document) if one.text("kind") in ("Pod", "Node", "Workload"))
        if (time := latest_time(changing)) is not None:
            latest_times.append(time)
    return max(latest_times, default=0) - min(latest_times, default=0)
