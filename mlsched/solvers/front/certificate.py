"""What was proved, sub-problem by sub-problem: enough to check without a solver that nothing is missing.

The certificate is the list of sub-problems a front was made of. From it follows, by arithmetic alone, which zones of
the search region are empty; whatever remains is open. `Front.verify` lets a solver confirm the list itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.core.scalar import Bounds, Status
from mlsched.solvers.front.zones import BIG, Zones


@dataclasses.dataclass(frozen=True)
class Subproblem:
    """minimise sum_k weights[k] f_k with f in one of the boxes, and what a backend said (minimisation form)."""

    weights: tuple[int, ...]
    boxes: tuple[Bounds, ...]
    status: Status
    values: tuple[int, ...] | None
    bound: int | None
    note: str = ""

    @property
    def proved(self) -> bool:
        """Whether the status is a proof."""
        return self.status in ("optimal", "infeasible")

    def implies(self, high: Sequence[int | None]) -> list[tuple[int, Any, Any]]:
        """(k, bounds, least), row by row: f_k >= least[b] wherever f_j < bounds[b, j] for all j != k.

        For each k of the largest weight and each box (m x p and m numbers; boxes that prove nothing are left out). What
        holds in a union of boxes holds in each: there, sum_j w_j f_j >= bound and f_j <= min(box_j, high_j) for j != k.
        It holds for f_k <= box_k only, so least never exceeds box_k + 1.
        """
        found = []
        for k in (k for k, weight in enumerate(self.weights) if weight == max(self.weights)):
            rows = [(box, least) for box in self.boxes if (least := self._least(k, box, high)) is not None]
            if rows:
                bounds = np.array([[BIG if u is None else u + 1 for u in box] for box, _ in rows], dtype=np.int64)
                found.append((k, bounds, np.minimum([least for _, least in rows], bounds[:, k])))
        return found

    def _least(self, k: int, box: Bounds, high: Sequence[int | None]) -> int | None:
        """The least f_k that the answer leaves possible in a box; None when it says nothing."""
        if self.status == "infeasible":
            return BIG
        rest = self._rest(k, box, high)
        return None if self.bound is None or rest is None else -((rest - self.bound) // self.weights[k])

    def _rest(self, k: int, box: Bounds, high: Sequence[int | None]) -> int | None:
        """The most that the other objectives can add to the weighted sum in a box; None without bounds."""
        rest = 0
        for j, (weight, u, h) in enumerate(zip(self.weights, box, high, strict=True)):
            if j != k and weight:
                ends = [e for e in (u, h) if e is not None]
                if not ends:
                    return None
                rest += weight * min(ends)
        return rest


@dataclasses.dataclass(frozen=True)
class Certificate:
    """All sub-problems of a front, and the enclosure of the objectives that the variables' bounds give."""

    low: tuple[int | None, ...]
    high: tuple[int | None, ...]
    subproblems: tuple[Subproblem, ...]

    def open_zones(self, points: Sequence[tuple[int, ...]]) -> tuple[Any, Any]:
        """(lower, upper), each m x p: where points that none of `points` weakly dominates could still be.

        lower <= f < upper; -BIG and BIG stand for no bound. Empty exactly when the points are proved complete.
        """
        zones = Zones(self.low, self.high)
        for one in self.subproblems:
            for implied in one.implies(self.high):
                zones.prove(*implied)
        for point in points:
            zones.insert(np.array(point, dtype=np.int64))
        return zones.lower, zones.upper

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "low": list(self.low),
            "high": list(self.high),
            "subproblems": [dataclasses.asdict(s) for s in self.subproblems],
        }
