"""Self-contained HTML pages: text, sortable tables and pictures in one file that works offline."""

from __future__ import annotations

import dataclasses
import html
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mlsched.benchmark import theme

#: Content policy under which browsers never load external resources.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclasses.dataclass(frozen=True)
class Cell:
    """Cell with a sort key beside its text, or a mark ("best", "good", "bad").

    `small` is a second line, such as an interval.
    """

    text: str
    key: float | str | None = None
    mark: str = ""
    small: str = ""


def paragraph(sentence: str, *, note: bool = False) -> str:
    """Return a paragraph; `note` for small print."""
    return f"<p{' class=note' if note else ''}>{html.escape(sentence)}</p>"


def code_block(source: str) -> str:
    """Return a block of code, which scrolls separately."""
    return f"<pre>{html.escape(source)}</pre>"


def heading(title: str, level: int = 2) -> str:
    """Return a section's heading; `page` numbers those of levels 2 and 3 and lists them in the contents."""
    return f"<h{level}>{html.escape(title)}</h{level}>"


def fact_list(meanings: Mapping[str, str]) -> str:
    """Return a list of names and their meanings."""
    lines = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in meanings.items())
    return f'<dl class="facts">{lines}</dl>'


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    marks: dict[tuple[int, int], str] | None = None,
    caption: str = "",
    label: str = "",
    sortable: bool = True,
    tall: bool = False,
) -> str:
    """Return a table; the first cell of a row is its header. Strings are aligned left, numbers right.

    On a phone, a table whose rows have several sentences becomes a list: each row's header, then its cells with their
    titles.

    Args:
        header: Title of each column.
        rows: Cells of each row: texts, numbers or `Cell`s.
        marks: (row, column) -> class of the cell.
        caption: Caption, or "".
        label: Description for screen readers, without a caption.
        sortable: Readers may sort by any column; not for rows that depend on the row above.
        tall: Write the titles of columns vertically.
    """
    marks = marks or {}
    words = {c for row in rows for c, cell in enumerate(row) if _is_text(cell)}
    head = "".join(_header_cell(title, c in words, sortable) for c, title in enumerate(header))
    has_sentences = any(sum(_is_sentence(cell) for cell in row) > 1 for row in rows)
    titles = header if has_sentences else [""] * len(header)
    kinds = " ".join(["tall"] * tall + ["words"] * has_sentences)
    classes = f' class="{kinds}"' if kinds else ""
    lines = []
    for r, row in enumerate(rows):
        cells = "".join(
            _table_cell(cell, marks.get((r, c), ""), title, first=c == 0)
            for c, (cell, title) in enumerate(zip(row, titles, strict=True))
        )
        lines.append(f"<tr>{cells}</tr>")
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    description = html.escape(label or caption or ", ".join(header))
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{description}"><table{classes}>{above}'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _header_cell(title: str, words: bool, sortable: bool) -> str:
    label = " class=text" if words else ""
    if not sortable:
        return f"<th scope=col{label}>{html.escape(title)}</th>"
    return f'<th scope=col{label} aria-sort="none"><button type="button">{html.escape(title)}</button></th>'


def _table_cell(cell: object, mark: str, title: str, first: bool) -> str:
    text = _cell_text(cell)
    key = f' data-key="{html.escape(str(cell.key))}"' if isinstance(cell, Cell) and cell.key is not None else ""
    classes = [mark, cell.mark if isinstance(cell, Cell) else "", "text" if _is_text(cell) else ""]
    if _is_sentence(cell):
        classes.append("sentence")
    label = " ".join(filter(None, classes))
    label = f' class="{label}"' if label else ""
    tag, scope = ("th", " scope=row") if first else ("td", f' data-title="{html.escape(title)}"' * bool(title))
    below = f"<small>{html.escape(cell.small)}</small>" if isinstance(cell, Cell) and cell.small else ""
    return f"<{tag}{scope}{label}{key}>{html.escape(text)}{below}</{tag}>"


def _cell_text(cell: object) -> str:
    return cell.text if isinstance(cell, Cell) else str(cell)


def _is_sentence(cell: object) -> bool:
    """Return whether a cell is so long that it is wrapped."""
    return len(_cell_text(cell)) > 32


#: A number, optionally followed by a unit, an interval or another number; "6x3" is a name.
_NUMBER = re.compile(r"[-+≥±]?\s?\d[\d.,]*(e[-+]?\d+)?(?=$|[\s:×%±])")


def _is_text(cell: object) -> bool:
    """Return whether a cell is aligned left: a non-empty string other than a number or a mark of a missing value."""
    if isinstance(cell, Cell):
        return not isinstance(cell.key, (int, float)) and _is_text(cell.text)
    return isinstance(cell, str) and cell not in ("", "–") and (_is_sentence(cell) or not _NUMBER.match(cell))


def picture(svg: str, caption: str) -> str:
    """Return an inline SVG (from `plots.svg`) with its caption; it scrolls separately on narrow screens."""
    scrolling = f'<div class="scroll">{svg[svg.index("<svg") :]}</div>'
    return f"<figure>{scrolling}<figcaption>{html.escape(caption)}</figcaption></figure>"


def panels(svgs: Sequence[str], caption: str, legend: Mapping[str, str] | None = None, *, wide: bool = False) -> str:
    """Return pictures beside or below one another, as the screen allows.

    Args:
        svgs: SVG elements.
        caption: Caption of the figure.
        legend: Name -> sample of its line (an SVG).
        wide: Use wide panels.
    """
    panel_elements = "".join(f"<div>{svg}</div>" for svg in svgs)
    names = "".join(
        f'<li><button type="button" aria-pressed="false" data-name="{html.escape(name)}">{sample}{html.escape(name)}'
        "</button></li>"
        for name, sample in (legend or {}).items()
    )
    below = f'<ul class="legend">{names}</ul>' if names else ""
    return (
        f'<figure><div class="panels{" wide" * wide}">{panel_elements}</div>{below}'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def collapsible_sections(title: str, sections: Sequence[str]) -> str:
    """Return sections in a closed block with a title."""
    return f'<details class="more"><summary>{html.escape(title)}</summary>{"".join(sections)}</details>'


def page(title: str, sections: Sequence[str], *, summary: str) -> str:
    """Return the complete document: a summary table on the first screen, the contents, then the sections."""
    numbers = itertools.count(1)
    headings: list[tuple[int, str, str]] = []

    def number_heading(match: re.Match[str]) -> str:
        anchor = f"s{next(numbers)}"
        headings.append((int(match[1]), anchor, match[2]))
        return f'<h{match[1]} id="{anchor}">{match[2]}</h{match[1]}>'

    body = re.sub(r"<h([23])>(.*?)</h\1>", number_heading, "".join(sections))
    name = html.escape(title)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{name}</title><style>{theme.style_sheet()}</style></head>'
        f'<body><button type="button" class="theme" aria-label="Light or dark colours">Dark</button><h1>{name}</h1>'
        f'<section class="summary" aria-label="Summary">{summary}</section>{_contents(headings)}<main>{body}</main>'
        f"<script>{theme.page_script()}</script></body></html>\n"
    )


def _contents(headings: Sequence[tuple[int, str, str]]) -> str:
    """Return the table of contents with sub-sections."""
    if len(headings) < 2:
        return ""
    lines: list[tuple[str, list[str]]] = []
    for level, anchor, title in headings:
        link = f'<a href="#{anchor}">{title}</a>'
        if level == 2 or not lines:
            lines.append((link, []))
        else:
            lines[-1][1].append(f"<li>{link}</li>")
    items = "".join(
        f"<li>{link}{'<ul>' * bool(parts)}{''.join(parts)}{'</ul>' * bool(parts)}</li>" for link, parts in lines
    )
    return f'<nav aria-label="Contents"><details open><summary>Contents</summary><ol>{items}</ol></details></nav>'
