"""Small escaped tables in notebooks (`_repr_html_`) for instances, results, fronts and runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

#: Most rows of a table, numbers of an array and characters of a cell; the remaining ones are counted.
MAX_ROWS, MAX_NUMBERS, MAX_CELL = 12, 10, 120


def table_cell(value: object) -> str:
    """Format a value for people: None as a dash, floats to four digits, other values as text, cut if long."""
    if value is None:
        return "-"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 4]} ...")


def first_numbers(values: Any) -> str:
    """Format the first numbers of a flat array."""
    text = ", ".join(str(v) for v in values[:MAX_NUMBERS].tolist())
    return text if len(values) <= MAX_NUMBERS else f"{text} ..."


def first_names(values: Sequence[str]) -> str:
    """Format the first of some names."""
    text = ", ".join(values[:MAX_NUMBERS])
    return text if len(values) <= MAX_NUMBERS else f"{text}, ..."


def html_table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, most: int | None = None) -> str:
    """Return an HTML table; a table with more than `most` rows is cut and states their number."""
    visible = rows if most is None else rows[:most]
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{table_cell(value)}</td>" for value in row) + "</tr>" for row in visible)
    more = f"<div>... {len(rows)} rows in all</div>" if len(visible) < len(rows) else ""
    return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def collapsible(title: str, content: str) -> str:
    """Return `content` (HTML) in a block that opens at a click."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def titled_block(title: str, facts: Iterable[str], *contents: str) -> str:
    """Return a bold title, the facts in its line, and the contents (HTML) below."""
    line = "; ".join(escape(fact) for fact in facts if fact)
    return f"<div><b>{escape(title)}</b>{': ' if line else ''}{line}{''.join(contents)}</div>"
