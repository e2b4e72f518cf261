"""References of `mlsched simulate --reference FOLDER`: recomputed before use, and what runs lose by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.simulation import Run
from mlsched.simulation.taskgraph.iterations import Jobs
from mlsched.simulation.taskgraph.iterations.reference.folder import MANIFEST, Reference, other_simulator
from mlsched.simulation.taskgraph.iterations.reference.proof import identity


def trusted(folder: Path, workloads: list[Any]) -> Reference:
    """A reference of one of the workloads, recomputed."""
    if not (folder / MANIFEST).exists():
        raise InvalidInput(f"--reference {folder}: is no reference; give a folder that `mlsched reference` made")
    claim = api.read_reference(folder)
    workload = next(
        (load for load in workloads if isinstance(load, Jobs) and identity(load) == claim.workload_hash), None
    )
    if workload is None:
        raise InvalidInput(
            f"--reference {folder}: is of {claim.source} on {claim.cluster}, none of what is to be run; "
            "`mlsched reference` makes one with the same options"
        )
    wrong = api.check_reference(folder, workload)[2]
    if wrong:
        raise InvalidInput(f"--reference {folder}: does not hold: {wrong[0]}; make it anew")
    return claim


def losses(run: Run, references: list[Reference]) -> dict[str, Any]:
    """How much the run loses at least and at most, by the references that are of its workload and allow the same.

    Of several of one kind, each side is by the one that says most.
    """
    found: dict[str, dict[str, float]] = {}
    for reference in references:
        if _fits(run, reference):
            least, most = api.losses(run, reference)
            known = found.get(reference.weights, {"at_least": least, "at_most": most})
            found[reference.weights] = {
                "at_least": max(least, known["at_least"]),
                "at_most": min(most, known["at_most"]),
            }
    return {"losses": found} if found else {}


def check_parts(workloads: list[Any]) -> None:
    """Refuse, before any run, to tell parts where there are none."""
    if not all(isinstance(workload, Jobs) for workload in workloads):
        raise InvalidInput("--parts: is for logs and their like (task graphs by iterations); leave it out")


def parts(run: Run, references: list[Reference]) -> dict[str, Any]:
    """Of what the run's distance from its bound is made; or why that cannot be said."""
    of_it = [r for r in references if r.weights == "jobs" and r.workload_hash == identity(run.workload)]
    try:
        return {"parts": api.decompose(run, of_it).to_json()}
    except InvalidInput as error:
        return {"no_parts": str(error)}


def unused(runs: list[Run], references: list[Reference]) -> list[str]:
    """A sentence for each reference that says nothing of any run."""
    return [
        f"The reference {'with' if reference.pausing else 'without'} pauses, {reference.value} ticks in all, is of "
        f"ananother simulator than the runs: no losses are shown by it ({_why(runs[0], reference)})."
        for reference in references
        if runs and not any(_fits(run, reference) for run in runs)
    ]


def _why(run: Run, reference: Reference) -> str:
    """Why a reference says nothing of a run."""
    if not _of_it(run, reference):
        return "it is of another log or cluster"
    return f"{run.solver}: {other_simulator(run.workload, run.options, reference)}"


def _fits(run: Run, reference: Reference) -> bool:
    """Whether a reference is of the run's workload, and of its simulator."""
    return _of_it(run, reference) and not other_simulator(run.workload, run.options, reference)


def _of_it(run: Run, reference: Reference) -> bool:
    return bool(reference.workload_hash == identity(run.workload))
