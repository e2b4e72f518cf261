"""`mlsched bench SUITE`: a suite of instances x answerers, as a verified gap table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import ChecksFailed, Json, emit, only_documents, progress, say, to_write

if TYPE_CHECKING:
    from mlsched.benchmark.row import Row


def bench(
    suite: Annotated[str, typer.Argument(help="Suite (`mlsched list suites`), folder of instances, or .toml file.")],
    solver: Annotated[list[str] | None, typer.Option(help="Only these answerers, e.g. fitgpp:s=8.")] = None,
    store: Annotated[Path | None, to_write(text="SQLite file that keeps every row as it is done.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take finished rows from the store.")] = False,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler whose workers do the work.")] = None,
    html: Annotated[Path | None, to_write(text="Self-contained HTML report to write.", folders=True)] = None,
    isolate: Annotated[
        bool, typer.Option("--isolate/--no-isolate", help="Ask answerers of other packages in processes of their own.")
    ] = True,
    confirm: Annotated[
        bool, typer.Option("--confirm/--no-confirm", help="Ask a second engine where the suite asks one alone.")
    ] = True,
    reference: Annotated[
        bool, typer.Option("--reference/--no-reference", help="Ask an exact answerer too where --solver names none.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Answer a suite of instances with every solver and compare them on the gap to the proven optimum."""
    from mlsched.benchmark.reference import failures
    from mlsched.benchmark.runner import Interrupted, run_suite

    try:
        with progress(suite, 1.0) as update, only_documents():
            rows = run_suite(
                suite,
                solvers=solver,
                store=store,
                resume=resume,
                workers=workers,
                isolate=isolate,
                confirm=confirm,
                reference=reference,
                dask=dask,
                progress=lambda done, total: update(done / max(1, total)),
            )
    except Interrupted as stopped:
        _show(stopped.rows, as_json, html)
        raise
    _show(rows, as_json, html)
    if wrong := failures(rows):
        for sentence in wrong[1:]:
            say(sentence)
        raise ChecksFailed(f"{suite}: {wrong[0]}")


def _show(rows: list[Row], as_json: bool, html: Path | None) -> None:
    from mlsched.benchmark.table import summary_json

    if html is not None and rows:
        from mlsched.benchmark.report import write_report

        write_report(rows, html)
    emit(as_json, lambda: summary_json(rows), lambda: _tables(rows))


def _tables(rows: list[Row]) -> list[Any]:
    from mlsched.benchmark.formats import GAP_NOTE
    from mlsched.benchmark.render import gap_table
    from mlsched.benchmark.table import verified

    return [*gap_table(rows), GAP_NOTE, verified(rows).sentence] if rows else ["nothing was done"]
