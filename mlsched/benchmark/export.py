"""Export of a store for other programs, papers and readers.

Formats: rows as CSV or Parquet, the gap table as Markdown or LaTeX, the report as HTML, mean gaps as BibTeX, and
figures as PDF, SVG or PNG.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mlsched.benchmark import plots
from mlsched.benchmark.citation import write_bibtex
from mlsched.benchmark.formats import (
    GAP_NOTE,
    apart_notes,
    apart_text,
    censored_duration,
    count_or_blank,
    gap,
    percent,
    with_interval,
)
from mlsched.benchmark.row import Row, canonical_json
from mlsched.benchmark.table import GapLine, gap_lines
from mlsched.benchmark.text_table import PREAMBLE, TextTable, to_latex, to_markdown
from mlsched.core.errors import InvalidInput, did_you_mean, shorten
from mlsched.core.files import atomic_write
from mlsched.core.tables import write

#: Meaning of the cells of the gap table, after that of the gap.
TABLE_NOTE = (
    "n: instances that the mean and the largest gap are over, of those asked. In brackets: 95 % bootstrap interval of "
    "the mean. Times: mean of one call; ≥: a limit ended some calls, which would have taken longer."
)


def export(rows: Sequence[Row], path: Path, *, columns: Sequence[str] = (), figure: str | None = None) -> None:
    """Write rows from `run_suite` or `reference.with_gaps` in the format of the suffix, atomically.

    Args:
        rows: Rows of one store.
        path: Target: .csv and .parquet for the rows, .md and .tex for the gap table, .html for the report, .bib for one
            citation per mean gap, .pdf, .svg and .png for a figure.
        columns: Titles of the gap table's columns; "all" for every column. By default solver, n, optimal and mean gap,
            with counts of instances outside the means.
        figure: "gaps" for the distribution of the gaps (default), "profile" for performance profiles by value.

    Raises:
        InvalidInput: Rows are missing, the suffix is unknown, or an option does not belong to it.
    """
    check_format(path, columns=columns, figure=figure)
    if not rows:
        raise InvalidInput(f"{path}: without rows to write; give a store or a suite that has some")
    if path.suffix in PICTURES:
        from mlsched.benchmark.gap_figures import gap_figure

        gap_figure(rows, path, "profile" if figure == "profile" else "gaps")
    elif path.suffix in TABLES:
        _write_tables(rows, path, columns)
    else:
        FORMATS[path.suffix](rows, path)


def check_format(path: Path, *, columns: Sequence[str] = (), figure: str | None = None) -> None:
    """Raise InvalidInput for an unknown suffix, or options that do not belong to it."""
    suffixes = [*FORMATS, *TABLES, *PICTURES]
    if path.suffix not in suffixes:
        raise InvalidInput(f"{path}: ends in '{path.suffix}', expected {', '.join(suffixes)}")
    if columns and path.suffix not in TABLES:
        raise InvalidInput(f"--columns: {path.name} is not a table; leave it out, or write a .tex or .md")
    if figure is not None and path.suffix not in PICTURES:
        raise InvalidInput(f"--figure: {path.name} is not a picture; leave it out, or write a .pdf or .svg")
    if figure is not None and figure not in ("gaps", "profile"):
        raise InvalidInput(f"--figure: {shorten(figure)}, expected gaps or profile")
    _selected_columns(columns)
    if path.suffix in PICTURES:
        plots.check_target(path)


#: Cell of a flat table.
Cell = bool | int | float | str | None


def flat_row(row: Row) -> dict[str, Cell]:
    """Return a row as plain cells: nested values as JSON text, the gap by its parts.

    `value` and `bound` are the objective's own, and `count` is the primary count of the value. The `sort_` columns
    order plans.
    """
    cells = dataclasses.asdict(row)
    closeness = row.gap_to_optimum
    del cells["gap_to_optimum"]
    for name, value in cells.items():
        if isinstance(value, dict):
            cells[name] = canonical_json(value)
    for name, source in (("value", "sort_key"), ("bound", "sort_bound")):
        exact = cells[source]
        cells[name] = exact if row.primary is None or exact is None else row.primary.split(exact)[1]
    cells["count"] = None if row.primary is None or row.sort_key is None else row.primary.split(row.sort_key)[0]
    cells["gap_to_optimum"] = None if closeness is None else closeness.share
    cells["difference_to_optimum"] = None if closeness is None else closeness.difference
    return cells


def _write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write one line per row; `row` is the number that `mlsched rerun` accepts."""
    table = [flat_row(row) for row in rows]
    columns = {name: [row[name] for row in table] for name in table[0]} if table else {}
    write({"row": list(range(1, len(table) + 1)), **columns}, path)


def _write_tables(rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    """Write one table per problem and objective."""
    lines = gap_lines(rows, intervals=True)
    keys = dict.fromkeys((line.problem, line.objective) for line in lines)
    tables = [gap_table([line for line in lines if (line.problem, line.objective) == key], columns) for key in keys]
    note = f"{GAP_NOTE} {TABLE_NOTE}"
    parts = (
        [*map(to_markdown, tables), note, ""]
        if path.suffix == ".md"
        else [PREAMBLE, f"% {note}", *map(to_latex, tables)]
    )
    with atomic_write(path) as out:
        out.write("\n".join(parts))


def gap_table(lines: Sequence[GapLine], columns: Sequence[str] = ()) -> TextTable:
    """Return the gap table of one problem and objective.

    In a table without a column of presets, each of several presets becomes a heading.
    """
    visible = [column for column in _selected_columns(columns) if not column.optional or any(map(column.cell, lines))]
    titles = [column.title for column in visible]
    presets = list(dict.fromkeys(line.preset for line in lines))
    rows = []
    for preset in presets:
        if len(presets) > 1 and "preset" not in titles:
            rows.append([preset])
        rows += [[column.cell(line) for column in visible] for line in lines if line.preset == preset]
    first = lines[0]
    where = f", {first.preset}" if len(presets) == 1 and "preset" not in titles else ""
    left = next((at for at, title in enumerate(titles) if title not in ("preset", "solver")), len(titles))
    return TextTable(
        f"{first.problem}{where}: {first.objective} [{first.unit}]",
        [column.heading or column.title for column in visible],
        rows,
        tuple(apart_notes(line.gaps for line in lines)),
        f"{first.problem} {first.objective}",
        max(1, left),
    )


@dataclasses.dataclass(frozen=True)
class _Column:
    """Column of the gap table.

    Attributes:
        title: Title by which users select it.
        cell: Returns the cell of a line.
        compact: Whether it is in the default table.
        optional: Whether it is omitted if every cell is empty.
        heading: Title in the table, if that is longer.
    """

    title: str
    cell: Callable[[GapLine], str]
    compact: bool = False
    optional: bool = False
    heading: str = ""


def _mean_gap(line: GapLine) -> str:
    """Return the mean and its interval in percent: "12.0 [8.1, 16.2]"."""
    return with_interval(line.gaps.mean, line.interval).replace(" %", "")


_COLUMNS = (
    _Column("preset", lambda line: line.preset),
    _Column("solver", lambda line: line.solver, compact=True),
    _Column("n", lambda line: line.covered, compact=True),
    _Column("optimal", lambda line: percent(line.gaps.optimal), compact=True),
    _Column("mean gap", _mean_gap, compact=True, heading="mean gap, % [95 %]"),
    _Column("median gap", lambda line: gap(line.gaps.median).replace(" %", ""), heading="median gap, %"),
    _Column("largest gap", lambda line: gap(line.gaps.largest).replace(" %", ""), heading="largest gap, %"),
    _Column("optimum 0", lambda line: apart_text(line.gaps.absolute, line.gaps.mean_difference), True, True),
    _Column("behind", lambda line: apart_text(line.gaps.behind, line.gaps.mean_behind), True, True),
    _Column("no plan", lambda line: count_or_blank(line.unsolved), True, True),
    _Column("proven", lambda line: "" if line.proven is None else percent(line.proven)),
    _Column("failed", lambda line: count_or_blank(line.failures), True, True),
    _Column("skipped", lambda line: count_or_blank(line.skipped), True, True),
    _Column("CPU time", lambda line: censored_duration(line.cpu_seconds, line.censored)),
    _Column("wall time", lambda line: censored_duration(line.seconds, line.censored)),
)


def _selected_columns(titles: Sequence[str]) -> list[_Column]:
    """Return the columns of these titles in order; by default the compact ones, for "all" every column."""
    if not titles:
        return [column for column in _COLUMNS if column.compact]
    if list(titles) == ["all"]:
        return list(_COLUMNS)
    columns_by_title = {column.title.lower(): dataclasses.replace(column, optional=False) for column in _COLUMNS}
    for title in titles:
        if title.lower() not in columns_by_title:
            raise InvalidInput(
                f"--columns {shorten(title)}{did_you_mean(title, columns_by_title)}: there are all, "
                f"{', '.join(columns_by_title)}"
            )
        if titles.count(title) > 1:
            raise InvalidInput(f"--columns {shorten(title)}: is given twice; leave one out")
    return [columns_by_title[title.lower()] for title in titles]


def _write_report(rows: Sequence[Row], path: Path) -> None:
    from mlsched.benchmark.report import write_report

    write_report(rows, path)


FORMATS: Mapping[str, Callable[[Sequence[Row], Path], None]] = {
    ".csv": _write_rows,
    ".parquet": _write_rows,
    ".html": _write_report,
    ".bib": write_bibtex,
}
TABLES = (".md", ".tex")
PICTURES = (".pdf", ".svg", ".png")
