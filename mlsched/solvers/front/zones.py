"""The search region of a set of points as a set of local upper bounds, stored in numpy.

A zone u stands for the objective vectors f < u (in every component). Together the zones cover exactly the vectors that
no known point weakly dominates. A new point splits the zones that contain it, and zones inside others are dropped:
Klamroth, Lacour, Vanderpooten, "On the representation of the search region in multi-objective optimization", EJOR 245
(2015), Algorithm 2. For each zone a lower bound of f in it is kept; the zone is empty as soon as lower[k] >= u[k] for
some k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.core.fields import BoolArray, IntArray

#: Means "unbounded"; far beyond any objective and far from overflow.
BIG = 2**62


class Zones:
    """Zones `upper` (m x p, exclusive) with proved lower bounds `lower` (m x p, inclusive)."""

    def __init__(self, low: Sequence[int | None], high: Sequence[int | None]) -> None:
        self.size = len(low)
        #: The upper bound of the first zone: components of a zone that equal it are without a defining point.
        self.top = np.array([BIG if h is None else h + 1 for h in high], dtype=np.int64)
        self.upper = self.top[None, :].copy()
        self.lower = np.array([[-BIG if v is None else v for v in low]], dtype=np.int64)
        #: failed[i, k]: 1 after a failure to minimise f_k in zone i and others, 2 after one in only zone i.
        self.failed = np.zeros((1, self.size), dtype=np.int8)
        # The proofs for each k, one per row: the bounds on all components, then the lower bound within them.
        self._proofs = [np.zeros((0, self.size + 1), dtype=np.int64) for _ in range(self.size)]
        self._others = [np.array([j for j in range(self.size) if j != k]) for k in range(self.size)]

    def __len__(self) -> int:
        return len(self.upper)

    def prove(self, k: int, bounds: IntArray, lower: IntArray) -> None:
        """Add proofs, one per row: f_k >= lower[b] wherever f_j < bounds[b, j] for all j != k.

        bounds: m x p. lower: m numbers, BIG if the bounds are infeasible.
        """
        others = self._others[k]
        within = (self.upper[:, None, others] <= bounds[None, :, others]).all(axis=2)
        proved_rows = np.where(within, lower, -BIG).max(axis=1)
        np.maximum(self.lower[:, k], proved_rows, out=self.lower[:, k])
        self._keep_zones(self.lower[:, k] < self.upper[:, k])
        known_bounds = self._proofs[k]
        weaker = (known_bounds[:, None, others] <= bounds[None, :, others]).all(axis=2) & (
            known_bounds[:, -1:] <= lower
        )
        rows = np.column_stack([bounds, lower])
        rows[:, k] = BIG
        self._proofs[k] = np.vstack([known_bounds[~weaker.any(axis=1)], rows])

    def insert(self, point: IntArray) -> None:
        """Split every zone that contains `point`."""
        hit = (point < self.upper).all(axis=1)
        if not hit.any():
            return
        parents, proved_rows = self.upper[hit], self.lower[hit]
        upper, lower = [self.upper[~hit]], [self.lower[~hit]]
        failed = [self.failed[~hit]]
        for k in range(self.size):
            selection = self._maximal_children(parents, k, point)
            child, bound = parents[selection], proved_rows[selection]
            child[:, k] = point[k]
            self._inherit_proofs(child, bound, point[k], parents[selection, k].max(initial=point[k]), k)
            alive = (bound < child).all(axis=1)
            upper.append(child[alive])
            lower.append(bound[alive])
            failed.append(np.zeros((int(alive.sum()), self.size), dtype=np.int8))
        self.upper, self.lower, self.failed = np.vstack(upper), np.vstack(lower), np.vstack(failed)

    def _maximal_children(self, parents: IntArray, k: int, point: IntArray) -> IntArray:
        """Return indices of the parents whose k-th child is maximal among the children and the zones on its face."""
        others = self._others[k]
        face = self.upper[(self.upper[:, k] == point[k]) & (point[others] < self.upper[:, others]).all(axis=1)]
        children = parents[:, others]
        keep = ~(face[:, others][None, :, :] >= children[:, None, :]).all(axis=2).any(axis=1)
        # contains[i, j]: child j contains child i; of equal children the first is kept.
        contains = (children[None, :, :] >= children[:, None, :]).all(axis=2)
        first = np.tril(np.ones(contains.shape, dtype=bool), -1)
        keep &= ~(contains & (~contains.T | first)).any(axis=1)
        return np.flatnonzero(keep)

    def _inherit_proofs(self, child: IntArray, lower: IntArray, at: int, before: int, changed: int) -> None:
        """Raise the children's lower bounds by the proofs that did not reach their parents.

        In component `changed`, children end at `at` and parents at `before` or less: a proof whose bound is between
        the two is valid only in a child.
        """
        if not len(child):
            return
        for k in range(self.size):
            if k == changed:
                continue
            known_bounds = self._proofs[k]
            fresh = known_bounds[(known_bounds[:, changed] >= at) & (known_bounds[:, changed] < before)]
            if len(fresh):
                others = self._others[k]
                within = (child[:, None, others] <= fresh[None, :, others]).all(axis=2)
                proved_rows = np.where(within, fresh[None, :, -1], -BIG).max(axis=1)
                np.maximum(lower[:, k], proved_rows, out=lower[:, k])

    def _keep_zones(self, alive: BoolArray) -> None:
        if not alive.all():
            self.upper, self.lower, self.failed = self.upper[alive], self.lower[alive], self.failed[alive]

    def select(
        self, floor: IntArray, most: int, asked: Sequence[tuple[int, Any]] = (), favourite: int | None = None
    ) -> tuple[Any, int] | None:
        """Select at most `most` zones, by index, to search next, and the objective k; None at the end.

        Tamby, Vanderpooten (2021), Section 4: the zone with the largest projection prod_{j != k} (u_j - floor_j). If
        points define components of a zone, k is one of these: the sub-problem is then feasible. The largest other
        zones of the same u_k are searched with it: the point that makes one of their sub-problems feasible does so for
        all.

        asked: (k, bounds) of the running questions. Zones that their answers may affect are selected last, zones of
        running questions never. favourite: the k of every sub-problem, unless that has failed.
        """
        open_ = (self.failed < 2) & ~self._zones_in_progress(asked, equal=True)[:, None]
        elsewhere = open_ & ~self._zones_in_progress(asked, equal=False)[:, None]
        open_ = elsewhere if elsewhere.any() else open_
        if not open_.any():
            return None
        backed = self.upper < self.top
        usable = open_ & np.where((backed & open_).any(axis=1, keepdims=True), backed, True)
        if favourite is not None and open_[:, favourite].any():
            usable = open_ & (np.arange(self.size) == favourite)
        extent = np.log(np.maximum(self.upper.astype(np.float64) - floor, 1.0))
        size = np.where(usable, extent.sum(axis=1, keepdims=True) - extent, -np.inf)
        zone, k = map(int, np.unravel_index(int(np.argmax(size)), size.shape))
        if most == 1 or not backed[zone, k] or self.failed[zone, k] or (self.top == BIG).any():
            return np.array([zone]), k
        group = np.flatnonzero(usable[:, k] & (self.failed[:, k] == 0) & (self.upper[:, k] == self.upper[zone, k]))
        return group[np.argsort(-size[group, k], kind="stable")][:most], k

    def _zones_in_progress(self, question: Sequence[tuple[int, Any]], equal: bool) -> BoolArray:
        """Return which zones are within the bounds of running questions; with `equal`, which are themselves running."""
        matched = np.zeros(len(self), dtype=bool)
        for k, bounds in question:
            others = self._others[k]
            mine, given_bounds = self.upper[:, None, others], bounds[None, :, others]
            matched |= (mine == given_bounds if equal else mine <= given_bounds).all(axis=2).any(axis=1)
        return matched

    def fail(self, k: int, bounds: IntArray) -> None:
        """Record a failure to minimise f_k in zones: several are next searched one by one, a single one never."""
        self.failed[self._zones_in_progress([(k, bounds)], equal=True), k] = 1 if len(bounds) > 1 else 2
