"""The proof of a front as a list of sub-problems: enough to check without a solver that no point is missing.

The certificate lists the answered sub-problems. Arithmetic derives from it which zones of the search region are empty;
the other zones are open. `Front.verify` confirms the list itself with a solver.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.brief import count_of, short_repr
from mlsched.core.fields import IntArray
from mlsched.core.scalar import Bounds, Status
from mlsched.solvers.front.zones import BIG, Zones


@dataclasses.dataclass(frozen=True)
class Subproblem:
    """A question, to minimise sum_k weights[k] f_k with f in one of the boxes, and a backend's answer."""

    weights: tuple[int, ...]
    boxes: tuple[Bounds, ...]
    status: Status
    values: tuple[int, ...] | None
    bound: int | None
    note: str = ""

    @property
    def proved(self) -> bool:
        """Return whether the status is a proof."""
        return self.status in ("optimal", "infeasible")

    def implies(self, high: Sequence[int | None]) -> list[tuple[int, Array, Array]]:
        """Return the proved lower bounds on f_k, as (k, bounds, lower) for each objective k of the largest weight.

        bounds: m x p, a row for each box with a proof. lower: m numbers. Wherever f_j < bounds[b, j] for all
        j != k, f_k >= lower[b]. A bound over a union of boxes is valid in each box: sum_j w_j f_j >= bound, where
        f_j <= min(box_j, high_j) for j != k. The answer covers only f_k <= box_k, so lower[b] is at most box_k + 1.
        """
        implied = []
        for k in (k for k, weight in enumerate(self.weights) if weight == max(self.weights)):
            lower = [(box, self._lower_bound(k, box, high)) for box in self.boxes]
            rows = [(box, value) for box, value in lower if value is not None]
            if rows:
                bounds = np.array([[BIG if u is None else u + 1 for u in box] for box, _ in rows], dtype=np.int64)
                implied.append((k, bounds, np.minimum([value for _, value in rows], bounds[:, k])))
        return implied

    def proofs(self, high: Sequence[int | None]) -> list[tuple[int, Array, Array]]:
        """Return `implies`; for two objectives also the reverse: f_j > box_j where f_k < lower[b]."""
        implied = self.implies(high)
        return [*implied, *(_swap_objectives(*one) for one in implied)] if len(self.weights) == 2 else implied

    def _lower_bound(self, k: int, box: Bounds, high: Sequence[int | None]) -> int | None:
        """Return the lower bound on f_k in a box that follows from the answer; None if it is unbounded."""
        if self.status == "infeasible":
            return BIG
        others = self._greatest_others(k, box, high)
        return None if self.bound is None or others is None else -((others - self.bound) // self.weights[k])

    def _greatest_others(self, k: int, box: Bounds, high: Sequence[int | None]) -> int | None:
        """Return the most that the objectives other than k can add to the weighted sum in a box; None if unbounded."""
        total = 0
        for j, (weight, u, h) in enumerate(zip(self.weights, box, high, strict=True)):
            if j != k and weight:
                ends = [e for e in (u, h) if e is not None]
                if not ends:
                    return None
                total += weight * min(ends)
        return total


def _swap_objectives(k: int, bounds: IntArray, lower: IntArray) -> tuple[int, IntArray, IntArray]:
    """Swap two objectives: f_k >= lower where f_j < bounds_j is the same as f_j >= bounds_j where f_k < lower."""
    reverse = np.full_like(bounds, BIG)
    reverse[:, k] = lower
    return 1 - k, reverse, bounds[:, 1 - k]


@dataclasses.dataclass(frozen=True)
class Certificate:
    """All sub-problems of a front. low, high: the range of each objective that follows from the variables' bounds."""

    low: tuple[int | None, ...]
    high: tuple[int | None, ...]
    subproblems: tuple[Subproblem, ...]

    def __repr__(self) -> str:
        return short_repr(self, count_of(len(self.subproblems), "sub-problem"))

    def open_zones(self, points: Sequence[tuple[int, ...]]) -> tuple[IntArray, IntArray]:
        """Return (lower, upper), each m x p: the zones outside the known points in which points may be missing.

        A zone contains the f with lower <= f < upper that are not weakly dominated; -BIG and BIG mean unbounded. m is 0
        exactly if `points` are proved complete.
        """
        zones = Zones(self.low, self.high)
        for one in self.subproblems:
            for implied in one.proofs(self.high):
                zones.prove(*implied)
        for point in points:
            zones.insert(np.array(point, dtype=np.int64))
        return zones.lower, zones.upper

    def to_json(self) -> Data:
        """Return plain JSON data."""
        return {
            "low": list(self.low),
            "high": list(self.high),
            "subproblems": [dataclasses.asdict(s) for s in self.subproblems],
        }
