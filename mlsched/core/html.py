"""What notebooks show of instances, results, fronts and runs (`_repr_html_`): small tables, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

#: Rows of a table, numbers of an array and characters of a cell that are shown; what is beyond is counted.
MOST_ROWS, MOST_NUMBERS, MOST_SIGNS = 12, 10, 120


def cell(value: Any) -> str:
    """A value as people read it: None as a dash, floats to four digits, the rest as text that is cut where long."""
    if value is None:
        return "-"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= MOST_SIGNS else f"{text[: MOST_SIGNS - 4]} ...")


def numbers(values: Any) -> str:
    """The first numbers of a flat array."""
    shown = ", ".join(str(v) for v in values[:MOST_NUMBERS].tolist())
    return shown if len(values) <= MOST_NUMBERS else f"{shown} ..."


def names(values: Sequence[str]) -> str:
    """The first of some names."""
    shown = ", ".join(values[:MOST_NUMBERS])
    return shown if len(values) <= MOST_NUMBERS else f"{shown}, ..."


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, most: int | None = None) -> str:
    """An HTML table; beyond `most` rows it says how many there are."""
    shown = rows if most is None else rows[:most]
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in shown)
    more = f"<div>... {len(rows)} rows in all</div>" if len(shown) < len(rows) else ""
    return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def folded(title: str, content: str) -> str:
    """`content` (HTML) that opens at a click."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def block(title: str, facts: Iterable[str], *contents: str) -> str:
    """A bold title with what else is said in its line, and the contents (HTML) below."""
    line = "; ".join(escape(fact) for fact in facts if fact)
    return f"<div><b>{escape(title)}</b>{': ' if line else ''}{line}{''.join(contents)}</div>"
