"""A table of texts, for the terminal (`cli/output.py`), Markdown, LaTeX and HTML (`benchmark/html.py`)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from mlsched.benchmark.formats import latex_text
from mlsched.core import foreign

#: Columns from which on a table in LaTeX is made smaller if it is wider than the text.
WIDE = 6
PREAMBLE = r"% Needs \usepackage{booktabs,graphicx} in the preamble."


@dataclasses.dataclass(frozen=True)
class TextTable:
    """Table of texts.

    Attributes:
        title: Caption; may be empty.
        header: Title of each column.
        rows: Cells of each row, or one cell as the heading of the rows below it.
        notes: Sentences below the table.
        name: Name of the table in JSON documents and, in LaTeX, of its label.
        left: Number of columns with text, from the first; the others have numbers.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: tuple[str, ...] = ()
    name: str = ""
    left: int = 1

    @property
    def label(self) -> str:
        """The name in letters, digits and hyphens: "total-jct-small"."""
        return re.sub(r"[^a-z0-9]+", "-", (self.name or self.title).lower()).strip("-")


def to_markdown(table: TextTable) -> str:
    """Return the table as Markdown."""
    align = ["---"] * table.left + ["---:"] * (len(table.header) - table.left)
    lines = [f"**{foreign.markdown_cell(table.title)}**", ""] if table.title else []
    lines += [_markdown_row(map(foreign.markdown_cell, table.header)), _markdown_row(align)]
    for row in table.rows:
        cells = [foreign.markdown_cell(cell) for cell in row]
        heading = [f"*{cells[0]}*", *[""] * (len(table.header) - 1)]
        lines.append(_markdown_row(heading if _is_heading(table, row) else cells))
    for note in table.notes:
        lines += ["", note]
    return "\n".join([*lines, ""])


def to_latex(table: TextTable) -> str:
    """Return the table as a LaTeX float in the style of booktabs, with a caption and a label."""
    align = "l" * table.left + "r" * (len(table.header) - table.left)
    fit = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%" if len(table.header) >= WIDE else ""
    lines = [r"\begin{table}", r"\centering", r"\footnotesize\setlength{\tabcolsep}{4pt}"]
    caption = latex_text(table.title or table.name).replace(r"\_", r"\_\allowbreak ")
    lines += [rf"\caption{{{caption}}}", rf"\label{{tab:{table.label}}}"]
    lines += [*filter(None, [fit]), rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}", r"\toprule"]
    lines += [_latex_row(table.header), r"\midrule"]
    for at, row in enumerate(table.rows):
        if _is_heading(table, row):
            space = r"\addlinespace" if at else ""
            lines.append(rf"{space}\multicolumn{{{len(table.header)}}}{{@{{}}l}}{{\emph{{{latex_text(row[0])}}}}} \\")
        else:
            lines.append(_latex_row(row))
    lines += [r"\bottomrule", r"\end{tabular}" + "}" * bool(fit)]
    if table.notes:
        lines.append(r"\par\medskip\raggedright")
    lines += [rf"{latex_text(note)}\par" for note in table.notes]
    return "\n".join([*lines, r"\end{table}", ""])


def _is_heading(table: TextTable, row: Sequence[str]) -> bool:
    return len(row) == 1 < len(table.header)


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_row(cells: Sequence[str]) -> str:
    line = " & ".join(map(latex_text, cells)) + r" \\"
    return f"{{}}{line}" if line.startswith(("[", "*")) else line  # both have a meaning after the end of a row
