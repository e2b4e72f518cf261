"""`mlsched model FILE -o m.mps`: the model of an instance, for any solver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import Json, emit, table, to_write
from mlsched.cli.solve import Goal, Read, read_instance
from mlsched.core.aliases import Data
from mlsched.core.models import MAX_VARIABLES

if TYPE_CHECKING:
    from mlsched.api.models import Model


def model(
    file: Annotated[Path, typer.Argument(help="Read the instance from this file, e.g. instance.json.")],
    objective: Goal = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="Add an objective that the model can bound, e.g. makespan (repeatable). Default: none."),
    ] = None,
    pruned: Annotated[
        bool,
        typer.Option(
            "--pruned", help="Omit plans that optima do not need; the model is smaller, but do not change it."
        ),
    ] = False,
    most_variables: Annotated[
        int, typer.Option(help="Refuse a model with more variables, e.g. 100000.", min=1)
    ] = MAX_VARIABLES,
    read: Read = None,
    output: Annotated[
        Path | None,
        to_write(
            "-o",
            "--output",
            text="Write the model to this file, e.g. model.mps or .lp; .pb or .json for CP-SAT. Default: not written.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the model of an instance for other solvers, and list its variables and constraints."""
    from mlsched import api
    from mlsched.api.models import PROTO

    instance = read_instance(file, read)
    if objective is None:
        objective = api.published_objective(file)
    exported = api.model(instance, objective, also=also or (), pruned=pruned, most_variables=most_variables)
    if output is not None:
        exported.write(output)
    native = output is not None and output.suffix in PROTO
    document = _document(exported, native)
    emit(as_json, lambda: document, lambda: _lines(document, output))


def _document(exported: Model, native: bool) -> Data:
    """Return the model as plain data; `native` selects its CP-SAT form."""
    import pyomo.environ as pyo

    if native:
        proto = exported.cp_sat.proto
        counts = len(proto.variables), len(proto.constraints)
        groups = exported.cp_sat_variables, exported.cp_sat_constraints
    else:
        components = (exported.pyomo.component_data_objects(kind) for kind in (pyo.Var, pyo.Constraint))
        variables, constraints = (sum(1 for _ in component) for component in components)
        counts, groups = (variables, constraints), (exported.variables, exported.constraints)
    return {
        "instance_hash": exported.instance.hash,
        "objective": exported.objective,
        "form": "cp-sat" if native else "linear",
        "pruned": exported.pruned,
        "left_out": exported.left_out,
        "variables": counts[0],
        "constraints": counts[1],
        "groups": [
            {"kind": kind, "name": group.name, "index": list(group.index), "doc": group.doc}
            for kind, of_kind in zip(("variables", "constraints"), groups, strict=True)
            for group in of_kind
        ],
    }


def _lines(document: Data, output: Path | None) -> list[Any]:
    where = "" if output is None else f"{output}: "
    counts = f"{document['variables']} variables, {document['constraints']} constraints"
    form = "pruned" if document["pruned"] else "complete"
    rows = [
        [group["kind"], group["name"] + (f"[{', '.join(group['index'])}]" if group["index"] else ""), group["doc"]]
        for group in document["groups"]
    ]
    lines: list[Any] = [f"{where}{form} model ({document['form']}), {document['objective']}: {counts}"]
    if document["left_out"]:
        lines.append(f"left out: {document['left_out']}")
    return [*lines, table("", ["kind", "group", "meaning"], rows)]
