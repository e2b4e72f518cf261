"""A store for other programs, for papers and for readers.

Its rows as CSV or Parquet, its gap table as Markdown or LaTeX, its report as HTML, its mean gaps as BibTeX, and figures
as PDF, SVG or PNG.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlsched.benchmark import plots
from mlsched.benchmark.citation import write_bibtex
from mlsched.benchmark.formats import GAP_NOTE, apart, apart_notes, censored, count, gap, percent, with_interval
from mlsched.benchmark.row import Row, canonical
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
    """Write the rows that `run_suite` or `reference.with_gaps` made, in the format of the suffix, atomically.

    Args:
        rows: of one store.
        path: .csv and .parquet have the rows, .md and .tex the gap table, .html the report, .bib an entry to cite each
            mean gap by, .pdf, .svg and .png a figure.
        columns: of the gap table, by their titles; "all" for every one. By default solver, n, optimal and mean gap,
            with what is in no mean.
        figure: "gaps" for the distribution of the gaps (default), "profile" for performance profiles by value.

    Raises:
        InvalidInput: There are no rows, the suffix is unknown, or an option does not belong to it.
    """
    check_format(path, columns=columns, figure=figure)
    if not rows:
        raise InvalidInput(f"{path}: there are no rows to write; give a store or a suite that has some")
    if path.suffix in PICTURES:
        from mlsched.benchmark.gap_figures import gap_figure

        gap_figure(rows, path, "profile" if figure == "profile" else "gaps")
    elif path.suffix in TABLES:
        _write_tables(rows, path, columns)
    else:
        FORMATS[path.suffix](rows, path)


def check_format(path: Path, *, columns: Sequence[str] = (), figure: str | None = None) -> None:
    """Refuse an unknown suffix, and options that do not belong to it."""
    known = [*FORMATS, *TABLES, *PICTURES]
    if path.suffix not in known:
        raise InvalidInput(f"{path}: ends in '{path.suffix}', expected {', '.join(known)}")
    if columns and path.suffix not in TABLES:
        raise InvalidInput(f"--columns: {path.name} is not a table; leave it out, or write a .tex or .md")
    if figure is not None and path.suffix not in PICTURES:
        raise InvalidInput(f"--figure: {path.name} is not a picture; leave it out, or write a .pdf or .svg")
    if figure is not None and figure not in ("gaps", "profile"):
        raise InvalidInput(f"--figure: {shorten(figure)}, expected gaps or profile")
    _wanted(columns)
    if path.suffix in PICTURES:
        plots.check_target(path)


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


def _write_tables(rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    """Write a table per problem and objective."""
    lines = gap_lines(rows, intervals=True)
    keys = dict.fromkeys((line.problem, line.objective) for line in lines)
    made = [gap_table([line for line in lines if (line.problem, line.objective) == key], columns) for key in keys]
    note = f"{GAP_NOTE} {TABLE_NOTE}"
    parts = (
        [*map(to_markdown, made), note, ""] if path.suffix == ".md" else [PREAMBLE, f"% {note}", *map(to_latex, made)]
    )
    with atomic_write(path) as out:
        out.write("\n".join(parts))


def gap_table(lines: Sequence[GapLine], columns: Sequence[str] = ()) -> TextTable:
    """The gap table of one problem and objective.

    Without a column of presets, each preset of several is a heading.
    """
    shown = [column for column in _wanted(columns) if not column.optional or any(map(column.cell, lines))]
    titles = [column.title for column in shown]
    presets = list(dict.fromkeys(line.preset for line in lines))
    rows = []
    for preset in presets:
        if len(presets) > 1 and "preset" not in titles:
            rows.append([preset])
        rows += [[column.cell(line) for column in shown] for line in lines if line.preset == preset]
    first = lines[0]
    where = f", {first.preset}" if len(presets) == 1 and "preset" not in titles else ""
    left = next((at for at, title in enumerate(titles) if title not in ("preset", "solver")), len(titles))
    return TextTable(
        f"{first.problem}{where}: {first.objective} [{first.unit}]",
        [column.heading or column.title for column in shown],
        rows,
        tuple(apart_notes(line.gaps for line in lines)),
        f"{first.problem} {first.objective}",
        max(1, left),
    )


@dataclasses.dataclass(frozen=True)
class _Column:
    """A column of the gap table.

    Attributes:
        title: by which it is asked for.
        cell: what it has of a line.
        compact: whether it is of the default table.
        optional: whether it is left out if every cell is empty.
        heading: its title in the table, if that is longer.
    """

    title: str
    cell: Callable[[GapLine], str]
    compact: bool = False
    optional: bool = False
    heading: str = ""


def _mean_gap(line: GapLine) -> str:
    """The mean and its interval in percent: "12.0 [8.1, 16.2]"."""
    return with_interval(line.gaps.mean, line.interval).replace(" %", "")


_COLUMNS = (
    _Column("preset", lambda line: line.preset),
    _Column("solver", lambda line: line.solver, compact=True),
    _Column("n", lambda line: line.covered, compact=True),
    _Column("optimal", lambda line: percent(line.gaps.optimal), compact=True),
    _Column("mean gap", _mean_gap, compact=True, heading="mean gap, % [95 %]"),
    _Column("median gap", lambda line: gap(line.gaps.median).replace(" %", ""), heading="median gap, %"),
    _Column("largest gap", lambda line: gap(line.gaps.largest).replace(" %", ""), heading="largest gap, %"),
    _Column("optimum 0", lambda line: apart(line.gaps.absolute, line.gaps.mean_difference), True, True),
    _Column("behind", lambda line: apart(line.gaps.behind, line.gaps.mean_behind), True, True),
    _Column("no plan", lambda line: count(line.unsolved), True, True),
    _Column("proven", lambda line: "" if line.proven is None else percent(line.proven)),
    _Column("failed", lambda line: count(line.failures), True, True),
    _Column("skipped", lambda line: count(line.skipped), True, True),
    _Column("CPU time", lambda line: censored(line.cpu_seconds, line.censored)),
    _Column("wall time", lambda line: censored(line.seconds, line.censored)),
)


def _wanted(titles: Sequence[str]) -> list[_Column]:
    """The columns of these titles in their order; the compact ones without titles, all for "all"."""
    if not titles:
        return [column for column in _COLUMNS if column.compact]
    if list(titles) == ["all"]:
        return list(_COLUMNS)
    known = {column.title.lower(): dataclasses.replace(column, optional=False) for column in _COLUMNS}
    for title in titles:
        if title.lower() not in known:
            raise InvalidInput(
                f"--columns {shorten(title)}{did_you_mean(title, known)}: there are all, {', '.join(known)}"
            )
        if titles.count(title) > 1:
            raise InvalidInput(f"--columns {shorten(title)}: is given twice; leave one out")
    return [known[title.lower()] for title in titles]


def _report(rows: Sequence[Row], path: Path) -> None:
    from mlsched.benchmark.report import write_report

    write_report(rows, path)


FORMATS: Mapping[str, Callable[[Sequence[Row], Path], None]] = {
    ".csv": _rows,
    ".parquet": _rows,
    ".html": _report,
    ".bib": write_bibtex,
}
TABLES = (".md", ".tex")
PICTURES = (".pdf", ".svg", ".png")
