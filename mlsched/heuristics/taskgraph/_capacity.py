"""Free capacity of nodes as whole numbers, and the nodes that a gang takes.

The amounts of all resources on a node are packed into one Python integer, a few bits each. `fits` then compares all
resources at once: with a guard bit added above each field, a difference keeps all guard bits if and only if no resource
is short. Nodes with equal free amounts are one group, a set of bits, so that a search looks at groups and not at nodes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph.packing import packing

#: Different free amounts whose fullness is cached; then the cache is cleared.
MOST_REMEMBERED = 2**16


class Layout:
    """Positions of the resources in a packed integer, and their weights for the fullness of a node.

    `weight`: one by the largest amount on a node for each resource that is demanded by some job, else 0.
    """

    def __init__(self, largest: Sequence[int], total: int) -> None:
        """largest: the largest amount of each resource on a node; total: upper limit of all sums of amounts."""
        self.count, self.bits = len(largest), max(2, int(total).bit_length() + 2)
        self.half = 1 << (self.bits - 1)
        self.guard = sum(self.half << (self.bits * r) for r in range(self.count))
        self.inverse = [1 / max(1, amount) for amount in largest]
        self.weigh([True] * self.count)

    def weigh(self, demanded: Sequence[bool]) -> None:
        """State the resources that some job in the system demands."""
        self.weight = [w if demands else 0.0 for w, demands in zip(self.inverse, demanded, strict=True)]
        self.demanded = sum(map(bool, demanded))
        self._known: dict[int, float] = {}

    def pack(self, amounts: Iterable[int]) -> int:
        """Return the amounts of all resources as one integer."""
        return sum(int(amount) << (self.bits * r) for r, amount in enumerate(amounts))

    def unpack(self, packed: int) -> list[int]:
        """Return the amount of each resource; amounts may be negative."""
        if self.count == 1:
            return [packed]
        packed, mask = packed + self.guard, (1 << self.bits) - 1
        return [((packed >> (self.bits * r)) & mask) - self.half for r in range(self.count)]

    def fullness(self, packed: int) -> float:
        """Return the weighted sum of free amounts: the fullest node has least."""
        result = self._known.get(packed)
        if result is None:
            if len(self._known) > MOST_REMEMBERED:
                self._known.clear()
            amounts = zip(self.unpack(packed), self.weight, strict=True)
            result = self._known[packed] = float(sum(amount * weight for amount, weight in amounts))
        return result


class Shape:
    """The demand of a gang, or of a single task: `needs` of its tasks (packed), `whole` of all together.

    `nodes`: the eligible nodes as a set of bits; `types`: the sets of nodes of which a gang uses one at a time, if
    there are several. `rows`: needs as lists.
    """

    def __init__(
        self, layout: Layout, rows: list[list[int]], nodes: int, types: Sequence[int] = (), group: int = 0
    ) -> None:
        """group: the class of the tasks, for `no_less_than`."""
        self.rows, self.nodes, self.group = rows, nodes, group
        self.needs = [layout.pack(row) for row in rows]
        self.count, self.whole, self.need = len(rows), sum(self.needs), self.needs[0]
        self.types = list(types) if self.count > 1 else []
        self.asked = [(r, amount) for r, amount in enumerate(rows[0]) if amount]
        self.equal = bool(self.asked) and all(need == self.need for need in self.needs)

    def no_less_than(self, other: Shape) -> bool:
        """Return whether this shape cannot fit because `other`, with tasks no larger than its tasks, did not."""
        if self.group != other.group or not self.need or any(map(operator.lt, self.rows[0], other.rows[0])):
            return False
        return other.count == 1 or (self.equal and self.count >= other.count)


class FreeCapacity:
    """The free amounts of all nodes (`free`, packed), their groups, and their `total`."""

    def __init__(self, layout: Layout, free: list[int]) -> None:
        self.layout, self.free, self.total = layout, free, sum(free)
        self._columns: IntArray | None = None  # as of the last call of `columns`
        self._changed: set[int] = set()  # nodes whose amounts may have changed since then
        self.groups: dict[int, int] = {}
        for node, amount in enumerate(free):
            self.groups[amount] = self.groups.get(amount, 0) | (1 << node)

    def copy(self) -> FreeCapacity:
        """Return an independent copy."""
        clone = FreeCapacity.__new__(FreeCapacity)
        clone.layout, clone.free, clone.total, clone.groups = (
            self.layout,
            self.free.copy(),
            self.total,
            self.groups.copy(),
        )
        clone._columns, clone._changed = None, set()
        return clone

    def take(self, node: int, amount: int) -> None:
        """Use an amount of a node; a negative amount is released."""
        free, groups = self.free, self.groups
        before, bit = free[node], 1 << node
        rest = groups[before] ^ bit
        if rest:
            groups[before] = rest
        else:
            del groups[before]
        free[node] = after = before - amount
        groups[after] = groups.get(after, 0) | bit
        self.total -= amount
        self._changed.add(node)

    def columns(self) -> IntArray:
        """Return the free amounts as an array, (nodes, resources), which later calls bring up to date."""
        unpack, free = self.layout.unpack, self.free
        if self._columns is None:
            rows = [unpack(amount) for amount in free]
            self._columns = np.array(rows, dtype=np.int64).reshape(len(free), self.layout.count)
        elif self._changed:
            nodes = list(self._changed)
            self._columns[nodes] = [unpack(free[node]) for node in nodes]
        self._changed.clear()
        return self._columns

    def has(self, whole: int) -> bool:
        """Return whether all nodes together have this much free."""
        guard = self.layout.guard
        return (self.total + guard - whole) & guard == guard

    def fits(self, need: int, among: int) -> bool:
        """Return whether a node of a set has room."""
        guard = self.layout.guard
        need -= guard
        return any(nodes for free, nodes in self.groups.items() if (free - need) & guard == guard and nodes & among)

    def best(self, need: int, among: int) -> int:
        """Return the fullest node of a set with room, the first of several; -1 if all are full."""
        guard, fullness = self.layout.guard, self.layout.fullness
        result, least = 0, 0.0
        for free, nodes in self.groups.items():
            if (free + guard - need) & guard == guard:
                nodes &= among
                if nodes:
                    value = fullness(free)
                    if not result or value < least:
                        least, result = value, nodes
                    elif value == least:
                        result |= nodes
        return (result & -result).bit_length() - 1

    def many(self, free: int, asked: list[tuple[int, int]], enough: int) -> int:
        """Return how many tasks of these (resource, amount) fit into a free amount; `enough` if their demand is 0."""
        if not asked:
            return enough
        if self.layout.count == 1:
            return free // asked[0][1] if free > 0 else 0
        amounts = self.layout.unpack(free)
        return min([max(amounts[r], 0) // amount for r, amount in asked])

    def number(self, need: int, enough: int, among: int) -> int:
        """Return how many tasks of a need find room on a set of nodes; `enough` if their demand is 0."""
        demands = [(r, amount) for r, amount in enumerate(self.layout.unpack(need)) if amount]
        groups = [(free, (nodes & among).bit_count()) for free, nodes in self.groups.items() if nodes & among]
        return sum([self.many(free, demands, enough) * nodes for free, nodes in groups])


def places(shape: Shape, free: FreeCapacity, alive: int, spare: FreeCapacity | None = None) -> Sequence[int] | None:
    """Return a node for each task of a shape, or None if room is not found. The free amounts do not change.

    alive: the nodes that have not failed, a set of bits. spare: the part of `free` that avoids preemption (None: all of
    it). Places without preemption come first.

    Equal tasks fill the fullest nodes first. Other gangs: one task after another, in their order; then the largest
    first; then by an exact search with a limit of work.
    """
    if not free.has(shape.whole):
        return None
    among = shape.nodes & alive
    if shape.count == 1:
        node = free.best(shape.need, among) if spare is None else _best_node(shape.need, among, free, spare)
        return None if node < 0 else (node,)
    for nodes in _types_by_room(shape, free) or [among]:
        result = _place_gang(shape, free, among & nodes, spare)
        if result is not None:
            return result
    return None


def _types_by_room(shape: Shape, free: FreeCapacity) -> list[int]:
    """Return the sets of nodes by type, the one with the least free room first."""
    if not shape.types:
        return []
    amounts = np.maximum([free.layout.unpack(amount) for amount in free.free], 0) @ np.array(free.layout.inverse)
    return sorted(shape.types, key=lambda nodes: float(amounts[bits(nodes)].sum()))


def _place_gang(shape: Shape, free: FreeCapacity, among: int, spare: FreeCapacity | None) -> Sequence[int] | None:
    if shape.equal:
        return (
            _fill_fullest_nodes(shape, free, among)
            if spare is None
            else _fill_without_preemption(shape, free, among, spare)
        )
    if not all(free.fits(need, among) for need in set(shape.needs)):
        return None
    in_order = list(range(shape.count))
    nodes = _place_in_turn(shape, in_order, free, among, spare)
    if nodes is None:
        inverse = free.layout.inverse
        size = [max(amount * w for amount, w in zip(row, inverse, strict=True)) for row in shape.rows]
        largest_first = sorted(in_order, key=lambda task: -size[task])
        if largest_first != in_order:
            nodes = _place_in_turn(shape, largest_first, free, among, spare)
    return _search_exactly(shape, free, among, spare) if nodes is None else nodes


def _fill_fullest_nodes(shape: Shape, free: FreeCapacity, among: int) -> list[int] | None:
    """Return the nodes of equal tasks on the fullest nodes of `among`, as many on each as fit; None without room."""
    by_fullness: dict[float, list[tuple[int, int]]] = {}
    for amount, nodes in free.groups.items():
        nodes &= among
        if nodes:
            many = free.many(amount, shape.asked, shape.count)
            if many > 0:
                by_fullness.setdefault(free.layout.fullness(amount), []).append((nodes, many))
    result: list[int] = []
    lacking = shape.count
    for value in sorted(by_fullness):
        group = by_fullness[value]
        rows = ((node, many) for nodes, many in group for node in bits(nodes))
        for node, many in rows if len(group) == 1 else sorted(rows):
            uses = min(many, lacking)
            result += [node] * uses
            lacking -= uses
            if not lacking:
                return result
    return None


def _fill_without_preemption(shape: Shape, free: FreeCapacity, among: int, spare: FreeCapacity) -> list[int] | None:
    """Place as `_fill_fullest_nodes`, first in `spare`, the room that avoids preemption, then in all of `free`."""
    result: list[int] = []
    counts: dict[int, int] = {}
    guard, need = free.layout.guard, shape.need
    for room in (spare, free):
        rows = []
        for amount, nodes in room.groups.items():
            nodes &= among
            if nodes and (amount + guard - need) & guard == guard:
                many = room.many(amount, shape.asked, shape.count)
                rows += [(_emptiness(node, need, spare), node, many) for node in bits(nodes)]
        for _, node, many in sorted(rows):
            uses = min(many - counts.get(node, 0), shape.count - len(result))
            if uses > 0:
                result += [node] * uses
                counts[node] = counts.get(node, 0) + uses
            if len(result) == shape.count:
                return result
    return None


def _emptiness(node: int, need: int, spare: FreeCapacity) -> float:
    """Return the fullness of a node; if a job has to leave it, the emptiest comes first."""
    layout, free = spare.layout, spare.free[node]
    value = layout.fullness(free)
    return value if (free + layout.guard - need) & layout.guard == layout.guard else layout.demanded - value


def _best_node(need: int, among: int, free: FreeCapacity, spare: FreeCapacity) -> int:
    node = spare.best(need, among)
    if node >= 0:
        return node
    guard = free.layout.guard
    rows = [
        (_emptiness(node, need, spare), node)
        for amount, nodes in free.groups.items()
        if (amount + guard - need) & guard == guard
        for node in bits(nodes & among)
    ]
    return min(rows)[1] if rows else -1


def _place_in_turn(
    shape: Shape, order: list[int], free: FreeCapacity, among: int, spare: FreeCapacity | None
) -> list[int] | None:
    """Return the nodes of tasks that choose in `order`, each the best of `among`; None if one finds no room.

    `spare` (if any) is the room that avoids preemption: it is preferred. Both rooms are restored at the end.
    """
    nodes, rooms = [-1] * shape.count, [free] if spare is None else [free, spare]
    uses: list[tuple[int, int]] = []
    for task in order:
        need = shape.needs[task]
        node = free.best(need, among) if spare is None else _best_node(need, among, free, spare)
        if node < 0:
            break
        nodes[task] = node
        uses.append((node, need))
        for room in rooms:
            room.take(node, need)
    for node, need in uses:
        for room in rooms:
            room.take(node, -need)
    return nodes if len(uses) == shape.count else None


def _search_exactly(shape: Shape, free: FreeCapacity, among: int, spare: FreeCapacity | None) -> list[int] | None:
    """Return the nodes that an exact search finds, if possible without preempting a job."""
    may = np.array([[bool(among >> node & 1) for node in range(len(free.free))]] * shape.count)
    rooms = [np.array([free.layout.unpack(amount) for amount in free.free])]
    if spare is not None:
        quiet = np.minimum(rooms[0], [free.layout.unpack(amount) for amount in spare.free])
        rooms = [quiet] if (quiet == rooms[0]).all() else [quiet, rooms[0]]
    for room in rooms:
        result = packing(np.array(shape.rows), may, room)
        if result is not None:
            return [node for node, _ in result]
    return None


def fitted(shape: Shape, free: FreeCapacity, alive: int) -> tuple[int, ...] | None:
    """Return nodes for a reservation; as `places`, but types of nodes are tried in their order.

    For tasks that differ, the largest first is by the largest free amounts.
    """
    among = shape.nodes & alive
    if shape.count == 1:
        node = free.best(shape.need, among)
        return None if node < 0 else (node,)
    for nodes in shape.types or [among]:
        result: Sequence[int] | None
        if shape.equal:
            result = _fill_fullest_nodes(shape, free, among & nodes)
        else:
            in_order = list(range(shape.count))
            result = _place_in_turn(shape, in_order, free, among & nodes, None)
            if result is None:
                largest = np.maximum([free.layout.unpack(amount) for amount in free.free], 1).max(axis=0)
                size = (np.array(shape.rows) / largest).max(axis=1)
                by_size = np.argsort(-size, kind="stable").tolist()
                result = _place_in_turn(shape, by_size, free, among & nodes, None)
            if result is None:
                result = _search_exactly(shape, free, among & nodes, None)
        if result is not None:
            return tuple(result)
    return None


def bits(nodes: int) -> list[int]:
    """Return the nodes of a set, in rising order."""
    result = []
    while nodes:
        low = nodes & -nodes
        nodes ^= low
        result.append(low.bit_length() - 1)
    return result


def sets(rows: IntArray) -> list[int]:
    """Return each row of flags (0 or not) as a set of bits."""
    return [sum(1 << int(node) for node in np.flatnonzero(row)) for row in rows]
