"""`mlsched bench SUITE`: a suite of instances x solvers, as a verified gap table."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import (
    ChecksFailed,
    HtmlReport,
    Json,
    complete_solver,
    emit,
    name_completion,
    only_documents,
    say,
    to_write,
    waiting,
)
from mlsched.core.aliases import Data

if TYPE_CHECKING:
    from mlsched.benchmark.row import Row


def bench(
    suite: Annotated[
        str,
        typer.Argument(
            help="Choose a suite, e.g. quick (`mlsched list suites`), a folder of instances, or a .toml file.",
            autocompletion=name_completion("suites"),
        ),
    ],
    solver: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this solver, e.g. fitgpp:s=8 (repeatable). Default: all solvers of the suite.",
            autocompletion=complete_solver,
        ),
    ] = None,
    store: Annotated[
        Path | None, to_write(text="Record every row in this SQLite file, e.g. bench.sqlite. Default: not recorded.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the store: compute only missing rows.")] = False,
    workers: Annotated[int, typer.Option(help="Set the number of processes, e.g. 8.", min=1)] = 1,
    dask: Annotated[
        str | None,
        typer.Option(help="Run on the workers of this Dask scheduler, e.g. tcp://host:8786. Default: on this machine."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            help="Run part I of N of the suite, e.g. 1/16; `mlsched merge` joins the stores. Default: the complete "
            "suite."
        ),
    ] = None,
    html: HtmlReport = None,
    isolate: Annotated[
        bool, typer.Option("--isolate/--no-isolate", help="Run solvers of other packages in separate processes.")
    ] = True,
    confirm: Annotated[
        bool,
        typer.Option("--confirm/--no-confirm", help="Confirm optima with a second engine if the suite uses only one."),
    ] = True,
    reference: Annotated[
        bool, typer.Option("--reference/--no-reference", help="Add an exact solver if --solver names only heuristics.")
    ] = True,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Read published instances of the suite `outside` from this folder, e.g. psplib. Default: "
            "$MLSCHED_DATA/known_optima."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a suite of instances with every solver, and compare their gaps to the proven optimum.

    Suites: `quick`, `gaps`, `exact`, `outside`, `scale`, `speed`, `collection`,
    and every problem by its name; `mlsched list suites` describes them.
    """
    from mlsched.benchmark.outside import outside
    from mlsched.benchmark.reference import failures
    from mlsched.benchmark.runner import Interrupted, run_suite
    from mlsched.benchmark.shards import shard_of
    from mlsched.core.errors import InvalidInput

    if folder is not None and suite != "outside":
        raise InvalidInput(f"--folder {folder}: belongs to the suite outside; a folder of your own is itself a suite")
    try:
        counts: Counter[str] = Counter()
        with waiting(suite, None) as tell, only_documents():
            rows = run_suite(
                suite if folder is None else outside(folder),
                solvers=solver,
                store=store,
                resume=resume,
                workers=workers,
                isolate=isolate,
                confirm=confirm,
                reference=reference,
                dask=dask,
                shard=None if shard is None else shard_of(shard),
                progress=lambda done, total: tell(", ".join([f"{done} of {total} rows", *_status_counts(counts)])),
                report=lambda rows: counts.update(row.status for row in rows),
            )
    except Interrupted as interruption:
        _write_and_emit(suite, interruption.rows, as_json, html)
        if store is not None:
            say(f"the rows so far are in {store}; the same command with --resume goes on")
        else:
            say("only these rows are kept; with --store FILE an interrupted suite can go on")
        raise
    _write_and_emit(suite, rows, as_json, html)
    if faults := failures(rows):
        for sentence in faults[1:]:
            say(sentence)
        raise ChecksFailed(f"{suite}: {faults[0]}")


def _status_counts(found: Mapping[str, int]) -> list[str]:
    """Return the number of rows by status."""
    return [f"{number} {status}" for status, number in sorted(found.items())]


def _write_and_emit(suite: str, rows: list[Row], as_json: bool, html: Path | None) -> None:
    if html is not None and rows:
        from mlsched.benchmark.report import write_report
        from mlsched.core.safe_open import target_of

        write_report(rows, target_of(html, folders=True))
    emit(as_json, lambda: _document(suite, rows), lambda: _tables(suite, rows))


def _document(suite: str, rows: list[Row]) -> Data:
    from mlsched.benchmark.cost import cost_lines
    from mlsched.benchmark.suites import COSTS
    from mlsched.benchmark.table import summary_json

    costs = {"costs": [dataclasses.asdict(line) for line in cost_lines(rows)]} if suite in COSTS else {}
    return {**summary_json(rows), **costs}


def _tables(suite: str, rows: list[Row]) -> list[Any]:
    from mlsched.benchmark.cost import COST_NOTE, cost_tables
    from mlsched.benchmark.formats import GAP_NOTE
    from mlsched.benchmark.render import gap_table
    from mlsched.benchmark.suites import COSTS
    from mlsched.benchmark.table import runs_note, verification_of

    if not rows:
        return ["there was nothing to do"]
    shown = [*cost_tables(rows), COST_NOTE] if suite in COSTS else [*gap_table(rows), *runs_note(rows), GAP_NOTE]
    return [*shown, verification_of(rows).sentence]
