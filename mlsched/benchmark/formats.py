"""Numbers as people read them, the same in the terminal and in the report."""

from __future__ import annotations

#: Stands where there is nothing to show.
NONE = "–"


def percent(share: float | None) -> str:
    """A share as a percentage: exact at the ends, so that 100 % means all and 0 % none."""
    if share is None:
        return NONE
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    # Rounding must not claim an end that is not reached.
    value = min(max(100 * share, 0.01), 99.99)
    digits = 2 if value < 0.1 or value > 99.9 else 1
    return f"{value:.{digits}f} %"


def duration(seconds: float | None) -> str:
    """Seconds with the unit that fits: "340 µs", "12.0 ms", "3.40 s"."""
    if seconds is None:
        return NONE
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{_three(seconds * factor)} {unit}"
    return f"{_three(seconds)} s"


def _three(value: float) -> str:
    """Three significant digits, or all digits before the point."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def count(number: int) -> str:
    """A count, with nothing for zero: a table of failures should show failures."""
    return str(number) if number else ""
