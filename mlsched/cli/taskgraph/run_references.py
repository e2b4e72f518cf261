"""References of `mlsched simulate --reference FOLDER`, and the parts of gaps that `--parts` shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlsched import api
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.simulation import Run
from mlsched.simulation.taskgraph.iterations import Jobs
from mlsched.simulation.taskgraph.iterations.reference.decomposition import LAST_PARTS, SUM
from mlsched.simulation.taskgraph.iterations.reference.folder import MANIFEST, Reference, other_simulator
from mlsched.simulation.taskgraph.iterations.reference.proof import identity

#: Explanation of the table of parts.
PARTS_NOTE = (
    "Parts, as shares of the relaxed bound (jobs pause and move for nothing on one large node): they add up to how far "
    "the run is above that bound, as a rule more than above its own. Each is against the best schedule of a world that "
    "forbids one thing more than the one before; in brackets what is known of it: at least, at most. The last row "
    "names the best rule that knows running times."
)
#: Title of that table.
PARTS_TITLE = f"total_jct {SUM}, part by part"


def checked_reference(folder: Path, workloads: list[Jobs]) -> Reference:
    """Read the reference of one of the workloads and check it by recomputation."""
    if not (folder / MANIFEST).exists():
        raise InvalidInput(f"--reference {folder}: is not a reference; give a folder that `mlsched reference` made")
    claim = api.read_reference(folder)
    workload = next(
        (load for load in workloads if isinstance(load, Jobs) and identity(load) == claim.workload_hash), None
    )
    if workload is None:
        raise InvalidInput(
            f"--reference {folder}: is of {claim.source} on {claim.cluster}, not of this run; "
            "`mlsched reference` makes one with the same options"
        )
    faults = api.check_reference(folder, workload)[2]
    if faults:
        raise InvalidInput(f"--reference {folder}: does not hold: {faults[0]}; make it again")
    return claim


def regrets(run: Run, references: list[Reference]) -> Data:
    """Return the regret intervals of a run, by references of its workload that allow the same.

    Of several references of one kind, each side comes from the tightest.
    """
    intervals: dict[str, dict[str, float]] = {}
    for reference in references:
        if _fits(run, reference):
            least, most = api.losses(run, reference)
            interval = intervals.get(reference.weights, {"at_least": least, "at_most": most})
            intervals[reference.weights] = {
                "at_least": max(least, interval["at_least"]),
                "at_most": min(most, interval["at_most"]),
            }
    return {"losses": intervals} if intervals else {}


def refuse_parts(workloads: list[Any]) -> None:
    """Raise InvalidInput about --parts, before any run, if a workload lacks parts."""
    if not all(isinstance(workload, Jobs) for workload in workloads):
        raise InvalidInput("--parts: is for logs and their like (task graphs by iterations); leave it out")


def parts_of(run: Run, references: list[Reference]) -> Data:
    """Split the gap of a run to its bound into parts, or return the reason that prevents it."""
    of_it = [r for r in references if r.weights == "jobs" and r.workload_hash == identity(run.workload)]
    try:
        return {"parts": api.decompose(run, of_it).to_json()}
    except InvalidInput as error:
        return {"no_parts": str(error)}


def unused_references(runs: list[Run], references: list[Reference]) -> list[str]:
    """Return one sentence for each reference that fits none of the runs."""
    return [
        f"The reference {'with' if reference.pausing else 'without'} pauses, {reference.value} ticks in all, is of "
        f"another simulator than the runs: no losses are shown by it ({_why(runs[0], reference)})."
        for reference in references
        if runs and not any(_fits(run, reference) for run in runs)
    ]


def _why(run: Run, reference: Reference) -> str:
    """Return the reason why a reference does not fit a run."""
    if not _of_it(run, reference):
        return "it is of another log or cluster"
    return f"{run.solver}: {other_simulator(run.workload, run.options, reference)}"


def _fits(run: Run, reference: Reference) -> bool:
    """Return whether a reference is of the run's workload and simulator."""
    return _of_it(run, reference) and not other_simulator(run.workload, run.options, reference)


def _of_it(run: Run, reference: Reference) -> bool:
    return bool(reference.workload_hash == identity(run.workload))


def part_rows(entries: Sequence[Data]) -> list[list[str]]:
    """Return one row per part of the gaps, one column per run; then the sum and the best rule beside it."""
    tables = [entry["parts"]["table"] for entry in entries]
    names = list(dict.fromkeys(name for table in tables for name in table["part"][:-1]))
    names.sort(key=lambda name: name in LAST_PARTS)
    rows = [[name, *(part_cell(table, name) for table in tables)] for name in [*names, SUM]]
    return [*rows, ["running times known", *(entry["parts"]["beside"] for entry in entries)]]


def part_cell(table: dict[str, list[Any]], name: str) -> str:
    """Format a part with its interval: "4.2 % (1.0 to 5.3)"; an exact part has no brackets."""
    if name not in table["part"]:
        return "-"
    at = table["part"].index(name)
    share, least, most = (100 * table[key][at] for key in ("share", "at_least", "at_most"))
    return f"{share:.1f} %" if least == share == most else f"{share:.1f} % ({least:.1f} to {most:.1f})"
