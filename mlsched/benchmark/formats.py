"""Number formats shared by the terminal and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from mlsched.core.gap import Gaps, format_amount, format_percentage

if TYPE_CHECKING:
    from mlsched.benchmark.compare import Comparison

#: Mark of a missing value.
NONE = "–"

#: Characters that LaTeX does not print as they are.
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}", "|": r"\textbar{}"}
    | {"<": "$<$", ">": "$>$", "≥": r"$\geq$", "≤": r"$\leq$", "±": r"$\pm$", "×": r"$\times$", "→": r"$\to$"}
    | {"–": "--", "µ": r"$\mu$", '"': "''"}
)

#: Definition of "gap" for all tables.
GAP_NOTE = (
    "Gap: (value - optimum) / |optimum|, or (optimum - value) / |optimum| where more is better, to the proven optimum "
    "of the same instance: 25 % is a quarter worse."
)


def latex_text(text: str) -> str:
    """Return a text as LaTeX prints it, in any font encoding."""
    return text.translate(_LATEX)


def apart_notes(gaps: Iterable[Gaps]) -> list[str]:
    """Return notes on gaps outside the means of percentages; empty without such gaps."""
    gap_list, notes = list(gaps), []
    if units := list(dict.fromkeys(g.unit for g in gap_list if g.absolute)):
        unit = f"unit: {units[0]}" if len(units) == 1 else "in the table's unit"
        notes.append(
            f"Optimum 0: how many instances have an optimum of 0, and how much worse the answers are there on average "
            f"({unit}); nothing is a percentage of 0, so they are in no mean gap."
        )
    if rank := next((g.primary for g in gap_list if g.behind), None):
        notes.append(
            f"Behind: on how many instances there are more {rank}{',' * (',' in rank)} than in the optimum, which is "
            "compared before the value, and how many more on average; they are in no mean gap."
        )
    return notes


def gap(share: float | None) -> str:
    """Format a gap that has a percentage."""
    return NONE if share is None else format_percentage(share)


def interval_text(interval: tuple[float, float] | None, write: Callable[[float], str] = format_percentage) -> str:
    """Format the ends of an interval: "[8.1 %, 16.2 %]", or "" for None."""
    return "" if interval is None else f"[{write(interval[0])}, {write(interval[1])}]"


def with_interval(mean: float | None, interval: tuple[float, float] | None) -> str:
    """Format a mean gap and its interval: "12.0 % [8.1 %, 16.2 %]"."""
    return " ".join(filter(None, [gap(mean), interval_text(interval)]))


def difference_texts(line: Comparison) -> tuple[str, str]:
    """Format a comparison's mean difference and interval: "+3.2 points", "[1.1, 5.3]"; both empty without a mean."""
    if line.difference is None:
        return "", ""
    unit = "points" if line.statistic == "gap" else "%"
    interval = "" if line.interval is None else interval_text(line.interval, lambda share: signed_text(100 * share))
    return f"{signed_text(100 * line.difference)} {unit}", interval


def signed_text(value: float) -> str:
    """Format a number with its sign and three significant digits: "+3.21", "-120", "0"."""
    size = abs(value)
    return f"{value:+.{0 if size >= 99.95 else 1 if size >= 9.995 else 2}f}" if value else "0"


def apart_text(number: int, mean: float | None) -> str:
    """Format gaps without a percentage: number of instances and mean difference, or ""."""
    return "" if mean is None else f"{number}: {'+' if mean > 0 else ''}{format_amount(mean)}"


def percent(share: float | None) -> str:
    """Format a share as a percentage: exact at the ends, so that 100 % means all and 0 % means never."""
    if share is None:
        return NONE
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    # Rounding must not show an end that is not reached.
    value = min(max(100 * share, 0.01), 99.99)
    digits = 2 if value < 0.1 or value > 99.9 else 1
    return f"{value:.{digits}f} %"


def duration(seconds: float | None) -> str:
    """Format seconds with the unit that fits: "340 µs", "12.0 ms", "3.40 s"."""
    if seconds is None:
        return NONE
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds)} s"


def censored_duration(seconds: float | None, cut: int) -> str:
    """Format a mean time; a time that limits cut short is a lower bound: "≥ 3.40 s"."""
    return duration(seconds) if not cut or seconds is None else f"≥ {duration(seconds)}"


def _three_digits(value: float) -> str:
    """Format three significant digits, or all digits before the point."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def count_or_blank(number: int) -> str:
    """Format a count, with "" for zero, so that failures stand out in a table."""
    return str(number) if number else ""
