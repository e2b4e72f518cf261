"""`mlsched fields PROBLEM`: the fields of an instance, with shapes and units."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsched.cli.output import Json, complete_problem, emit, table
from mlsched.core.aliases import Data


def fields(
    problem: Annotated[
        str,
        typer.Argument(
            help="Choose the problem, e.g. preemption; see `mlsched list problems`.", autocompletion=complete_problem
        ),
    ],
    as_json: Json = False,
) -> None:
    """Print the fields of a problem's instances and plans, with shapes, ranges and units."""
    from mlsched.core.record import specs
    from mlsched.core.registry import registry

    entry = registry().problem(problem)
    kinds = [record_type for one in entry.instance_types for record_type in (one, one.plan_type)]
    document: Data = {
        kind.kind: [{"name": name, "form": spec.form(), "doc": spec.doc} for name, spec in specs(kind).items()]
        for kind in kinds
    }
    header = ["field", "shape and range", "meaning and unit"]
    emit(
        as_json,
        lambda: document,
        lambda: [
            table(kind, header, [list(row.values()) for row in rows], text=True) for kind, rows in document.items()
        ],
    )
