"""A store for other programs, for papers and for readers.

Its rows as CSV or Parquet, its gap table as Markdown or LaTeX, its report as HTML.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlsched.benchmark.formats import GAP_NOTE, censored, count, gap, percent, with_interval
from mlsched.benchmark.row import Row, canonical
from mlsched.benchmark.table import GapLine, gap_lines
from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write
from mlsched.core.tables import write

_LATEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"})

#: What the cells of the gap table mean, below the definition of the gap.
TABLE_NOTE = (
    "n: instances that the mean and the largest gap are over, of those asked. In brackets: 95 % bootstrap interval of "
    "the mean. Times: mean of one call; ≥: a limit ended some calls, which would have taken longer."
)


def export(rows: Sequence[Row], path: Path) -> None:
    """Write the rows that `run_suite` or `reference.with_gaps` made, in the format of the suffix, atomically."""
    check_format(path)
    FORMATS[path.suffix](rows, path)


def check_format(path: Path) -> None:
    """Refuse a suffix that is no format."""
    if path.suffix not in FORMATS:
        raise InvalidInput(
            f"{path}: must end in {', '.join(FORMATS)}: rows as a table, the gap table as text, or a report"
        )


def flat(row: Row) -> dict[str, Any]:
    """A row as plain cells: what has parts as JSON text, the gap by its parts."""
    found = dataclasses.asdict(row)
    closeness = row.gap_to_optimum
    del found["gap_to_optimum"]
    for name, value in found.items():
        if isinstance(value, dict):
            found[name] = canonical(value)
    found["gap_to_optimum"] = None if closeness is None else closeness.share
    found["difference_to_optimum"] = None if closeness is None else closeness.difference
    return found


def _rows(rows: Sequence[Row], path: Path) -> None:
    """A line per row; `row` is the number by which `mlsched rerun` knows it."""
    table = [flat(row) for row in rows]
    names = [*(field.name for field in dataclasses.fields(Row)), "difference_to_optimum"]
    write({"row": list(range(1, len(table) + 1)), **{name: [row[name] for row in table] for name in names}}, path)


def _markdown(rows: Sequence[Row], path: Path) -> None:
    parts = []
    for title, header, cells in _gap_tables(rows):
        lines = [header, ["---"] * 2 + ["---:"] * (len(header) - 2), *cells]
        parts.append("\n".join([f"**{title}**", "", *(f"| {' | '.join(line)} |" for line in lines), ""]))
    with atomic_write(path) as out:
        out.write("\n".join([*parts, f"{GAP_NOTE} {TABLE_NOTE}", ""]))


def _latex(rows: Sequence[Row], path: Path) -> None:
    parts = ["% Needs \\usepackage{booktabs}. " + f"{GAP_NOTE} {TABLE_NOTE}"]
    for title, header, cells in _gap_tables(rows):
        body = [" & ".join(cell.translate(_LATEX) for cell in line) + r" \\" for line in (header, *cells)]
        columns = "ll" + "r" * (len(header) - 2)
        parts += [
            r"\begin{table}",
            rf"\caption{{{title.translate(_LATEX)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    with atomic_write(path) as out:
        out.write("\n".join(parts))


def _gap_tables(rows: Sequence[Row]) -> list[tuple[str, list[str], list[list[str]]]]:
    """One table per problem and objective: title, header, cells."""
    lines = gap_lines(rows, intervals=True)
    header = ["preset", "answerer", "n", "optimal", "mean gap [95 %]", "largest gap", "proven", "failed"]
    header += ["CPU time", "wall time"]
    titles = dict.fromkeys((line.problem, line.objective, line.unit) for line in lines)
    return [
        (f"{problem}: {objective} [{unit}]", header, [_cells(x) for x in lines if (x.problem, x.objective) == key])
        for problem, objective, unit in titles
        for key in [(problem, objective)]
    ]


def _cells(line: GapLine) -> list[str]:
    gaps = line.gaps
    return [
        line.preset,
        line.answerer,
        line.covered,
        percent(gaps.optimal),
        with_interval(gaps.mean, line.interval),
        gap(gaps.largest),
        "" if line.proven is None else percent(line.proven),
        count(line.failures),
        censored(line.cpu_seconds, line.censored),
        censored(line.seconds, line.censored),
    ]


def _report(rows: Sequence[Row], path: Path) -> None:
    from mlsched.benchmark.report import write_report

    write_report(rows, path)


FORMATS: Mapping[str, Callable[[Sequence[Row], Path], None]] = {
    ".csv": _rows,
    ".parquet": _rows,
    ".md": _markdown,
    ".tex": _latex,
    ".html": _report,
}
