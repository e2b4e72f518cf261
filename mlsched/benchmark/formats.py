"""Numbers as people read them, the same in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from mlsched.core.gap import Gaps, format_amount, format_percentage

if TYPE_CHECKING:
    from mlsched.benchmark.compare import Comparison

#: Stands where there is nothing to show.
NONE = "–"

#: Characters that LaTeX does not print as they are.
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}", "|": r"\textbar{}"}
    | {"<": "$<$", ">": "$>$", "≥": r"$\geq$", "≤": r"$\leq$", "±": r"$\pm$", "×": r"$\times$", "→": r"$\to$"}
    | {"–": "--", "µ": r"$\mu$", '"': "''"}
)

#: What "gap" means wherever one is shown.
GAP_NOTE = (
    "Gap: (value - optimum) / |optimum|, or (optimum - value) / |optimum| where more is better, to the proven optimum "
    "of the same instance: 25 % is a quarter worse."
)


def latex_text(text: str) -> str:
    """Return a text as LaTeX prints it, in any font encoding."""
    return text.translate(_LATEX)


def apart_notes(gaps: Iterable[Gaps]) -> list[str]:
    """What the readers of a table must know of gaps that are in no mean of percentages; empty where there are none."""
    summed, found = list(gaps), []
    if units := list(dict.fromkeys(g.unit for g in summed if g.absolute)):
        unit = f"unit: {units[0]}" if len(units) == 1 else "in the table's unit"
        found.append(
            f"Optimum 0: how many instances have an optimum of 0, and how much worse the answers are there on average "
            f"({unit}); nothing is a percentage of 0, so they are in no mean gap."
        )
    if rank := next((g.primary for g in summed if g.behind), None):
        found.append(
            f"Behind: on how many instances there are more {rank}{',' * (',' in rank)} than in the optimum, which is "
            "compared before the value, and how many more on average; they are in no mean gap."
        )
    return found


def gap(share: float | None) -> str:
    """A gap that has a percentage."""
    return NONE if share is None else format_percentage(share)


def bounds(found: tuple[float, float] | None, write: Callable[[float], str] = format_percentage) -> str:
    """The ends of an interval: "[8.1 %, 16.2 %]"; nothing where there is none."""
    return "" if found is None else f"[{write(found[0])}, {write(found[1])}]"


def with_interval(mean: float | None, found: tuple[float, float] | None) -> str:
    """A mean gap and its interval: "12.0 % [8.1 %, 16.2 %]"."""
    return " ".join(filter(None, [gap(mean), bounds(found)]))


def difference_texts(line: Comparison) -> tuple[str, str]:
    """A comparison's mean difference and interval: "+3.2 points", "[1.1, 5.3]"; both empty without a mean."""
    if line.difference is None:
        return "", ""
    unit = "points" if line.statistic == "gap" else "%"
    interval = "" if line.interval is None else bounds(line.interval, lambda share: signed(100 * share))
    return f"{signed(100 * line.difference)} {unit}", interval


def signed(value: float) -> str:
    """A number with its sign and three significant digits: "+3.21", "-120", "0"."""
    size = abs(value)
    return f"{value:+.{0 if size >= 99.95 else 1 if size >= 9.995 else 2}f}" if value else "0"


def apart(number: int, mean: float | None) -> str:
    """Gaps without a percentage: on how many instances, and the mean difference there; nothing where there are none."""
    return "" if mean is None else f"{number}: {'+' if mean > 0 else ''}{format_amount(mean)}"


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


def censored(seconds: float | None, cut: int) -> str:
    """A mean time; where limits cut calls short it would have been longer: "≥ 3.40 s"."""
    return duration(seconds) if not cut or seconds is None else f"≥ {duration(seconds)}"


def _three(value: float) -> str:
    """Three significant digits, or all digits before the point."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def count(number: int) -> str:
    """A count, with nothing for zero: a table of failures should show failures."""
    return str(number) if number else ""
