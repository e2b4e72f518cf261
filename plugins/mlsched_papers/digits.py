"""Numbers as the papers print them."""

from __future__ import annotations


def significant(value: float | None) -> str:
    """Three significant digits, whole above 1000; a dash for nothing."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 999.5:
        return f"{value:.0f}"
    text = f"{value:#.3g}"
    return (f"{value:.2g}" if "e" in text else text).rstrip(".")


def signed_percent(share: float | None) -> str:
    """A relative deviation: "+3.1 %"."""
    return "–" if share is None else f"{100 * share:+.1f} %"
