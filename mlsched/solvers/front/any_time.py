"""Two objectives within a time limit: the points are spread over the front at every moment.

1. The extreme points come first: the smallest f_1, and the smallest f_2.
2. Then the largest open region between known points is searched. A large region is cut in the middle: the smallest f_k
   with f_j at most halfway. A smaller region is swept from one end, as in the epsilon-constraint method, so that every
   sub-problem gives a new point or closes the region.
3. A sub-problem that is not proved within its share of the time is interrupted. Its bound on the region and its plan
   are kept. After all regions were searched, or several were interrupted, the open regions get a larger share
   (`Search.longer`).

Regions are the zones of the certificate, so a method cannot claim more than the sub-problems prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import IntArray
from mlsched.solvers.front.crew import Asked, Crew
from mlsched.solvers.front.search import Search, Stop
from mlsched.solvers.front.zones import BIG, Zones

#: A region of at least this share of the first one is cut in the middle.
LARGE = 0.1


def run(search: Search) -> None:
    """Find the points, the largest open region first; hard regions again, until the time is over."""
    search.take_turns()
    regions = _Regions(search)
    with Crew(search) as crew:
        while True:
            while crew.room and not search.turn_over and (question := regions.next(crew.asked)) is not None:
                crew.submit(*question)
            if crew.asked:
                k, bounds, explored = crew.next()
                regions.answered(k, bounds, explored.failed)
            elif not regions.open:
                return
            elif search.longer():
                regions.left.clear()
            elif search.cut:
                raise Stop("time limit")
            else:
                return


class _Regions:
    """The open regions of a front of two objectives. left: questions without a proof in this turn."""

    def __init__(self, search: Search) -> None:
        self._search, self._seen, self._points = search, 0, 0
        self._zones = Zones(search.low, search.high)
        self.left: set[tuple[int, int]] = set()
        self._proved: set[tuple[int, int]] = set()
        self._first: float | None = None
        first = search.scalar.favourite or 0
        self._order = (first, 1 - first)
        search.recall()
        self._update_zones()

    @property
    def open(self) -> bool:
        """Return whether points may be missing."""
        return len(self._zones) > 0

    def answered(self, k: int, bounds: IntArray, failed: bool) -> None:
        """Update the regions after the answer to the question (k, bounds).

        The question is not repeated: `failed` moves it to those left open, otherwise it counts as proved.
        """
        (self.left if failed else self._proved).add(_sort_key(k, bounds))
        self._update_zones()

    def _update_zones(self) -> None:
        proofs, points = self._search.subproblems[self._seen :], list(self._search.points)[self._points :]
        self._seen, self._points = self._seen + len(proofs), self._points + len(points)
        for one in proofs:
            for implied in one.proofs(self._search.high):
                self._zones.prove(*implied)
        for point in points:
            self._zones.insert(np.array(point, dtype=np.int64))

    def next(self, asked: Sequence[Asked]) -> Asked | None:
        """Return the next question; None if this turn has no more, or if running ones may answer the rest."""
        over = self.left | self._proved | {_sort_key(*one) for one in asked}
        for k in (0, 1):
            if (k, BIG) not in over and self.open:
                return k, _bounds_of_zone(k, BIG)
        if len(asked) > 0 and not self._search.points:
            return None
        sizes = np.maximum(self._zones.upper - self._zones.lower.astype(np.float64), 1.0).prod(axis=1)
        if self._first is None and len(sizes):
            self._first = float(sizes.max())
        for zone in np.argsort(-sizes, kind="stable").tolist():
            if any(self._is_about_zone(zone, *one) for one in asked):
                continue
            for k, bound in self._questions_about_zone(zone, sizes[zone] >= LARGE * (self._first or 1.0)):
                if (k, bound) not in over:
                    return k, _bounds_of_zone(k, bound)
        return None

    def _questions_about_zone(self, zone: int, large: bool) -> Iterator[tuple[int, int]]:
        """Yield the questions about a region: the objective to minimise, and the bound on the second objective."""
        lower, upper = self._zones.lower[zone].tolist(), self._zones.upper[zone].tolist()
        k = self._order[0]
        if large and lower[1 - k] > -BIG and upper[1 - k] < BIG:
            middle = (lower[1 - k] + upper[1 - k]) // 2
            if lower[1 - k] < middle < upper[1 - k]:
                yield k, middle
        yield from ((k, upper[1 - k]) for k in self._order)

    def _is_about_zone(self, zone: int, k: int, bounds: Array) -> bool:
        """Return whether the question (k, bounds) is about a region: its bound on the other objective is inside."""
        other = 1 - k
        return bool(self._zones.lower[zone, other] < bounds[0, other] <= self._zones.upper[zone, other])


def _bounds_of_zone(k: int, bound: int) -> IntArray:
    bounds = np.full((1, 2), BIG, dtype=np.int64)
    bounds[0, 1 - k] = bound
    return bounds


def _sort_key(k: int, bounds: IntArray) -> tuple[int, int]:
    return k, int(bounds[0, 1 - k])
