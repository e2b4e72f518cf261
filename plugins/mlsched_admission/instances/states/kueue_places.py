"""Topology-aware scheduling of Kueue: nodes, domains, and where workloads are, for flavors with a topology.

A leaf of a topology is a node where its lowest level is the hostname, else a domain of nodes that count as one. Leaves
hold what their nodes can allocate, less the pods that are no workload's and less what assignments count there. Without
a flavor with a topology Kueue does not look at nodes, and no nodes are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.kueue_flavors import flavors_of
from mlsched_admission.instances.states.state import Node, Pod, Shape, State, plus, times

HOSTNAME = "kubernetes.io/hostname"
#: Marks of pods that a workload's assignment counts already.
_OWNED = ("kueue.x-k8s.io/tas", "kueue.x-k8s.io/podset")
_WORKLOAD = "kueue.x-k8s.io/workload"
#: Most pods of all assignments together: a few numbers can stand for any number of them.
MOST_PODS = 1_000_000


class Places:
    """Leaves of all topologies that flavors name, as the state's nodes."""

    def __init__(self, found: k8s.Objects, state: State) -> None:
        self.found, self.state = found, state
        self.flavors = flavors_of(found)
        self.topology = {
            name: entry.text("spec", "topologyName")
            for name, entry in self.flavors.items()
            if entry.text("spec", "topologyName")
        }
        self.levels = {
            entry.needed("metadata", "name"): [one.needed("nodeLabel") for one in entry.entries("spec", "levels")]
            for entry in found.get("Topology", [])
        }
        self.machines = k8s.machines(found) if self.topology else {}
        self.placing = k8s.Placing(self.machines)
        self.by_host = {machine.labels[HOSTNAME]: name for name, machine in self.machines.items()}
        self.placed = 0
        self.leaf: dict[tuple[str, str], str] = {}  # (topology, machine) -> leaf
        if found.get("Node") and not self.topology:
            state.read.append("nodes are not used: no flavor has a topology, so Kueue does not look at them")
        if self.topology:
            self._check()
            self._fill()

    def _check(self) -> None:
        for flavor, topology in self.topology.items():
            entry = self.flavors[flavor]
            if topology not in self.levels:
                entry.fail(
                    f"spec.topologyName = {topology!r}: the state has no such topology",
                    "add what `kubectl get topologies -o json` prints",
                )
            if not self.levels[topology]:
                entry.fail(f"its topology {topology!r} has no levels", "correct its spec.levels")
            if not self.machines:
                entry.fail(
                    "has a topology, and the state has no nodes",
                    "add what `kubectl get nodes -o json` and `kubectl get pods -A -o json` print",
                )

    def _fill(self) -> None:
        held: dict[str, dict[str, int]] = {}
        for pod in self.found.get("Pod", []):
            node = pod.text("spec", "nodeName")
            marks = {**pod.mapping("metadata", "labels"), **pod.mapping("metadata", "annotations")}
            ended = pod.text("status", "phase") in ("Succeeded", "Failed")
            if node and not ended and not any(mark in marks for mark in (*_OWNED, _WORKLOAD)):
                held[node] = plus(held.get(node, {}), {**k8s.requests(pod.under("spec")), "pods": 1})
        for topology in sorted(set(self.topology.values())):
            levels = self.levels[topology]
            for level in levels:
                if f"{topology}/{level}" not in self.state.levels:
                    self.state.levels.append(f"{topology}/{level}")
            for name, machine in self.machines.items():
                if any(level not in machine.labels for level in levels):
                    continue
                place = [machine.labels[level] for level in levels]
                leaf = name if levels[-1] == HOSTNAME else f"{topology}:{'/'.join(place)}"
                self.leaf[topology, name] = leaf
                self._add(leaf, topology, place, machine, held.get(name, {}))
            flavors = [flavor for flavor, named in self.topology.items() if named == topology]
            if levels[-1] != HOSTNAME and len(flavors) > 1:
                self.state.assume(f"topology {topology}: its leaves are counted for {', '.join(flavors)} together")
        if not self.found.get("Pod"):
            self.state.assume("pods: none in the state, so nothing but workloads takes room on nodes")

    def _add(self, leaf: str, topology: str, place: list[str], machine: k8s.Machine, held: dict[str, int]) -> None:
        levels = self.levels[topology]
        node = self.state.nodes.setdefault(leaf, Node(leaf, {}))
        if levels[-1] != HOSTNAME or not node.free:  # a machine in two topologies is one node
            room = {name: max(0, count - held.get(name, 0)) for name, count in machine.room.items()}
            node.free = plus(node.free, room)
        for depth, level in enumerate(levels, start=1):
            node.domain[f"{topology}/{level}"] = "/".join(place[:depth])

    def pods_of(self, entry: Entry, name: str) -> list[Pod]:
        """What a running workload holds on leaves, by its assignments; takes it off what is free there."""
        pods: list[Pod] = []
        templates = {one.text("name", default="main"): one for one in entry.entries("spec", "podSets")}
        for one in entry.entries("status", "admission", "podSetAssignments"):
            topology = next(
                (self.topology[flavor] for flavor in one.mapping("flavors").values() if flavor in self.topology), ""
            )
            if not topology or one.get("topologyAssignment") is None:
                continue
            template = templates.get(one.text("name", default="main"))
            demand = {} if template is None else k8s.requests(template.under("template", "spec"))
            demand["pods"] = 1
            for place, count in _domains(one.under("topologyAssignment")):
                levels = one.texts("topologyAssignment", "levels")
                leaf = self._leaf(one, topology, levels, place)
                self.placed += count
                if self.placed > MOST_PODS:
                    one.fail(f"its pods and those before are more than {MOST_PODS}", "ask about a part of the cluster")
                for _ in range(count):
                    pods.append(Pod(f"{name}#{len(pods)}", leaf, demand))
                node = self.state.nodes[leaf]
                taken = times(-count, {r: n for r, n in demand.items() if r in node.free})
                node.free = plus(node.free, taken)
        return pods

    def _leaf(self, one: Entry, topology: str, levels: list[str], place: list[str]) -> str:
        if len(place) != len(levels) or not levels:
            one.fail("its topologyAssignment does not give a value for each of its levels", "write the state again")
        # Nodes are called by their hostname label, which is the name but where somebody has set it otherwise.
        by_host = levels[-1] == HOSTNAME
        leaf = self.by_host.get(place[-1], place[-1]) if by_host else f"{topology}:{'/'.join(place)}"
        if leaf not in self.state.nodes:
            one.fail(
                f"topologyAssignment names {leaf!r}, which the state does not have",
                "add what `kubectl get nodes -o json` prints, of the same moment",
            )
        return leaf

    def shapes_of(self, sets: list[Entry], use: dict[str, int], name: str) -> list[Shape]:
        """The pods of a waiting workload that need a place: those of flavors with a topology."""
        shapes = []
        flavors = {fr.partition("/")[0] for fr, count in use.items() if count}
        for one in sets:
            count, spec = one.whole("count", default=1, low=0), one.under("template", "spec")
            asked = k8s.requests(spec)
            flavor = next((f for f in sorted(flavors & self.topology.keys()) if self._asks(f, asked, use)), "")
            if not flavor or not count:
                continue
            shape = Shape(count, {**asked, "pods": 1}, self._nodes(flavor, spec))
            self._require(shape, one, self.topology[flavor], name)
            shapes.append(shape)
            self.state.leave_out(name, k8s.beyond(spec))
        return shapes

    def _asks(self, flavor: str, asked: dict[str, int], use: dict[str, int]) -> bool:
        return any(use.get(f"{flavor}/{resource}") for resource in asked)

    def _nodes(self, flavor: str, spec: Entry) -> frozenset[str]:
        """Leaves of the flavor whose nodes the pods may use."""
        entry, topology = self.flavors[flavor], self.topology[flavor]
        there = self.placing.nodes_of(spec, entry.mapping("spec", "nodeLabels"), entry.entries("spec", "tolerations"))
        return frozenset(self.leaf[topology, name] for name in there if (topology, name) in self.leaf)

    def _require(self, shape: Shape, one: Entry, topology: str, name: str) -> None:
        request = one.under("topologyRequest")
        levels = self.levels[topology]
        sliced = request.text("podSetSliceRequiredTopology")
        required = request.text("required")
        if request.text("preferred"):
            self.state.leave_out(
                name, [f"preferred topology {request.text('preferred')}: a wish, which plans may not keep"]
            )
        if required and sliced:
            self.state.leave_out(name, [f"slices within {sliced}: only that all pods are within one {required}"])
        level = required or sliced
        if not level:
            return
        if level not in levels:
            request.fail(f"asks for level {level!r}, which topology {topology!r} does not have", f"it has {levels}")
        shape.level = f"{topology}/{level}"
        if sliced and not required:
            shape.slice = request.whole("podSetSliceSize", default=1, low=1)
            if shape.count % shape.slice:
                self.state.leave_out(name, [f"slices of {shape.slice} that do not divide its {shape.count} pods"])
                shape.level, shape.slice = "", 0


def _domains(assignment: Entry) -> Iterator[tuple[list[str], int]]:
    """(values by level, pods) of each domain, as v1beta1 or as v1beta2 writes them."""
    for one in assignment.entries("domains"):
        yield one.texts("values"), _pods(one, "count")
    for one in assignment.entries("slices"):
        count = one.whole("domainCount", low=1)
        if count > MOST_PODS:
            one.bad(("domainCount",), count, f"must be at most {MOST_PODS}")
        columns = [_values(column, count) for column in one.entries("valuesPerLevel")]
        counts = one.items("podCounts", "individual") or [one.get("podCounts", "universal")] * count
        if len(counts) != count or any(type(n) is not int or not 0 < n <= MOST_PODS for n in counts):
            one.bad(("podCounts",), one.get("podCounts"), f"must give the pods of each of its {count} domains")
        for index in range(count):
            yield [column[index] for column in columns], counts[index]


def _pods(one: Entry, key: str) -> int:
    count = one.whole(key, low=0)
    if count > MOST_PODS:
        one.bad((key,), count, f"must be at most {MOST_PODS}")
    return count


def _values(column: Entry, count: int) -> list[str]:
    """A level's values, of which only what differs is written."""
    if column.get("universal") is not None:
        return [column.text("universal")] * count
    each = column.under("individual")
    prefix, suffix = each.text("prefix"), each.text("suffix")
    roots = each.texts("roots")
    if len(roots) != count:
        each.bad(("roots",), roots, f"must have {count} entries, one for each domain")
    return [f"{prefix}{root}{suffix}" for root in roots]
