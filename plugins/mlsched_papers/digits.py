"""Numbers in the papers' formats."""

from __future__ import annotations


def significant(value: float | None) -> str:
    """Format with three significant digits, as an integer above 1000; a dash for None."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 999.5:
        return f"{value:.0f}"
    text = f"{value:#.3g}"
    return (f"{value:.2g}" if "e" in text else text).rstrip(".")


def signed_percent(share: float | None) -> str:
    """Format a relative deviation: "+3.1 %"."""
    return "–" if share is None else f"{100 * share:+.1f} %"
