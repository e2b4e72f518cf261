"""When the clock looks at a world: at every event, at the ticks of an interval, or both."""

from __future__ import annotations

import dataclasses
import re
from fractions import Fraction

from mlsched.core.errors import InvalidInput


@dataclasses.dataclass(frozen=True)
class Wake:
    """Cadence of a run.

    For a clock whose unit is not the second, see `in_units`.

    Attributes:
        events: Wake at every event.
        interval: Wake at multiples of this many seconds; 0 for never.
    """

    events: bool
    interval: int

    @classmethod
    def parse(cls, text: str) -> Wake:
        """Parse `"events"`, `"interval:60"` or `"events+interval:600"`."""
        match = re.fullmatch(r"(events)?(\+)?(?:interval:([1-9]\d*))?", text)
        if not match or bool(match[2]) != bool(match[1] and match[3]) or not (match[1] or match[3]):
            raise InvalidInput(
                f"scheduling_events: {text!r}, expected 'events', 'interval:SECONDS' or 'events+interval:SECONDS'"
            )
        return cls(bool(match[1]), int(match[3] or 0))

    def __str__(self) -> str:
        parts = ["events"] * self.events + [f"interval:{self.interval}"] * bool(self.interval)
        return "+".join(parts)

    def in_units(self, unit: int | Fraction) -> Wake:
        """Convert the cadence to a clock that counts `unit` units per second: 1/60 for ticks of a minute.

        Raises:
            InvalidInput: The interval falls between ticks.
        """
        interval = self.interval * Fraction(unit)
        if interval.denominator != 1:
            tick = float(1 / Fraction(unit))
            raise InvalidInput(
                f"scheduling_events = '{self}': {self.interval} s is not a multiple of a tick of {tick:g} s"
            )
        return dataclasses.replace(self, interval=int(interval))

    def next(self, now: int, event: int | None, pending: bool) -> int | None:
        """Return the next wake after `now`, or None without an event or tick; all times are in the clock's unit.

        Ticks without an event or an open question are skipped.

        Args:
            now: Current time.
            event: Time of the next event, or None.
            pending: A question is open.
        """
        if self.events and event is not None:
            times = [event]
        elif event is not None:
            times = [self._next_tick(max(event, now + 1))]
        else:
            times = []
        if self.interval and pending and times:
            times.append(self._next_tick(now + 1))
        return min(times, default=None)

    def _next_tick(self, time: int) -> int:
        return -(-time // self.interval) * self.interval
