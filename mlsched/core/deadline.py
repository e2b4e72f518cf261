"""Deadlines that long computations check as they proceed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from mlsched.core.interrupts import stop_requested

T = TypeVar("T")
#: Least number of seconds that a started solver gets.
MOMENT = 0.01


class OutOfTime(Exception):
    """Raised when time is over before a result exists; `solvers.run` turns it into the outcome "unknown"."""


class Deadline:
    """Deadline in wall seconds from its creation; None means unlimited.

    It passes at once if the user asks the program to end (`interrupts.stopping`).
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._until = None if seconds is None else time.perf_counter() + seconds

    def remaining(self, minimum: float = -math.inf) -> float | None:
        """Return the remaining wall seconds, at least `minimum`, or None if unlimited.

        The number is zero or negative once the deadline has passed.
        """
        if stop_requested():
            return max(minimum, 0.0)
        return None if self._until is None else max(minimum, self._until - time.perf_counter())

    def earlier(self, seconds: float) -> Deadline:
        """Return a deadline `seconds` earlier, to reserve time for a later step."""
        remaining = self.remaining()
        return self if remaining is None else Deadline(remaining - seconds)

    def passed(self) -> bool:
        """Return whether the deadline has passed."""
        return stop_requested() or (self._until is not None and time.perf_counter() >= self._until)

    def check(self) -> None:
        """Raise OutOfTime if the deadline has passed."""
        if self.passed():
            raise OutOfTime

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, checking the deadline before each."""
        for item in items:
            self.check()
            yield item
