"""Objectives of a model as integer linear expressions, all to be minimised."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class Linear:
    """An integer linear expression sum_i coefficient[i] x[index[i]] + constant, to be minimised.

    Coefficients and values stay below 2^53, so that weighted sums fit 64-bit integers and doubles hold each value
    exactly.
    """

    index: IntArray
    coefficient: IntArray
    constant: int

    @classmethod
    def of(cls, index: Sequence[int], coefficient: Sequence[int], constant: int, sign: int) -> Linear:
        """Return the expression with like terms collected; `sign` = -1 negates an objective to maximise."""
        total: dict[int, int] = {}
        for i, c in zip(index, coefficient, strict=True):
            total[i] = total.get(i, 0) + c
        kept_terms = sorted((i, sign * c) for i, c in total.items() if c)
        if any(abs(c) >= EXACT for _, c in kept_terms) or abs(constant) >= EXACT:
            raise InvalidInput("an objective has a coefficient beyond 2^53; scale it down")
        columns = np.array([i for i, _ in kept_terms], dtype=np.int64)
        return cls(columns, np.array([c for _, c in kept_terms], dtype=np.int64), sign * constant)

    def value(self, x: IntArray) -> int:
        """Return the exact value for integer values `x` of all variables."""
        return int(self.coefficient @ x[self.index]) + self.constant

    def range(self, low: FloatArray, high: FloatArray) -> tuple[int | None, int | None]:
        """Return the range under the variables' bounds (floats, maybe infinite); None for an infinite end."""
        smallest = np.where(self.coefficient > 0, low[self.index], high[self.index])
        largest = np.where(self.coefficient > 0, high[self.index], low[self.index])
        return self._weighted_sum(smallest), self._weighted_sum(largest)

    def _weighted_sum(self, at: FloatArray) -> int | None:
        if not np.isfinite(at).all():
            return None
        return sum(int(c) * int(x) for c, x in zip(self.coefficient, at, strict=True)) + self.constant

    def text(self) -> str:
        """Return a canonical form, for fingerprints."""
        return f"{self.index.tolist()} {self.coefficient.tolist()} {self.constant}"


def enclose(
    objectives: Sequence[Linear], low: FloatArray, high: FloatArray
) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    """Return `Scalar.low` and `Scalar.high`; refuse objectives too large to be exact."""
    ranges = [o.range(low, high) for o in objectives]
    for number, ends in enumerate(ranges):
        for end in ends:
            if end is not None and abs(end) >= EXACT:
                raise InvalidInput(f"objective {number} can reach {end}, expected below 2^53; scale it down")
    return tuple(r[0] for r in ranges), tuple(r[1] for r in ranges)


def signs_of(senses: Sequence[str], count: int) -> list[int]:
    """Return +1 for "min" and -1 for "max"; check that each objective has a sense."""
    if isinstance(senses, str) or len(senses) != count:
        raise InvalidInput(f"senses = {senses!r}: must name 'min' or 'max' for each of the {count} objectives")
    for sense in senses:
        if sense not in ("min", "max"):
            raise InvalidInput(f"senses: {sense!r}, expected 'min' or 'max'")
    return [1 if sense == "min" else -1 for sense in senses]
