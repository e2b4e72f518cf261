"""Quota arithmetic on the tree of ClusterQueues and Cohorts (rules K4 to K7, and shares S1)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

#: A pair (flavor, resource).
FlavorResource = tuple[str, str]
#: Amounts by flavor and resource.
Amounts = dict[FlavorResource, int]
#: A share: whether it is infinite (weight 0), then its value.
Share = tuple[bool, Fraction]

NO_SHARE: Share = (False, Fraction(0))


@dataclass(eq=False)
class Node:
    """A ClusterQueue or a Cohort with its quotas and its usage.

    `nominal`, `borrowing` and `lending` are the object's values; `usage` counts by K3 and K4.
    """

    name: str
    is_queue: bool
    nominal: Amounts = field(default_factory=dict)
    borrowing: Amounts = field(default_factory=dict)
    lending: Amounts = field(default_factory=dict)
    weight: Fraction = Fraction(1)
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    usage: Amounts = field(default_factory=dict)

    def path_to_root(self) -> Iterator[Node]:
        """Yield the node and its ancestors, the root last."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> Node:
        """Return the root of the tree."""
        return list(self.path_to_root())[-1]

    def all_below(self) -> Iterator[Node]:
        """Yield the node and everything under it."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += reversed(node.children)

    @functools.cached_property
    def frs(self) -> frozenset[FlavorResource]:
        """The pairs with a quota in the node or under it."""
        return frozenset(fr for node in self.all_below() for fr in node.nominal)

    @functools.cached_property
    def _subtree(self) -> Amounts:
        return {}

    def subtree_quota(self, fr: FlavorResource) -> int:
        """Return the quota that the node and everything under it share (K4)."""
        quota = self._subtree.get(fr)
        if quota is None:
            quota = self.nominal.get(fr, 0)
            quota += sum(child.subtree_quota(fr) - child.local_quota(fr) for child in self.children)
            self._subtree[fr] = quota
        return quota

    def local_quota(self, fr: FlavorResource) -> int:
        """Return the part of the subtree quota that other queues cannot use."""
        lending = self.lending.get(fr)
        return 0 if lending is None else max(0, self.subtree_quota(fr) - lending)

    def usage_of(self, fr: FlavorResource) -> int:
        """Return the usage of the node."""
        return self.usage.get(fr, 0)

    def local_available(self, fr: FlavorResource) -> int:
        """Return the rest of the local quota."""
        return max(0, self.local_quota(fr) - self.usage_of(fr))

    def add_usage(self, amounts: Mapping[FlavorResource, int], sign: int = 1) -> None:
        """Count the amounts (sign -1: no longer) in the node and, as far as they exceed local quotas, above."""
        for fr, amount in amounts.items():
            node, change = self, sign * amount
            while node is not None and change:
                before = max(0, node.usage_of(fr) - node.local_quota(fr))
                node.usage[fr] = node.usage_of(fr) + change
                change = max(0, node.usage_of(fr) - node.local_quota(fr)) - before
                node = node.parent  # type: ignore[assignment]

    @contextlib.contextmanager
    def with_raised_quota(self, fr: FlavorResource, more: int) -> Iterator[None]:
        """Raise the nominal quota for a while; usage is counted again, as local quotas change."""
        self._raise_nominal(fr, more)
        try:
            yield
        finally:
            self._raise_nominal(fr, -more)

    def _raise_nominal(self, fr: FlavorResource, more: int) -> None:
        below = list(self.root.all_below())
        own = {node: node.usage_of(fr) for node in below if node.is_queue}
        for node, usage in own.items():
            node.add_usage({fr: usage}, -1)
        self.nominal[fr] = self.nominal.get(fr, 0) + more
        for node in below:
            node._subtree.pop(fr, None)
            node.__dict__.pop("lendable", None)
        for node, usage in own.items():
            node.add_usage({fr: usage})

    def available(self, fr: FlavorResource) -> int:
        """Return how much more fits in the node (K5); never negative for a ClusterQueue."""
        amount = self._available(fr, lambda node: node.usage_of(fr))
        return max(0, amount) if self.is_queue else amount

    def potential(self, fr: FlavorResource) -> int:
        """Return how much fits if nothing is in use (K5)."""
        return self._available(fr, lambda node: 0)

    def _available(self, fr: FlavorResource, usage_of: Callable[[Node], int]) -> int:
        if self.parent is None:
            return self.subtree_quota(fr) - usage_of(self)
        above = self.parent._available(fr, usage_of)
        limit = self.borrowing.get(fr)
        if limit is not None:
            stored = self.subtree_quota(fr) - self.local_quota(fr)
            above = min(above, stored - max(0, usage_of(self) - self.local_quota(fr)) + limit)
        return max(0, self.local_quota(fr) - usage_of(self)) + above

    def stays_within(self, fr: FlavorResource, more: int = 0) -> bool:
        """Return whether the node with `more` stays within its subtree quota (K6: it does not borrow)."""
        return self.usage_of(fr) + more <= self.subtree_quota(fr)

    def within_all(self, frs: frozenset[FlavorResource]) -> bool:
        """Return whether the node is within its subtree quota in all these pairs."""
        return all(self.stays_within(fr) for fr in frs)

    def borrows_any(self) -> bool:
        """Return whether the node exceeds its subtree quota in some pair."""
        return any(amount > self.subtree_quota(fr) for fr, amount in self.usage.items())

    def borrowing_height(self, fr: FlavorResource, amount: int) -> tuple[int, bool]:
        """Return the height of borrowing for `amount`, and whether a smaller subtree than the tree is enough (K7)."""
        if self.parent is None or self.stays_within(fr, amount):
            return 0, self.parent is not None
        rest = amount - self.local_available(fr)
        level, node = 0, self.parent
        while True:
            level = node.level
            if node.usage_of(fr) + rest <= node.subtree_quota(fr) or node.parent is None:
                return level, node.parent is not None
            rest -= node.local_available(fr)
            node = node.parent

    @functools.cached_property
    def level(self) -> int:
        """Return the height of the node: 0 for a ClusterQueue, 1 for a cohort of ClusterQueues, and so on."""
        return 0 if self.is_queue else 1 + max((child.level for child in self.children), default=0)

    def dominant_share(self) -> Share:
        """Return the dominant share of the node, which may be infinite (S1); the root's is 0."""
        if self.parent is None:
            return NO_SHARE
        borrowed: dict[str, int] = {}
        for fr, amount in self.usage.items():
            if (over := amount - self.subtree_quota(fr)) > 0:
                borrowed[fr[1]] = borrowed.get(fr[1], 0) + over
        largest = Fraction(0)
        for resource, over in borrowed.items():
            if (lendable := self.parent.lendable.get(resource, 0)) > 0:
                largest = max(largest, Fraction(1000 * over, lendable))
        if not largest:
            return NO_SHARE
        return (True, largest) if not self.weight else (False, largest / self.weight)

    @functools.cached_property
    def lendable(self) -> dict[str, int]:
        """Return the potential of the node by resource, summed over flavors."""
        total: dict[str, int] = {}
        for fr in self.root.frs:
            total[fr[1]] = total.get(fr[1], 0) + self.potential(fr)
        return total
