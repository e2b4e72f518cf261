"""Topology-aware placement of podsets on domains of nodes (rules T1 to T5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.objects import Machine, Placing
from mlsched_admission.instances.systems.kueue.snapshot import Placement, PodSet

HOSTNAME = "kubernetes.io/hostname"
Values = tuple[str, ...]
#: Domains at the lowest level, each with its pods.
Placed = list[tuple[Values, int]]


@dataclass(eq=False)
class Domain:
    """A domain with what phase 1 counts: pods, slices, and both if the leader's pod is here too."""

    values: Values
    children: list[Domain] = field(default_factory=list)
    pods: int = 0
    slices: int = 0
    pods_led: int = 0
    slices_led: int = 0
    leader: int = 0


class Forest:
    """Free amounts of the lowest domains of each flavor with a topology.

    levels: flavor -> node labels, the highest first. Without topologies nothing is placed anywhere.
    """

    def __init__(
        self,
        levels: Mapping[str, list[str]],
        machines: Mapping[str, Machine],
        flavors: Mapping[str, Entry],
        held: Mapping[str, dict[str, int]],
    ) -> None:
        self.levels, self.flavors = dict(levels), flavors
        self.leaves: dict[str, dict[Values, list[Machine]]] = {}
        self.capacity: dict[str, dict[Values, dict[str, int]]] = {}
        self.used: dict[str, dict[Values, dict[str, int]]] = {flavor: {} for flavor in levels}
        self.hosts: dict[str, dict[str, int]] = {}
        self._placing: dict[str, Placing] = {}
        self._open: dict[tuple[str, int], set[Values]] = {}
        self._rooms: dict[tuple[object, ...], _Rooms] = {}
        self.machines = machines
        for flavor, keys in self.levels.items():
            wanted = flavors[flavor].mapping("spec", "nodeLabels")
            self.leaves[flavor], self.capacity[flavor] = {}, {}
            for machine in machines.values():
                if machine.closed or any(machine.labels.get(key) != value for key, value in wanted.items()):
                    continue
                if any(key not in machine.labels for key in keys):
                    continue
                values = tuple(machine.labels[key] for key in keys)
                self.leaves[flavor].setdefault(values, []).append(machine)
                room = self.capacity[flavor].setdefault(values, {})
                taken = held.get(machine.name, {})
                for resource, amount in machine.room.items():
                    room[resource] = room.get(resource, 0) + amount - taken.get(resource, 0)
            if keys[-1] == HOSTNAME:
                hosts = {machine.name: machine for leaf in self.leaves[flavor].values() for machine in leaf}
                self._placing[flavor] = Placing(hosts)

    def by_host(self, flavor: str) -> bool:
        """Return whether the lowest level of the flavor's topology is the node."""
        return self.levels[flavor][-1] == HOSTNAME

    def count(self, placements: Iterable[Placement], sign: int = 1) -> None:
        """Count placed pods (sign -1: no longer); flavors that share nodes see each other's."""
        for flavor, values, each, pods in placements:
            if flavor not in self.levels:
                continue
            for rooms in self._rooms.values():
                rooms.dirty.add(values[-1] if self.by_host(flavor) else values)
            if self.by_host(flavor):
                used = self.hosts.setdefault(values[-1], {})
            else:
                used = self.used[flavor].setdefault(values, {})
            for resource, amount in each.items():
                used[resource] = used.get(resource, 0) + sign * amount * pods

    def free(self, flavor: str, values: Values, empty: bool = False) -> dict[str, int]:
        """Return the free amounts of a lowest domain; empty: without the pods of workloads."""
        room = self.capacity[flavor][values]
        if empty:
            return room
        used = self.hosts.get(values[-1], {}) if self.by_host(flavor) else self.used[flavor].get(values, {})
        return {resource: amount - used.get(resource, 0) for resource, amount in room.items()}

    def place(self, units: Iterable[Unit], *, empty: bool = False) -> dict[str, Placed] | None:
        """Return a placement per podset, or None if some podset finds none; later podsets see earlier ones.

        empty: without the pods of workloads (rule T6).
        """
        found: dict[str, Placed] = {}
        counted: list[Placement] = []
        try:
            for unit in units:
                if not empty and not self._may_fit(unit):
                    return None
                placed = _Search(self, unit, empty, counted).run()
                if placed is None:
                    return None
                found |= placed
                for one in unit.members:
                    new = [(unit.flavor, values, unit.each[one.name], pods) for values, pods in placed[one.name]]
                    counted += new
                    self.count(new)
        finally:
            self.count(counted, -1)
        return found

    def _may_fit(self, unit: Unit) -> bool:
        """Return False if the domains at the level cannot hold the pods of a single podset, slices aside."""
        (one, *more) = unit.members
        asked = constraint(one.request, self.levels[unit.flavor])
        if more or asked is None:
            return True
        each = unit.each[one.name]
        key = (unit.flavor, id(one.spec), tuple(sorted(each.items())))
        if key not in self._rooms:
            self._rooms[key] = _Rooms(self, unit.flavor, self.open_leaves(unit.flavor, one.spec), each)
        rooms = self._rooms[key]
        rooms.update(self)
        most = rooms.largest(asked.level) if asked.required else rooms.sums.get((), 0)
        return most >= unit.counts[one.name]

    def open_leaves(self, flavor: str, spec: Entry) -> set[Values]:
        """Return the lowest domains whose nodes the pod may use; only nodes are looked at one by one."""
        key = (flavor, id(spec))
        if key not in self._open:
            self._open[key] = self._open_leaves(flavor, spec)
        return self._open[key]

    def _open_leaves(self, flavor: str, spec: Entry) -> set[Values]:
        if not self.by_host(flavor):
            return set(self.leaves[flavor])
        able = self._placing[flavor].nodes_of(spec, {}, self.flavors[flavor].entries("spec", "tolerations"))
        return {values for values, there in self.leaves[flavor].items() if any(m.name in able for m in there)}


class _Rooms:
    """Pods of one kind that fit in each domain, kept up to date leaf by leaf: placing is tried after each eviction."""

    def __init__(self, forest: Forest, flavor: str, leaves: set[Values], each: Mapping[str, int]) -> None:
        self.flavor, self.each = flavor, each
        self.named = {values[-1] if forest.by_host(flavor) else values: values for values in leaves}
        self.pods: dict[Values, int] = {}
        self.sums: dict[Values, int] = {}
        self.dirty: set[object] = set(self.named)

    def update(self, forest: Forest) -> None:
        """Count the leaves anew that have changed."""
        for name in self.dirty:
            if (values := self.named.get(name)) is None:  # type: ignore[call-overload]
                continue
            now = _fitting(forest.free(self.flavor, values), self.each)
            change = now - self.pods.get(values, 0)
            self.pods[values] = now
            for depth in range(len(values)) if change else ():
                self.sums[values[:depth]] = self.sums.get(values[:depth], 0) + change
        self.dirty.clear()

    def largest(self, level: int) -> int:
        """Return the pods of the domain that holds most at a level."""
        depth = level + 1
        if self.pods and depth == len(next(iter(self.pods))):
            return max(self.pods.values(), default=0)
        return max((pods for values, pods in self.sums.items() if len(values) == depth), default=0)


@dataclass
class Unit:
    """Podsets that are placed together: one, or a leader and its workers. `each`: requests of a pod, with `pods`."""

    flavor: str
    members: list[PodSet]
    counts: dict[str, int]
    each: dict[str, dict[str, int]]
    implied: bool = False


@dataclass
class Constraint:
    """The level at which one domain is sought, and the slices."""

    level: int
    required: bool
    least_free: bool
    climbs: bool
    slice_level: int
    slice_size: int
    inner: dict[int, int]


def constraint(request: Entry, levels: list[str]) -> Constraint | None:
    """Return the constraint that a topology request states (T2, T3); None if the topology lacks a level."""
    lowest = len(levels) - 1
    layers = [(one.text("topology"), one.whole("size", default=1, low=1)) for one in _layers(request)]
    if not layers and request.text("podSetSliceRequiredTopology"):
        layers = [(request.text("podSetSliceRequiredTopology"), request.whole("podSetSliceSize", default=1, low=1))]
    named = [request.text("required"), request.text("preferred"), *(level for level, _ in layers)]
    if any(level and level not in levels for level in named):
        return None
    slice_level, slice_size = (levels.index(layers[0][0]), layers[0][1]) if layers else (lowest, 1)
    inner = {levels.index(level): size for level, size in layers[1:]}
    if request.text("required"):
        return Constraint(levels.index(request.text("required")), True, False, False, slice_level, slice_size, inner)
    if request.text("preferred"):
        return Constraint(levels.index(request.text("preferred")), False, False, True, slice_level, slice_size, inner)
    slices_only = bool(layers) and not request.flag("unconstrained")
    level = 0 if slices_only else lowest
    return Constraint(level, False, True, False, slice_level, slice_size, inner)


def _layers(request: Entry) -> list[Entry]:
    key = "podsetSliceRequiredTopologyConstraints"
    return list(request.entries(key if request.get(key) is not None else "podSetSliceRequiredTopologyConstraints"))


class _Search:
    """One placement of one unit."""

    def __init__(self, forest: Forest, unit: Unit, empty: bool, counted: list[Placement]) -> None:
        self.forest, self.unit, self.levels = forest, unit, forest.levels[unit.flavor]
        self.workers = max(unit.members, key=lambda one: unit.counts[one.name])
        leaders = [one for one in unit.members if one is not self.workers]
        self.leader = leaders[0] if leaders and unit.counts[leaders[0].name] else None
        self.asked = constraint(self.workers.request, self.levels)
        self.empty, self.counted = empty, counted

    def run(self) -> dict[str, Placed] | None:
        unit, asked = self.unit, self.asked
        if asked is None:
            return None
        total = unit.counts[self.workers.name]
        if total % asked.slice_size:
            return None
        if not total:
            return {one.name: [] for one in unit.members}
        tops = self._count()
        leaders = 1 if self.leader else 0
        chosen = self._level(tops, asked.level, total // asked.slice_size, leaders)
        if chosen is None:
            return None
        level, domains = chosen
        current = self._take(domains, total, leaders, asked.slice_size)
        while level < len(self.levels) - 1:
            if level < asked.slice_level:
                lower = [child for domain in current for child in domain.children]
                current = self._take(self._sorted(lower, leaders), total, leaders, asked.slice_size)
            else:
                parts = []
                for domain in current:
                    lower = self._sorted(domain.children, domain.leader)
                    parts += self._take(lower, domain.pods, domain.leader, 1)
                current = parts
            level += 1
        placed = {self.workers.name: [(domain.values, domain.pods) for domain in current if domain.pods]}
        if self.leader:
            placed[self.leader.name] = [(domain.values, 1) for domain in current if domain.leader][:1]
        for one in unit.members:
            placed.setdefault(one.name, [])
        return {name: sorted(where) for name, where in placed.items()}

    # --- phase 1: pods that fit in each domain (T2) ------------------------------------------------------------------

    def _count(self) -> list[Domain]:
        """Return the domains of the highest level, with counts in all below."""
        unit, flavor = self.unit, self.unit.flavor
        able = self.forest.open_leaves(flavor, self.workers.spec)
        led = self.forest.open_leaves(flavor, self.leader.spec) if self.leader else set()
        tops: dict[Values, Domain] = {}
        known: dict[Values, Domain] = {}
        for values in sorted(self.forest.leaves[flavor]):
            for depth in range(1, len(values) + 1):
                key = values[:depth]
                if key not in known:
                    known[key] = Domain(key)
                    (known[key[:-1]].children if depth > 1 else []).append(known[key])
                    if depth == 1:
                        tops[key] = known[key]
            leaf, free = known[values], self.forest.free(flavor, values, self.empty)
            if self.empty:
                for held_flavor, where, each, pods in self.counted:
                    if held_flavor == flavor and where == values:
                        free = {r: amount - pods * each.get(r, 0) for r, amount in free.items()}
            leaf.pods = leaf.pods_led = _fitting(free, unit.each[self.workers.name]) if values in able else 0
            if self.leader and values in led and _fitting(free, unit.each[self.leader.name]):
                leaf.leader = 1
                rest = {r: amount - unit.each[self.leader.name].get(r, 0) for r, amount in free.items()}
                leaf.pods_led = _fitting(rest, unit.each[self.workers.name]) if values in able else 0
            elif self.leader:
                leaf.pods_led = 0
        for top in tops.values():
            self._sum(top, 0)
        return [tops[key] for key in sorted(tops)]

    def _sum(self, domain: Domain, level: int) -> None:
        """Sum up the children; slices count from the slice level on, inner slices round down."""
        asked = self.asked
        assert asked is not None
        if domain.children:
            for child in domain.children:
                self._sum(child, level + 1)
            domain.pods = sum(child.pods for child in domain.children)
            domain.slices = sum(child.slices for child in domain.children)
            leading = [child for child in domain.children if child.leader]
            domain.leader = int(bool(leading))
            if leading:
                domain.pods_led = domain.pods - min(child.pods - child.pods_led for child in leading)
                domain.slices_led = domain.slices - min(child.slices - child.slices_led for child in leading)
            elif not self.leader:
                domain.pods_led, domain.slices_led = domain.pods, domain.slices
        if (size := asked.inner.get(level)) is not None:
            domain.pods, domain.pods_led = domain.pods // size * size, domain.pods_led // size * size
        if level == asked.slice_level:
            domain.slices = domain.pods // asked.slice_size
            domain.slices_led = domain.pods_led // asked.slice_size

    # --- phase 2: which domains (T3 to T5) ---------------------------------------------------------------------------

    def _sorted(self, domains: list[Domain], leaders: int) -> list[Domain]:
        """Order domains: more slices first (fewer if least free), then fewer pods, then names (T3)."""
        asked = self.asked
        assert asked is not None
        sign = 1 if asked.least_free else -1
        if leaders:
            return sorted(domains, key=lambda d: (-d.leader, sign * d.slices_led, d.pods_led, d.values))
        return sorted(domains, key=lambda d: (sign * d.slices, d.pods, d.values))

    def _level(self, tops: list[Domain], level: int, slices: int, leaders: int) -> tuple[int, list[Domain]] | None:
        """Return the level and its domains that hold all slices (T4)."""
        asked = self.asked
        assert asked is not None
        domains = tops
        for _ in range(level):
            domains = [child for domain in domains for child in domain.children]
        line = self._sorted(domains, leaders)
        if not line:
            return None
        enough = [d for d in line if self._holds(d, slices, leaders)]
        if enough:
            return level, [min(enough, key=lambda d: d.slices_led if leaders else d.slices)]
        if asked.required:
            return None
        if asked.climbs and level > 0:
            return self._level(tops, level - 1, slices, leaders)
        chosen: list[Domain] = []
        if leaders:
            first = next((d for d in line if d.leader), None)
            if first is None:
                return None
            chosen, slices = [first], slices - first.slices_led
            line = self._sorted([d for d in line if d is not first], 0)
        rest = [d for d in line if d.slices > 0]
        while slices > 0 and rest:
            able = [] if asked.least_free else [d for d in rest if d.slices >= slices]
            one = min(able, key=lambda d: d.slices) if able else rest[0]
            rest.remove(one)
            chosen.append(one)
            slices -= one.slices
        return None if slices > 0 else (level, chosen)

    @staticmethod
    def _holds(domain: Domain, slices: int, leaders: int) -> bool:
        return (domain.leader > 0 and domain.slices_led >= slices) if leaders else domain.slices >= slices

    def _take(self, domains: list[Domain], pods: int, leaders: int, size: int) -> list[Domain]:
        """Take the fewest domains in order, and fix the pods of each; the last is the smallest sufficient one."""
        asked = self.asked
        assert asked is not None
        amount: Callable[[Domain], int] = lambda d: d.slices * size if size > 1 else d.pods  # noqa: E731
        led: Callable[[Domain], int] = lambda d: d.slices_led * size if size > 1 else d.pods_led  # noqa: E731
        chosen: list[Domain] = []
        rest = list(domains)
        if leaders:
            able = [d for d in rest if d.leader]
            if not able:
                return []
            enough = [d for d in able if led(d) >= pods]
            first = min(enough, key=led) if enough else able[0]
            rest.remove(first)
            first.pods, first.leader = min(led(first), pods), 1
            pods -= first.pods
            chosen.append(first)
            rest = self._sorted(rest, 0)
        while pods > 0 and rest:
            one = rest[0]
            if amount(one) >= pods and not asked.least_free:
                one = min((d for d in rest if amount(d) >= pods), key=amount)
            rest.remove(one)
            one.leader = 0
            if not amount(one):
                continue
            one.pods = min(amount(one), pods)
            pods -= one.pods
            chosen.append(one)
        return chosen


def _fitting(free: Mapping[str, int], each: Mapping[str, int]) -> int:
    """Return how many pods with these requests fit; a resource that is not there is 0."""
    counts = [max(0, free.get(resource, 0)) // amount for resource, amount in each.items() if amount > 0]
    return min(counts, default=0)
