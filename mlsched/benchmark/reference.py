"""What is held against what: proven optima, the gaps to them, and every way in which rows can contradict each other."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence

from mlsched.benchmark.row import BROKEN, Row
from mlsched.core.gap import Gap, gap_between
from mlsched.core.result import Evidence

#: Values of LP answers are floats and agree up to this; integers agree exactly.
TOLERANCE = 1e-6


@dataclasses.dataclass(frozen=True)
class Reference:
    """The proven optimum of one instance and objective.

    engines: those that proved it (`Row.engine`). evidence: what it rests on, by all rows together. disputes: sentences,
    one a contradiction; an optimum in dispute is no reference, so no gap is reported against it.
    """

    value: int | float
    engines: tuple[str, ...]
    evidence: Evidence
    disputes: tuple[str, ...]


def references(rows: Sequence[Row]) -> dict[tuple[str, str], Reference]:
    """(instance hash, objective) -> its reference, where an exact solver has proved one."""
    instances: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        instances[row.instance_hash].append(row)
    found = {}
    for digest, group in instances.items():
        for objective in dict.fromkeys(row.objective for row in group):
            proved = [r for r in group if r.objective == objective and r.status == "optimal" and r.sort_key is not None]
            if proved:
                found[digest, objective] = _reference(proved, group)
    return found


def _reference(proved: list[Row], group: list[Row]) -> Reference:
    first = proved[0]
    assert first.sort_key is not None
    engines = tuple(dict.fromkeys(row.engine for row in proved))
    evidences = {row.evidence for row in proved}
    evidence: Evidence = "certified" if "certified" in evidences else "unconfirmed"
    if evidence == "unconfirmed" and (len(engines) >= 2 or "confirmed" in evidences):
        evidence = "confirmed"
    return Reference(first.sort_key, engines, evidence, tuple(_disputes(first, first.sort_key, group)))


def _disputes(first: Row, optimum: int | float, group: list[Row]) -> list[str]:
    """How the rows of one instance contradict an optimum that `first` has proved."""
    sign = 1 if first.sense == "min" else -1
    claim = f"{first.place}: {first.solver} proves {optimum}"
    disputes = []
    for row in group:  # one sentence a row: a wrong proof brings its wrong bound along
        # Any plan of the instance counts, also one made for another objective.
        same = row.objective == first.objective
        # A published optimum comes without a plan.
        value = (row.sort_key if same else None) if row.sort_keys is None else row.sort_keys.get(first.objective)
        if same and row.status == "optimal" and value is not None and not _close(value, optimum):
            disputes.append(f"{claim} optimal, but {row.solver} proves {value}")
        elif value is not None and sign * value < sign * optimum and not _close(value, optimum):
            disputes.append(f"{claim} optimal, but the plan of {row.solver} has {value}")
        elif same and row.status == "infeasible":
            disputes.append(f"{claim} optimal, but {row.solver} calls the instance infeasible")
        elif (
            same
            and row.sort_bound is not None
            and sign * row.sort_bound > sign * optimum
            and not _close(row.sort_bound, optimum)
        ):
            disputes.append(f"{claim} optimal, but {row.solver} claims the bound {row.sort_bound}")
    return list(dict.fromkeys(disputes))


def _close(a: int | float, b: int | float) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def with_gaps(rows: Sequence[Row]) -> list[Row]:
    """The rows with their `gap_to_optimum` (`core/gap.py`) where an optimum stands, and what their proofs rest on."""
    known = references(rows)
    nowhere = _infeasible(rows)
    return [
        dataclasses.replace(row, gap_to_optimum=_gap(row, known), evidence=_evidence(row, known, nowhere))
        for row in rows
    ]


def _infeasible(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Instance -> the engines that call it infeasible."""
    claims: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.status == "infeasible":
            claims[row.instance_hash].add(row.engine)
    return claims


def _evidence(row: Row, known: dict[tuple[str, str], Reference], nowhere: dict[str, set[str]]) -> Evidence | None:
    """What a row's proof rests on: its own confirmation, or that another engine's row proves the same."""
    if row.status == "infeasible":
        return "confirmed" if len(nowhere[row.instance_hash]) >= 2 else row.evidence or "unconfirmed"
    if row.status != "optimal":
        return None
    reference = known.get((row.instance_hash, row.objective))
    return "unconfirmed" if reference is None or reference.disputes else reference.evidence


def _gap(row: Row, known: dict[tuple[str, str], Reference]) -> Gap | None:
    reference = known.get((row.instance_hash, row.objective))
    if reference is None or reference.disputes or row.sort_key is None:
        return None
    tolerance = 0.0 if isinstance(row.sort_key, int) and isinstance(reference.value, int) else TOLERANCE
    return gap_between(
        row.sort_key, reference.value, sense=row.sense, unit=row.unit, primary=row.primary, tolerance=tolerance
    )


def disagreements(rows: Sequence[Row]) -> list[str]:
    """Every contradiction among the rows, a sentence each: proofs against proofs, plans, bounds and infeasibility."""
    found = [sentence for reference in references(rows).values() for sentence in reference.disputes]
    return found + _infeasible_with_plan(rows)


def _infeasible_with_plan(rows: Sequence[Row]) -> list[str]:
    """Instances called infeasible although a plan passed the judge, where no optimum is proved."""
    known = references(rows)
    planned = {row.instance_hash: row.solver for row in rows if row.sort_keys is not None}
    return [
        f"{row.place}: {row.solver} calls the instance infeasible, but {planned[row.instance_hash]} has a plan"
        for row in rows
        if row.status == "infeasible"
        and row.instance_hash in planned
        and (row.instance_hash, row.objective) not in known
    ]


def failures(rows: Sequence[Row]) -> list[str]:
    """Why the run is not clean, one sentence each: failed rows (one per call), disagreements. Empty: exit status 0."""
    broken: dict[tuple[str, str, str | None], str] = {}
    for row in rows:
        if row.status in BROKEN:
            place = row.place.rpartition(", ")[0]
            broken.setdefault((row.instance_hash, row.solver, row.error), f"{place}: {row.solver}: {row.error}")
    return list(broken.values()) + disagreements(rows)
