"""Free amounts of the domains of topologies, and placements of podsets on them (rule T1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.objects import Machine, Placing
from mlsched_admission.instances.systems.kueue.requests import Placed, Unit, Values, constraint
from mlsched_admission.instances.systems.kueue.search import Search
from mlsched_admission.instances.systems.kueue.snapshot import Placement

HOSTNAME = "kubernetes.io/hostname"


class Forest:
    """Free amounts of the lowest domains of each flavor with a topology.

    levels: flavor -> node labels, the highest first. Without topologies, pods are not placed.
    """

    def __init__(
        self,
        levels: Mapping[str, list[str]],
        machines: Mapping[str, Machine],
        flavors: Mapping[str, Entry],
        usage: Mapping[str, dict[str, int]],
    ) -> None:
        self.levels, self.flavors = dict(levels), flavors
        self.leaves: dict[str, dict[Values, list[Machine]]] = {}
        self.capacity: dict[str, dict[Values, dict[str, int]]] = {}
        self.used: dict[str, dict[Values, dict[str, int]]] = {flavor: {} for flavor in levels}
        self.hosts: dict[str, dict[str, int]] = {}
        self._placing: dict[str, Placing] = {}
        self._open: dict[tuple[str, int], set[Values]] = {}
        self._rooms: dict[tuple[object, ...], _Rooms] = {}
        self.missing: dict[str, str] = {}
        """Flavor -> the topology that it names and the state does not have."""
        self.machines = machines
        for flavor, keys in self.levels.items():
            node_labels = flavors[flavor].mapping("spec", "nodeLabels")
            self.leaves[flavor], self.capacity[flavor] = {}, {}
            for machine in machines.values():
                if machine.closed or any(machine.labels.get(key) != value for key, value in node_labels.items()):
                    continue
                if any(key not in machine.labels for key in keys):
                    continue
                values = tuple(machine.labels[key] for key in keys)
                self.leaves[flavor].setdefault(values, []).append(machine)
                room = self.capacity[flavor].setdefault(values, {})
                usage_there = usage.get(machine.name, {})
                for resource, amount in machine.room.items():
                    room[resource] = room.get(resource, 0) + amount - usage_there.get(resource, 0)
            if keys[-1] == HOSTNAME:
                hosts = {machine.name: machine for leaf in self.leaves[flavor].values() for machine in leaf}
                self._placing[flavor] = Placing(hosts)

    def ends_at_hosts(self, flavor: str) -> bool:
        """Return whether the lowest level of the flavor's topology is the node."""
        return self.levels[flavor][-1] == HOSTNAME

    def count_placements(self, placements: Iterable[Placement], sign: int = 1) -> None:
        """Count placed pods (sign -1: no longer); flavors that share nodes see each other's."""
        for flavor, values, each, pods in placements:
            if flavor not in self.levels:
                continue
            for rooms in self._rooms.values():
                rooms.dirty.add(values[-1] if self.ends_at_hosts(flavor) else values)
            if self.ends_at_hosts(flavor):
                usage = self.hosts.setdefault(values[-1], {})
            else:
                usage = self.used[flavor].setdefault(values, {})
            for resource, amount in each.items():
                usage[resource] = usage.get(resource, 0) + sign * amount * pods

    def free_amounts(self, flavor: str, values: Values, empty: bool = False) -> dict[str, int]:
        """Return the free amounts of a lowest domain; empty: without the pods of workloads."""
        room = self.capacity[flavor][values]
        if empty:
            return room
        usage = self._amounts_in_use(flavor, values)
        return {resource: amount - usage.get(resource, 0) for resource, amount in room.items()}

    def _place_of(self, flavor: str, values: Values) -> object:
        """Return the key of a lowest domain: a node, whatever the flavor, or a domain of the flavor."""
        return values[-1] if self.ends_at_hosts(flavor) else (flavor, values)

    def _amounts_in_use(self, flavor: str, values: Values) -> Mapping[str, int]:
        """Return the amounts of workloads' pods in a lowest domain; flavors that share nodes see each other's."""
        return self.hosts.get(values[-1], {}) if self.ends_at_hosts(flavor) else self.used[flavor].get(values, {})

    def fitting_count(self, flavor: str, values: Values, each: Mapping[str, int], empty: bool = False) -> int:
        """Return the number of pods with these requests that fit in a lowest domain (T2); a missing resource is 0."""
        room, usage = self.capacity[flavor][values], {} if empty else self._amounts_in_use(flavor, values)
        most = None
        for resource, amount in each.items():
            if amount > 0:
                fits = max(0, room.get(resource, 0) - usage.get(resource, 0)) // amount
                most = fits if most is None else min(most, fits)
        return most or 0

    def find_placement(self, units: Iterable[Unit], *, empty: bool = False) -> dict[str, Placed] | None:
        """Return a placement per podset, or None if some podset finds none; later podsets see earlier ones.

        empty: without the pods of workloads (rule T6).
        """
        placed_units: dict[str, Placed] = {}
        placements: list[Placement] = []
        try:
            for unit in units:
                placed = self._search_for(unit, empty, placements).run()
                if placed is None:
                    return None
                placed_units |= placed
                for one in unit.members:
                    new = [(unit.flavor, values, unit.each[one.name], pods) for values, pods in placed[one.name]]
                    placements += new
                    self.count_placements(new)
        finally:
            self.count_placements(placements, -1)
        return placed_units

    def _search_for(self, unit: Unit, empty: bool, placements: list[Placement]) -> Search:
        """Return the search for one unit; pods of the units before it are counted though the nodes are empty."""
        before: dict[object, list[Placement]] = {}
        for one in placements if empty else ():
            before.setdefault(self._place_of(one[0], one[1]), []).append(one)

        def fitting(values: Values, each: Mapping[str, int], more: Mapping[str, int]) -> int:
            there = before.get(self._place_of(unit.flavor, values), ())
            if not more and not there:
                return self.fitting_count(unit.flavor, values, each, empty)
            free = dict(self.free_amounts(unit.flavor, values, empty))
            for _, _, amounts, pods in there:
                free = {r: amount - pods * amounts.get(r, 0) for r, amount in free.items()}
            counts = [max(0, free.get(r, 0) - more.get(r, 0)) // amount for r, amount in each.items() if amount > 0]
            return min(counts, default=0)

        able = {one.name: self.open_leaves(unit.flavor, one.spec) for one in unit.members}
        return Search(unit, self.levels[unit.flavor], self.leaves[unit.flavor], able, fitting)

    def has_placement(self, units: list[Unit]) -> bool:
        """Return whether `find_placement` succeeds; a single podset without slices is counted, not searched."""
        if len(units) != 1:
            return self.find_placement(units) is not None
        (unit,) = units
        (one, *more) = unit.members
        pod_constraint = constraint(one.request, self.levels[unit.flavor])
        if more or pod_constraint is None or not unit.counts[one.name]:
            return self.find_placement(units) is not None
        each = unit.each[one.name]
        key = (unit.flavor, id(one.spec), tuple(sorted(each.items())))
        if key not in self._rooms:
            self._rooms[key] = _Rooms(self, unit.flavor, self.open_leaves(unit.flavor, one.spec), each)
        rooms = self._rooms[key]
        rooms.update_counts(self)
        most = rooms.largest_room(pod_constraint.level) if pod_constraint.required else rooms.sums.get((), 0)
        if most < unit.counts[one.name]:
            return False
        return (pod_constraint.slice_size == 1 and not pod_constraint.inner) or self.find_placement(units) is not None

    def open_leaves(self, flavor: str, spec: Entry) -> set[Values]:
        """Return the lowest domains whose nodes the pod may use; only nodes are looked at one by one."""
        key = (flavor, id(spec))
        if key not in self._open:
            self._open[key] = self._open_leaves(flavor, spec)
        return self._open[key]

    def _open_leaves(self, flavor: str, spec: Entry) -> set[Values]:
        if not self.ends_at_hosts(flavor):
            return set(self.leaves[flavor])
        able = self._placing[flavor].nodes_of(spec, {}, self.flavors[flavor].entries("spec", "tolerations"))
        return {values for values, there in self.leaves[flavor].items() if any(m.name in able for m in there)}


class _Rooms:
    """Pods of one kind that fit in each domain, kept up to date leaf by leaf: placing is tried after each eviction."""

    def __init__(self, forest: Forest, flavor: str, leaves: set[Values], each: Mapping[str, int]) -> None:
        self.flavor, self.each = flavor, each
        self.named = {values[-1] if forest.ends_at_hosts(flavor) else values: values for values in leaves}
        self.pods: dict[Values, int] = {}
        self.sums: dict[Values, int] = {}
        self.dirty: set[object] = set(self.named)

    def update_counts(self, forest: Forest) -> None:
        """Update the counts of the changed leaves."""
        for name in self.dirty:
            if (values := self.named.get(name)) is None:  # type: ignore[call-overload]
                continue
            now = forest.fitting_count(self.flavor, values, self.each)
            change = now - self.pods.get(values, 0)
            self.pods[values] = now
            for depth in range(len(values)) if change else ():
                self.sums[values[:depth]] = self.sums.get(values[:depth], 0) + change
        self.dirty.clear()

    def largest_room(self, level: int) -> int:
        """Return the pods of the domain with most room at a level."""
        depth = level + 1
        if self.pods and depth == len(next(iter(self.pods))):
            return max(self.pods.values(), default=0)
        return max((pods for values, pods in self.sums.items() if len(values) == depth), default=0)
