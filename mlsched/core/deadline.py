"""A moment by which something must be there: code that takes long looks at it as it goes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from mlsched.core.interrupts import stop_requested

T = TypeVar("T")
#: Seconds that a solver which is started at all is given at least.
MOMENT = 0.01


class OutOfTime(Exception):
    """The time is over, and there is nothing to return yet. `solvers.run` makes it the outcome "unknown"."""


class Deadline:
    """So many wall seconds from the time that it is made; None: there is no end.

    It is over at once where the user asks the program to end (`interrupts.stopping`).
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._until = None if seconds is None else time.perf_counter() + seconds

    def remaining(self, minimum: float = -math.inf) -> float | None:
        """Wall seconds that remain, 0 or less when time is over, but never below `minimum`; None: there is no end."""
        if stop_requested():
            return max(minimum, 0.0)
        return None if self._until is None else max(minimum, self._until - time.perf_counter())

    def earlier(self, seconds: float) -> Deadline:
        """One that ends so many wall seconds before this one, for what must be followed by something that long."""
        remaining = self.remaining()
        return self if remaining is None else Deadline(remaining - seconds)

    def passed(self) -> bool:
        """Whether the time is over."""
        return stop_requested() or (self._until is not None and time.perf_counter() >= self._until)

    def check(self) -> None:
        """Raise OutOfTime when the time is over."""
        if self.passed():
            raise OutOfTime

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, each after a check."""
        for item in items:
            self.check()
            yield item
