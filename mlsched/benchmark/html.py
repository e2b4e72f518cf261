"""Self-contained HTML reports: text, tables and pictures in one file that needs no network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1c2430; }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #d8dde6 }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; font-size: .92rem }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e6e9ef; text-align: right }
th { background: #f4f6f9; font-weight: 600 } td:first-child, th:first-child { text-align: left }
td.text, th.text { text-align: left } td.bad { color: #b00020; font-weight: 600 } td.good { color: #14734a }
figure { margin: 1rem 0 } figure svg { max-width: 100%; height: auto }
figcaption, .note { color: #5b6573; font-size: .9rem }
"""


def text(sentence: str, *, note: bool = False) -> str:
    """A paragraph; `note` for small print."""
    return f"<p{' class=note' if note else ''}>{html.escape(sentence)}</p>"


def heading(title: str) -> str:
    """A section's heading."""
    return f"<h2>{html.escape(title)}</h2>"


def table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], *, marks: dict[tuple[int, int], str] | None = None
) -> str:
    """A table; `marks` gives (row, column) a class: "good" or "bad". Strings stand left, numbers right."""
    marks = marks or {}
    words = {c for row in rows for c, cell in enumerate(row) if _is_text(cell)}
    head = "".join(f"<th{' class=text' if c in words else ''}>{html.escape(h)}</th>" for c, h in enumerate(header))
    lines = []
    for r, row in enumerate(rows):
        cells = ""
        for c, cell in enumerate(row):
            classes = [marks.get((r, c), ""), "text" if _is_text(cell) else ""]
            label = " ".join(filter(None, classes))
            opening = f'<td class="{label}">' if label else "<td>"
            cells += f"{opening}{html.escape(str(cell))}</td>"
        lines.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _is_text(cell: Any) -> bool:
    """Whether a cell stands left: a string that is no number, no sign for "nothing" and not empty."""
    if not isinstance(cell, str) or cell in ("", "–"):
        return False
    return not (cell[0].isdigit() or (cell[0] in "+-≥" and cell[1:].lstrip()[:1].isdigit()))


def picture(svg: str, caption: str) -> str:
    """An inline SVG (from `plots.svg`) with its caption."""
    return f"<figure>{svg[svg.index('<svg') :]}<figcaption>{html.escape(caption)}</figcaption></figure>"


def page(title: str, sections: Sequence[str]) -> str:
    """The whole document."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{html.escape(title)}</h1>{''.join(sections)}</body></html>\n"
    )
