"""Topology-aware scheduling of Kueue: nodes, domains, and places of workloads, for flavors with a topology.

A leaf of a topology is a node if its lowest level is the hostname, else a domain of nodes that count as one. Leaves
have the allocatable amounts of their nodes, less the pods outside of workloads and the amounts of assignments. Without
a flavor with a topology Kueue ignores nodes, and they are not read.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlsched_admission.instances.states import objects as k8s
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.state import Node, Pod, Shape, State, multiple_of_amounts, sum_of_amounts
from mlsched_admission.instances.systems.kueue.flavors import Assignment
from mlsched_admission.instances.systems.kueue.reading import MOST_PODS, OWNED, domains_of
from mlsched_admission.instances.systems.kueue.requests import constraint
from mlsched_admission.instances.systems.kueue.snapshot import Workload
from mlsched_admission.instances.systems.kueue.topology import HOSTNAME


class Places:
    """Leaves of all topologies of the flavors, as the state's nodes."""

    def __init__(self, by_kind: k8s.Objects, state: State, machines: Mapping[str, k8s.Machine]) -> None:
        self.found, self.state = by_kind, state
        self.flavors = {one.needed("metadata", "name"): one for one in by_kind.get("ResourceFlavor", [])}
        self.levels = {
            entry.needed("metadata", "name"): [one.needed("nodeLabel") for one in entry.entries("spec", "levels")]
            for entry in by_kind.get("Topology", [])
        }
        self.topology = {
            name: entry.text("spec", "topologyName")
            for name, entry in self.flavors.items()
            if entry.text("spec", "topologyName") in self.levels
        }
        self.machines = machines
        self.placing = k8s.Placing(self.machines)
        self.by_host = {machine.labels[HOSTNAME]: name for name, machine in self.machines.items()}
        self.placed = 0
        self.leaf: dict[tuple[str, str], str] = {}  # (topology, machine) -> leaf
        if by_kind.get("Node") and not self.topology:
            state.read.append("nodes are not used: no flavor has a topology, so Kueue does not look at them")
        if self.topology:
            if not self.machines:
                state.assume("nodes: none in the state, so nothing is placed (kubectl get nodes -o json)")
            self._fill_nodes()

    def _fill_nodes(self) -> None:
        use_by_node: dict[str, dict[str, int]] = {}
        for pod in self.found.get("Pod", []):
            node = pod.text("spec", "nodeName")
            marks = {**pod.mapping("metadata", "labels"), **pod.mapping("metadata", "annotations")}
            has_ended = pod.text("status", "phase") in ("Succeeded", "Failed")
            if node and not has_ended and not any(mark in marks for mark in OWNED):
                use_by_node[node] = sum_of_amounts(
                    use_by_node.get(node, {}), {**k8s.requests(pod.under("spec")), "pods": 1}
                )
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
                if machine.closed:  # running pods may leave, but new ones cannot arrive
                    self.state.nodes.setdefault(leaf, Node(leaf, {}))
                    continue
                self.leaf[topology, name] = leaf
                self._add_leaf(leaf, topology, place, machine, use_by_node.get(name, {}))
            flavors = [flavor for flavor, its_topology in self.topology.items() if its_topology == topology]
            if levels[-1] != HOSTNAME and len(flavors) > 1:
                self.state.assume(f"topology {topology}: its leaves are counted for {', '.join(flavors)} together")
        if not self.found.get("Pod"):
            self.state.assume("pods: none in the state, so nothing but workloads takes room on nodes")

    def _add_leaf(
        self, leaf: str, topology: str, place: list[str], machine: k8s.Machine, usage: dict[str, int]
    ) -> None:
        levels = self.levels[topology]
        node = self.state.nodes.setdefault(leaf, Node(leaf, {}))
        if levels[-1] != HOSTNAME or not node.free:  # a machine in two topologies is one node
            room = {name: max(0, count - usage.get(name, 0)) for name, count in machine.room.items()}
            node.free = sum_of_amounts(node.free, room)
        for depth, level in enumerate(levels, start=1):
            node.domain[f"{topology}/{level}"] = "/".join(place[:depth])

    def pods_of(self, entry: Entry, name: str) -> list[Pod]:
        """Return a running workload's pods on leaves, by its assignments; subtract them from the free amounts."""
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
            for place, count in domains_of(one.under("topologyAssignment")):
                levels = one.texts("topologyAssignment", "levels")
                leaf = self._leaf_of_domain(one, topology, levels, place)
                self.placed += count
                if self.placed > MOST_PODS:
                    one.fail(f"its pods and those before are more than {MOST_PODS}", "choose a part of the cluster")
                for _ in range(count):
                    pods.append(Pod(f"{name}#{len(pods)}", leaf, demand))
                node = self.state.nodes[leaf]
                change = multiple_of_amounts(-count, {r: n for r, n in demand.items() if r in node.free})
                node.free = sum_of_amounts(node.free, change)
        return pods

    def _leaf_of_domain(self, one: Entry, topology: str, levels: list[str], place: list[str]) -> str:
        if len(place) != len(levels) or not levels:
            one.fail("its topologyAssignment does not give a value for each of its levels", "write the state again")
        # Nodes are identified by their hostname label, which is usually the name.
        by_host = levels[-1] == HOSTNAME
        leaf = self.by_host.get(place[-1], place[-1]) if by_host else f"{topology}:{'/'.join(place)}"
        if leaf not in self.state.nodes:
            one.fail(
                f"topologyAssignment names {leaf!r}, which is missing in the state",
                "add the output of `kubectl get nodes -o json` of the same moment",
            )
        return leaf

    def shapes_of(self, one: Workload, assignment: Assignment, use: dict[str, int]) -> list[Shape]:
        """Return the pods of a waiting workload that need a place: pods of flavors with a topology."""
        shapes = []
        for unit in assignment.units:
            for part in unit.members:
                count, each = unit.counts[part.name], unit.each[part.name]
                if not count:
                    continue
                shape = Shape(count, dict(each), self._leaves_of_flavor(unit.flavor, part.spec))
                self._require_level(shape, part.request, self.topology[unit.flavor], one.name)
                shapes.append(shape)
        return shapes

    def _leaves_of_flavor(self, flavor: str, spec: Entry) -> frozenset[str]:
        """Return leaves of the flavor whose nodes the pods may use."""
        entry, topology = self.flavors[flavor], self.topology[flavor]
        labels = entry.mapping("spec", "nodeLabels")
        if self.levels[topology][-1] == HOSTNAME:
            there = self.placing.nodes_of(spec, labels, entry.entries("spec", "tolerations"))
        else:  # only nodes are looked at one by one
            there = self.placing.nodes_of(Entry({"tolerations": [{"operator": "Exists"}]}, spec.where), labels)
        return frozenset(self.leaf[topology, name] for name in there if (topology, name) in self.leaf)

    def _require_level(self, shape: Shape, request: Entry, topology: str, name: str) -> None:
        """Require a level for a shape: one domain must have all of its pods, or all pods of each slice."""
        levels = self.levels[topology]
        constraint_of_pods = constraint(request, levels)
        if constraint_of_pods is None:
            return
        if request.text("preferred"):
            self.state.assume(
                f"preferred topology {request.text('preferred')} of {name}: a wish, which plans may not keep"
            )
        sliced = constraint_of_pods.slice_size > 1
        if constraint_of_pods.required:
            shape.level = f"{topology}/{levels[constraint_of_pods.level]}"
            if sliced and constraint_of_pods.slice_level > constraint_of_pods.level:
                self.state.leave_out(
                    name, [f"slices of {constraint_of_pods.slice_size} within one {levels[constraint_of_pods.level]}"]
                )
        elif sliced:
            shape.level, shape.slice = (
                f"{topology}/{levels[constraint_of_pods.slice_level]}",
                constraint_of_pods.slice_size,
            )
            if shape.count % shape.slice:
                self.state.leave_out(name, [f"slices of {shape.slice} that do not divide its {shape.count} pods"])
                shape.level, shape.slice = "", 0
