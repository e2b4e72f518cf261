"""What was proved, sub-problem by sub-problem: enough to check without a solver that nothing is missing.

The certificate is the list of sub-problems a front was made of. From it follows, by arithmetic alone, which zones of
the search region are empty; whatever remains is open. `Front.verify` lets a solver confirm the list itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.solvers.front.scalar import Status
from mlsched.solvers.front.zones import BIG, Zones


@dataclasses.dataclass(frozen=True)
class Subproblem:
    """minimise sum_k weights[k] f_k subject to f_k <= upper[k], and what a backend said (minimisation form)."""

    weights: tuple[int, ...]
    upper: tuple[int | None, ...]
    status: Status
    values: tuple[int, ...] | None
    bound: int | None
    note: str = ""

    @property
    def proved(self) -> bool:
        """Whether the status is a proof."""
        return self.status in ("optimal", "infeasible")

    def implies(self, high: Sequence[int | None]) -> tuple[int, Any, int] | None:
        """(k, bounds, least): f_k >= least wherever f_j < bounds[j], j != k; None when nothing follows.

        From sum_j w_j f_j >= bound and f_j <= min(upper_j, high_j) for j != k. It holds for f_k <= upper_k only, so
        least never exceeds upper_k + 1.
        """
        k = int(np.argmax(self.weights))
        bounds = np.array([BIG if u is None else u + 1 for u in self.upper], dtype=np.int64)
        if self.status == "infeasible":
            return k, bounds, BIG if self.upper[k] is None else int(bounds[k])
        if self.bound is None:
            return None
        rest = 0
        for j, (weight, u, h) in enumerate(zip(self.weights, self.upper, high, strict=True)):
            if j == k or weight == 0:
                continue
            ends = [e for e in (u, h) if e is not None]
            if not ends:
                return None
            rest += weight * min(ends)
        least = -((rest - self.bound) // self.weights[k])
        return k, bounds, min(least, int(bounds[k]))


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
            implied = one.implies(self.high)
            if implied is not None:
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
