"""Prices over time, for every resource, and the cost of using resources at them."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from mlsched.core.fields import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class Prices:
    """Prices per tick, shape (intervals, resources), on equal intervals of `step` ticks from `start` on.

    They are 0 after the last interval.
    """

    start: float
    step: float
    values: FloatArray

    @property
    def end(self) -> float:
        """Return the end of the last interval."""
        return self.start + self.step * len(self.values)

    @functools.cached_property
    def rate(self) -> FloatArray:
        """Return the prices, with a last row of 0 for the time after them."""
        return np.vstack([self.values, np.zeros_like(self.values[:1])])

    @functools.cached_property
    def until(self) -> FloatArray:
        """Return the cost of a unit from the start until each interval begins, and until the last one ends."""
        return np.vstack([np.zeros_like(self.values[:1]), np.cumsum(self.values * self.step, axis=0)])

    def place(self, time: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the interval of each time (their number after the end), and the offset of the time in it."""
        number = np.minimum((time - self.start) // self.step, len(self.values)).astype(np.int64)
        return number, time - self.start - number * self.step

    def paid(self, demand: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
        """Return the payment of demands (pieces, resources) from one time to another."""
        at_begin, at_end = (self.until[k] + self.rate[k] * rest[:, None] for k, rest in map(self.place, (begin, end)))
        total: FloatArray = ((at_end - at_begin) * demand).sum(axis=1)
        return total

    def finer(self, parts: int) -> Prices:
        """Return the same prices, with each interval split into `parts`."""
        return Prices(self.start, self.step / parts, np.repeat(self.values, parts, axis=0))


@dataclasses.dataclass(frozen=True)
class Ways:
    """Pieces to be priced: release, length, weight of each, above 0 but the release; demand (pieces, resources)."""

    release: FloatArray
    length: FloatArray
    weight: FloatArray
    demand: FloatArray
