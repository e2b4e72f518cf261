"""`mlsched certify FILE`: a proof of optimality that anyone can check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import Json, emit, only_documents, result_at_interrupt, table, waiting
from mlsched.cli.solve import Goal, Read, read_instance, read_plan
from mlsched.core.aliases import Data

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mlsched.certificates.checked import Checked
    from mlsched.cli.output import Columns


def certify(
    file: Annotated[Path, typer.Argument(help="Read the instance from this file, e.g. instance.json.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Write the certificate to this new folder, e.g. proof.")
    ],
    objective: Goal = None,
    solver: Annotated[
        str | None,
        typer.Option(help="Choose the solver that finds the plan, e.g. cp-sat. Default: the problem's exact solver."),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Certify the plan in this file, e.g. plan.json. Default: find a plan.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Limit the wall seconds, e.g. 60; logic proofs apply the limit to the plan and to each proof. "
            "Default: no limit."
        ),
    ] = None,
    proof: Annotated[
        str | None,
        typer.Option(
            help="Choose the kind of proof, e.g. logic, or dual. Default: dual if the problem has dual proofs."
        ),
    ] = None,
    read: Read = None,
    as_json: Json = False,
) -> None:
    """Certify that a plan is optimal, or bound its gap, by a proof that anyone can check.

    Preemption, quality, workers and placement have dual proofs. Dual proofs of
    task graphs usually bound the gap; the remaining time goes to a logic proof
    of the optimum. Admission and rounds have only logic proofs. Logic proofs
    need the extra "certify".
    """
    from mlsched import api

    instance = read_instance(file, read)
    given_plan = None if plan is None else read_plan(plan)[0]
    if objective is None:
        objective = api.published_objective(file)
    with result_at_interrupt() as stopped, waiting(f"certifying {file.name}", time_limit) as progress, only_documents():
        checked = api.certify(
            instance,
            output,
            objective=objective,
            solver=solver,
            plan=given_plan,
            time_limit=time_limit,
            proof=proof,  # type: ignore[arg-type]  # refused there
            progress=progress,
        )
    emit(as_json, lambda: document(output, checked), lambda: shown(output, checked))
    if stopped():
        raise KeyboardInterrupt


def document(folder: Path, checked: Checked) -> Data:
    """Return the checked certificate as JSON: values in their units, and as sort keys."""
    instance, rank = checked.instance, checked.primary
    claimed: Data = {
        "objective": checked.objective,
        "value": checked.value,
        "bound": checked.bound,
        "sort_keys": {"value": checked.sort_key, "bound": checked.sort_bound},
        "lemma": checked.lemma,
        "claims": list(checked.claims),
    }
    if rank is not None and checked.sort_key is not None:
        claimed["primary"] = {"name": rank.name, "count": rank.split(checked.sort_key)[0]}
    if checked.of_front:
        rows = [dict(zip(checked.objectives, row, strict=True)) for row in checked.sort_keys]
        claimed = {
            "objectives": list(checked.objectives),
            **({"bounds": list(checked.bounds)} if checked.proof == "dual" else {"first": list(checked.first)}),
            "points": [instance.values(row) for row in rows],
            "sort_keys": [list(row) for row in checked.sort_keys],
            "claims": [checked.claim] if checked.claim else [],
        }
    return {
        "folder": str(folder),
        "instance_hash": instance.hash,
        "problem": instance.problem,
        **claimed,
        "proof": checked.proof,
        "evidence": checked.evidence,
        "violations": list(checked.wrong),
        "seconds": checked.seconds,
    }


def shown(folder: Path, checked: Checked) -> list[Any]:
    """Return the checked certificate as lines and tables."""
    if checked.wrong:
        return list(checked.wrong)
    lines = _front(folder, checked) if checked.of_front else _single(folder, checked)
    return [*lines, f"  checked in {checked.seconds:.2f} s; `mlsched check {folder}` checks it again"]


def _front(folder: Path, checked: Checked) -> list[RenderableType]:
    number = len(checked.plans)
    statement = "one point is the whole front" if number == 1 else f"{number} points are the whole front"
    line = f"{folder}: certified: {statement} of {' and '.join(checked.objectives)}"
    if checked.bounds:
        return [line if checked.evidence else f"{folder}: certified: {checked.claim}", _table_of_points(checked)]
    first = f", after {' and '.join(checked.first)}" if checked.first else ""
    return [f"{line}{first}", f"  rests on: {checked.claim}"]


def _table_of_points(checked: Checked) -> Columns:
    """Return one row per point: its values, the bound of the plans that it covers, and the gap."""
    from mlsched.certificates.claimed import claims_of

    (first, second), rows = checked.objectives, []
    claims = claims_of(checked.instance, checked.objectives, checked.sort_keys)
    sign = {"min": "<=", "max": ">="}
    for k, (row, (_, _, within), bound, gap) in enumerate(zip(checked.sort_keys, claims, checked.bounds, checked.gaps)):  # noqa: B905
        limit = "".join(f"{sign[checked.instance.objective(name).sense]} {most}" for name, most in within)
        rows.append([str(k), *map(str, row), limit or "any", str(bound), gap.rounded_up])
    return table("", ["point", first, second, f"bounded where {second}", f"{first} at best", "gap at most"], rows)


def _single(folder: Path, checked: Checked) -> list[str]:
    from mlsched.core.contract import format_value

    goal, rank, key = checked.goal, checked.primary, checked.sort_key
    comparison = "less" if goal.sense == "min" else "more"
    value = f"{goal.name} = {'' if key is None else format_value(key, rank, goal.unit)}"
    line = f"{folder}: certified: {value}, no plan has {comparison}"
    if checked.evidence is None:
        line = f"{folder}: certified: at most {checked.shown_gap} from the best: {value}, no plan has {comparison} than"
        line += f" {format_value(checked.sort_bound, rank)}"
    lines = [line, *([f"  rests on: {checked.lemma}"] if checked.lemma else [])]
    return [*lines, *(f"  with these numbers, recomputed: {claim}" for claim in checked.claims)]
