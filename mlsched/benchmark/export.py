"""A store for other programs, for papers and for readers.

Its rows as CSV or Parquet, its gap table as Markdown or LaTeX, its report as HTML, its gaps as BibTeX.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlsched.benchmark.citation import write_bibtex
from mlsched.benchmark.formats import GAP_NOTE, LATEX, apart, apart_notes, censored, count, gap, percent, with_interval
from mlsched.benchmark.row import Row, canonical
from mlsched.benchmark.table import GapLine, gap_lines
from mlsched.core import foreign
from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write
from mlsched.core.tables import write

#: What the cells of the gap table mean, below the definition of the gap.
TABLE_NOTE = (
    "n: instances that the mean and the largest gap are over, of those asked. In brackets: 95 % bootstrap interval of "
    "the mean. Times: mean of one call; ≥: a limit ended some calls, which would have taken longer."
)


def export(rows: Sequence[Row], path: Path) -> None:
    """Write the rows that `run_suite` or `reference.with_gaps` made, in the format of the suffix, atomically."""
    check_format(path)
    if not rows:
        raise InvalidInput(f"{path}: there are no rows to write; give a store or a suite that has some")
    FORMATS[path.suffix](rows, path)


def check_format(path: Path) -> None:
    """Refuse a suffix that is no format."""
    if path.suffix not in FORMATS:
        raise InvalidInput(f"{path}: must end in {', '.join(FORMATS)}: rows, the gap table, a report, or gaps to cite")


def flat(row: Row) -> dict[str, Any]:
    """A row as plain cells: what has parts as JSON text, the gap by its parts.

    value and bound are the objective's own, and `count` says of how much of what is compared before them (`rank`) the
    value is; those that order plans are the compared_ ones.
    """
    found = dataclasses.asdict(row)
    closeness = row.gap_to_optimum
    del found["gap_to_optimum"]
    for name, value in found.items():
        if isinstance(value, dict):
            found[name] = canonical(value)
    for name, kept in (("value", "sort_key"), ("bound", "sort_bound")):
        exact = found[kept]
        found[name] = exact if row.primary is None or exact is None else row.primary.split(exact)[1]
    found["count"] = None if row.primary is None or row.sort_key is None else row.primary.split(row.sort_key)[0]
    found["gap_to_optimum"] = None if closeness is None else closeness.share
    found["difference_to_optimum"] = None if closeness is None else closeness.difference
    return found


def _rows(rows: Sequence[Row], path: Path) -> None:
    """A line per row; `row` is the number by which `mlsched rerun` knows it."""
    table = [flat(row) for row in rows]
    columns = {name: [row[name] for row in table] for name in table[0]} if table else {}
    write({"row": list(range(1, len(table) + 1)), **columns}, path)


@dataclasses.dataclass(frozen=True)
class _Table:
    """The gap table of a problem and objective: cells as text, and what must be known of gaps that are in no mean."""

    title: str
    header: list[str]
    cells: list[list[str]]
    notes: list[str]


def _markdown(rows: Sequence[Row], path: Path) -> None:
    parts = []
    for made in _gap_tables(rows):
        cells = [[foreign.markdown(cell) for cell in line] for line in made.cells]
        lines = [made.header, ["---"] * 2 + ["---:"] * (len(made.header) - 2), *cells]
        notes = [f"{note}\n" for note in made.notes]
        parts.append(
            "\n".join(
                [f"**{foreign.markdown(made.title)}**", "", *(f"| {' | '.join(line)} |" for line in lines), "", *notes]
            )
        )
    with atomic_write(path) as out:
        out.write("\n".join([*parts, f"{GAP_NOTE} {TABLE_NOTE}", ""]))


def _latex(rows: Sequence[Row], path: Path) -> None:
    parts = ["% Needs \\usepackage{booktabs}. " + f"{GAP_NOTE} {TABLE_NOTE}"]
    for made in _gap_tables(rows):
        body = [" & ".join(cell.translate(LATEX) for cell in line) + r" \\" for line in (made.header, *made.cells)]
        columns = "ll" + "r" * (len(made.header) - 2)
        parts += [
            r"\begin{table}",
            rf"\caption{{{made.title.translate(LATEX)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {note.translate(LATEX)}" for note in made.notes),
            r"\end{table}",
            "",
        ]
    with atomic_write(path) as out:
        out.write("\n".join(parts))


def _gap_tables(rows: Sequence[Row]) -> list[_Table]:
    """One table per problem and objective."""
    lines = gap_lines(rows, intervals=True)
    keys = dict.fromkeys((line.problem, line.objective) for line in lines)
    return [_gap_table([line for line in lines if (line.problem, line.objective) == key]) for key in keys]


#: Title of a column, what it says of a line, and whether it is left out where it says nothing of any line.
_COLUMNS: tuple[tuple[str, Callable[[GapLine], str], bool], ...] = (
    ("preset", lambda line: line.preset, False),
    ("solver", lambda line: line.solver, False),
    ("n", lambda line: line.covered, False),
    ("optimal", lambda line: percent(line.gaps.optimal), False),
    ("mean gap [95 %]", lambda line: with_interval(line.gaps.mean, line.interval), False),
    ("largest gap", lambda line: gap(line.gaps.largest), False),
    ("optimum 0", lambda line: apart(line.gaps.absolute, line.gaps.mean_difference), True),
    ("behind", lambda line: apart(line.gaps.behind, line.gaps.mean_behind), True),
    ("no plan", lambda line: count(line.unsolved), True),
    ("proven", lambda line: "" if line.proven is None else percent(line.proven), False),
    ("failed", lambda line: count(line.failures), False),
    ("skipped", lambda line: count(line.skipped), True),
    ("CPU time", lambda line: censored(line.cpu_seconds, line.censored), False),
    ("wall time", lambda line: censored(line.seconds, line.censored), False),
)


def _gap_table(lines: Sequence[GapLine]) -> _Table:
    columns = [(title, [cell(line) for line in lines], optional) for title, cell, optional in _COLUMNS]
    shown = [(title, cells) for title, cells, optional in columns if not optional or any(cells)]
    first = lines[0]
    return _Table(
        f"{first.problem}: {first.objective} [{first.unit}]",
        [title for title, _ in shown],
        [list(row) for row in zip(*(cells for _, cells in shown), strict=True)],
        apart_notes(line.gaps for line in lines),
    )


def _report(rows: Sequence[Row], path: Path) -> None:
    from mlsched.benchmark.report import write_report

    write_report(rows, path)


FORMATS: Mapping[str, Callable[[Sequence[Row], Path], None]] = {
    ".csv": _rows,
    ".parquet": _rows,
    ".md": _markdown,
    ".tex": _latex,
    ".html": _report,
    ".bib": write_bibtex,
}
