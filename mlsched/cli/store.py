"""Commands for stores of benchmarks: `mlsched export`, `compare`, `merge`, `rerun`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import ChecksFailed, Json, emit, number, table, to_write
from mlsched.core.brief import count_of

if TYPE_CHECKING:
    from mlsched.benchmark.compare import Comparison
    from mlsched.benchmark.export import Cell
    from mlsched.benchmark.merge import MergeSummary
    from mlsched.benchmark.row import Row
    from mlsched.cli.output import Columns

StoreFile = Annotated[
    Path, typer.Argument(help="Read the store from this file, e.g. bench.sqlite, written by `mlsched bench --store`.")
]
#: Meaning of a comparison's columns.
NOTE = (
    "difference: gap of the second to the optimum - gap of the first, in percentage points, if every pair has both; "
    "else (second - first) / the larger of the two sizes, in percent. Mean over the pairs; below 0 the second is "
    "better. apart: pairs that the primary criterion decides, in no mean. time: CPU seconds of the second / those of "
    "the first, geometric mean; cut: pairs in which a limit ended a search, in no mean. In brackets: intervals by "
    "subset means that hold together for all {comparisons} with 95 % confidence. A verdict is given if the interval "
    "leaves out 0."
)


def export(
    store: StoreFile,
    output: Annotated[
        Path,
        to_write(
            "-o",
            "--output",
            text="Write rows (e.g. rows.csv, .parquet), the gap table (.md, .tex), the report (.html), citations "
            "(.bib) or a figure (.pdf, .svg, .png).",
        ),
    ],
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="TITLE,...",
            help='Choose columns of the gap table, e.g. "solver,mean gap", or all. Default: a compact table.',
        ),
    ] = None,
    figure: Annotated[str | None, typer.Option(help="Choose the figure, e.g. profile, or gaps. Default: gaps.")] = None,
    suite: Annotated[
        str | None, typer.Option(help="Restrict the export to a suite, e.g. quick. Default: all rows.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the rows, gap table, report or figure of a store."""
    from mlsched.benchmark.export import check_format
    from mlsched.benchmark.export import export as write
    from mlsched.benchmark.reference import fill_gaps
    from mlsched.benchmark.store import Store, read_rows
    from mlsched.core.errors import InvalidInput, UnknownName

    titles = [title.strip() for title in columns.split(",")] if columns is not None else []
    check_format(output, columns=titles, figure=figure)
    rows = read_rows(store, suite)
    if not rows:
        with Store(store) as stored:
            suites = stored.suites()
        if not suites:
            raise InvalidInput(f"{store}: has no rows to export; `mlsched merge` joins it with others")
        raise UnknownName(f"--suite: '{suite}', expected a suite of {store}: {', '.join(suites)}")
    fill_gaps(rows)
    write(rows, output, columns=titles, figure=figure)
    emit(as_json, lambda: {"file": str(output), "rows": len(rows)}, list)


def compare(
    first: Annotated[
        Path,
        typer.Argument(help="Read the first store (e.g. old.sqlite) or runs of `mlsched simulate -o` (e.g. old.json)."),
    ],
    second: Annotated[Path, typer.Argument(help="Read the second file of the same kind, e.g. new.sqlite.")],
    solver: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare this solver, e.g. cp-sat, or A=B: A of the first store, B of the second (repeatable). "
            "Default: all solvers."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two stores or two files of runs, solver by solver."""
    from mlsched.benchmark.compare import compare_rows
    from mlsched.benchmark.store import read_rows
    from mlsched.cli import compare_runs
    from mlsched.core.errors import InvalidInput

    if compare_runs.is_runs(first) or compare_runs.is_runs(second):
        if solver:
            raise InvalidInput("--solver: is for stores of benchmarks; runs are compared policy by policy")
        comparison = compare_runs.compare_files(first, second)
        emit(as_json, comparison.to_json, lambda: compare_runs.comparison_lines(comparison))
        return

    lines = compare_rows(read_rows(first), read_rows(second), solver)
    emit(as_json, lambda: {"comparisons": [dataclasses.asdict(line) for line in lines]}, lambda: _tables(lines))


def _tables(lines: list[Comparison]) -> list[Any]:
    header = ["solver", "verdict", "pairs", "better", "worse", "difference", "time", "only one"]
    titles = dict.fromkeys((line.problem, line.objective) for line in lines)
    tables: list[Any] = []
    for problem, objective in titles:
        own = [line for line in lines if (line.problem, line.objective) == (problem, objective)]
        tables.append(table(f"{problem}: {objective}", header, [_comparison_row(line) for line in own]))
    return [*tables, NOTE.format(comparisons=count_of(lines[0].comparisons, "comparison"))]


def _comparison_row(line: Comparison) -> list[str]:
    from mlsched.benchmark.formats import difference_texts, interval_text

    name = line.first if line.first == line.second else f"{line.first} -> {line.second}"
    only = [f"{count} {which}" for count, which in ((line.only_first, "first"), (line.only_second, "second")) if count]
    time = "-" if line.time is None else f"{line.time:.3g} {interval_text(line.time_interval, '{:.3g}'.format)}".strip()
    return [
        name,
        line.verdict,
        str(line.pairs),
        str(line.better),
        str(line.worse),
        (" ".join(filter(None, difference_texts(line))) or "-") + (f", {line.apart} apart" if line.apart else ""),
        time + (f", {line.cut} cut" if line.cut else ""),
        ", ".join(only),
    ]


def merge(
    stores: Annotated[list[Path], typer.Argument(help="Read stores of one suite, e.g. shard-1.sqlite shard-2.sqlite.")],
    output: Annotated[
        Path,
        to_write(
            "-o",
            "--output",
            text="Write the joined store to this file, e.g. all.sqlite; an existing one is extended.",
            folders=True,
        ),
    ],
    any_versions: Annotated[
        bool, typer.Option("--any-versions", help="Accept rows that different versions computed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Join the stores of a suite's parts; exit with status 1 if rows are missing."""
    from mlsched.benchmark.merge import merge as united

    merged = united(stores, output, any_versions=any_versions)
    repetition_note = f"; {merged.repeated} were in more than one store" if merged.repeated else ""
    sentence = f"{output}: {merged.rows} of {count_of(merged.total, 'row')} of suite {merged.suite}{repetition_note}"
    emit(as_json, lambda: {**dataclasses.asdict(merged), "complete": merged.complete}, lambda: [sentence])
    lacking = merged.total - merged.rows
    if not merged.complete:
        raise ChecksFailed(
            f"{output}: {count_of(lacking, 'row')} {'is' if lacking == 1 else 'are'} missing: {_missing_rows(merged)}"
        )


def _missing_rows(merged: MergeSummary) -> str:
    """Return why rows are missing, with a remedy."""
    reasons = []
    if merged.absent:
        shards = ", ".join(f"{number}/{count}" for number, count in merged.absent[:8])
        rest = f" and {len(merged.absent) - 8} more" if len(merged.absent) > 8 else ""
        reasons.append(f"no store has shard {shards}{rest}")
    if merged.unfinished:
        reasons.append(f"{', '.join(merged.unfinished[:4])} did not finish: repeat the call with --resume")
    return "; ".join(reasons) or "mlsched bench --resume with the merged store computes them"


def rerun(
    store: StoreFile,
    row: Annotated[
        int, typer.Argument(help="Choose the row by its number, e.g. 12; the exported table has it as `row`.", min=1)
    ],
    isolate: Annotated[
        bool, typer.Option("--isolate/--no-isolate", help="Run solvers of other packages in separate processes.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Compute one row of a store again, and compare the results."""
    from mlsched.benchmark.rerun import differences
    from mlsched.benchmark.rerun import rerun as again
    from mlsched.benchmark.store import read_rows
    from mlsched.core.errors import InvalidInput

    rows = read_rows(store)
    if row > len(rows):
        raise InvalidInput(f"{store}: row {row}, expected at most {len(rows)}")
    before = rows[row - 1]
    after = again(before, isolate)
    differing = differences(before, after)
    document = {"then": _flat_row(before), "now": _flat_row(after), "differences": differing}
    emit(as_json, lambda: document, lambda: [f"{before.place}, {before.solver}", _table_of_both(before, after)])
    if differing:
        raise ChecksFailed(f"row {row} came out otherwise: {'; '.join(differing)}")


def _flat_row(row: Row) -> dict[str, Cell]:
    from mlsched.benchmark.export import flat_row

    return flat_row(row)


def _table_of_both(before: Row, after: Row) -> Columns:
    rows = [["status", before.status, after.status]]
    for name in ("sort_key", "sort_bound", "seconds", "cpu_seconds", "peak_mib"):
        rows.append([name, number(getattr(before, name)), number(getattr(after, name))])
    return table("", ["", "then", "now"], rows)
