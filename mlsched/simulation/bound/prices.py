"""Prices over time, for every resource, and what holding a resource for a while costs at them."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.simulation.bound.pieces import Floats


@dataclasses.dataclass(frozen=True)
class Prices:
    """Prices per tick (intervals x resources) on equal intervals of `step` ticks from `start` on; 0 after the last."""

    start: float
    step: float
    values: Floats

    @property
    def end(self) -> float:
        """When prices are over."""
        return self.start + self.step * len(self.values)

    @functools.cached_property
    def rate(self) -> Floats:
        """The prices, and a last row of 0 for the time after them."""
        return np.vstack([self.values, np.zeros_like(self.values[:1])])

    @functools.cached_property
    def until(self) -> Floats:
        """What a unit costs from the start until each interval begins, and until the last one ends."""
        return np.vstack([np.zeros_like(self.values[:1]), np.cumsum(self.values * self.step, axis=0)])

    def place(self, time: Floats) -> tuple[IntArray, Floats]:
        """The interval of each time (their number after the end), and how far into it the time is."""
        number = np.minimum((time - self.start) // self.step, len(self.values)).astype(np.int64)
        return number, time - self.start - number * self.step

    def paid(self, demand: Floats, begin: Floats, end: Floats) -> Floats:
        """What demands (pieces x resources) pay from one time to another."""
        at_begin, at_end = (self.until[k] + self.rate[k] * rest[:, None] for k, rest in map(self.place, (begin, end)))
        total: Floats = ((at_end - at_begin) * demand).sum(axis=1)
        return total

    def finer(self, parts: int) -> Prices:
        """The same prices on so many intervals for each."""
        return Prices(self.start, self.step / parts, np.repeat(self.values, parts, axis=0))


@dataclasses.dataclass(frozen=True)
class Ways:
    """Pieces that look for their way: release, length and weight of each, all above 0 but the release; demand (pieces x
    resources).
    """

    release: Floats
    length: Floats
    weight: Floats
    demand: Floats
