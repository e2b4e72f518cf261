"""Axes of charts: positions of values, and round values for labels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

#: Round numbers within a power of ten.
ROUND = (1, 2, 5)


@dataclasses.dataclass(frozen=True)
class Axis:
    """Axis from `low` to `high`, logarithmic if `log`; `write` formats a round value."""

    label: str
    low: float
    high: float
    log: bool = False
    write: Callable[[float], str] = "{:g}".format

    def share(self, value: float) -> float:
        """Return the position of a value on the axis: 0 at its low end, 1 at its high end."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Return two to eight round values within the axis."""
        return _log_ticks(self.low, self.high) if self.log else _linear_ticks(self.low, self.high)


def logarithmic(label: str, values: Sequence[float], write: Callable[[float], str] = "{:g}".format) -> Axis:
    """Return a logarithmic axis around positive values, slightly longer than they need."""
    low, high = min(values), max(values)
    room = max(1.5 if high < 2 * low else 1.0, (high / low) ** 0.04)
    low, high = low / room, high * room
    return Axis(label, low, high, True, write)


def _linear_ticks(low: float, high: float) -> list[float]:
    """Return multiples of one, two or five times a power of ten."""
    for step in (r * 10.0**e for e in range(-9, 16) for r in ROUND):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first <= 5:
            return [round(k * step, 12) for k in range(first, last + 1)]
    return [low, high]


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten, or every second, third ... of them; with fewer than three, also their multiples."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= 2:
        every = (last - first) // 6 + 1
        return [10.0**e for e in range(first, last + 1) if (e - first) % every == 0]
    powers = [r * 10.0**e for e in range(first - 1, last + 1) for r in ROUND]
    powers = [v for v in powers if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    return powers if len(powers) >= 2 else _linear_ticks(low, high)
