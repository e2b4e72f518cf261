"""`mlsched check FILE PLAN`: the judge, alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsched.cli.output import ChecksFailed, Json, emit, number, table
from mlsched.cli.solve import Read, read_instance
from mlsched.core.errors import InvalidFile


def check(
    file: Annotated[Path, typer.Argument(help="Instance file.")],
    plan: Annotated[Path, typer.Argument(help="Plan file.")],
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Judge a plan: is it feasible, and what is it worth?"""
    from mlsched import api
    from mlsched.core.contract import Plan

    instance = read_instance(file, read)
    answer, answers = api.load_with_hash(plan)
    if not isinstance(answer, Plan):
        raise InvalidFile(f"{plan}: kind = '{answer.kind}': must be a plan; `mlsched solve -o` writes one")
    found = [] if answers in (None, instance.hash) else [f"the plan answers another instance (hash {answers[:12]})"]
    found += instance.violations(answer)
    values = None if found else instance.evaluate(answer)
    document = {"instance_hash": instance.hash, "feasible": not found, "violations": found, "values": values}
    rows = [[name, number(value)] for name, value in (values or {}).items()]
    emit(as_json, lambda: document, lambda: found or ["feasible", table("", ["objective", "value"], rows)])
    if found:
        raise ChecksFailed(f"{plan}: infeasible: {found[0]}")
