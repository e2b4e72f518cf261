"""References of gaps: proven optima, the gaps to them, and every way in which rows can contradict each other."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence

from mlsched.benchmark.row import BROKEN, Row
from mlsched.core.gap import Gap, gap_between
from mlsched.core.result import Evidence

#: Tolerance of values of LP answers, which are floats; integers agree exactly.
TOLERANCE = 1e-6


@dataclasses.dataclass(frozen=True)
class Reference:
    """Proven optimum of one instance and objective.

    Attributes:
        value: The optimum.
        engines: Engines that proved it (`Row.engine`).
        evidence: Its evidence, by all rows together.
        disputes: One sentence per contradiction; a disputed optimum is not used for gaps.
    """

    value: int | float
    engines: tuple[str, ...]
    evidence: Evidence
    disputes: tuple[str, ...]


def references(rows: Sequence[Row]) -> dict[tuple[str, str], Reference]:
    """Return the reference of each instance hash and objective with an exact solver's proof."""
    instances: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        instances[row.instance_hash].append(row)
    reference_of = {}
    for digest, group in instances.items():
        for objective in dict.fromkeys(row.objective for row in group):
            proofs = [r for r in group if r.objective == objective and r.status == "optimal" and r.sort_key is not None]
            if proofs:
                reference_of[digest, objective] = _reference(proofs, group)
    return reference_of


def _reference(proofs: list[Row], group: list[Row]) -> Reference:
    first = proofs[0]
    assert first.sort_key is not None
    engines = tuple(dict.fromkeys(row.engine for row in proofs))
    evidences = {row.evidence for row in proofs}
    evidence: Evidence = "certified" if "certified" in evidences else "unconfirmed"
    if evidence == "unconfirmed" and (len(engines) >= 2 or "confirmed" in evidences):
        evidence = "confirmed"
    return Reference(first.sort_key, engines, evidence, tuple(_disputes(first, first.sort_key, group)))


def _disputes(first: Row, optimum: int | float, group: list[Row]) -> list[str]:
    """Return the contradictions between the rows of one instance and an optimum that `first` has proved."""
    sign = 1 if first.sense == "min" else -1
    claim = f"{first.place}: {first.solver} proves {optimum}"
    disputes = []
    for row in group:  # one sentence per row: a wrong proof also has a wrong bound
        # Any plan of the instance counts, even if it was made for another objective.
        same = row.objective == first.objective
        # A published optimum lacks a plan.
        value = (row.sort_key if same else None) if row.sort_keys is None else row.sort_keys.get(first.objective)
        if same and row.status == "optimal" and value is not None and not _are_close(value, optimum):
            disputes.append(f"{claim} optimal, but {row.solver} proves {value}")
        elif value is not None and sign * value < sign * optimum and not _are_close(value, optimum):
            disputes.append(f"{claim} optimal, but the plan of {row.solver} has {value}")
        elif same and row.status == "infeasible":
            disputes.append(f"{claim} optimal, but {row.solver} calls the instance infeasible")
        elif (
            same
            and row.sort_bound is not None
            and sign * row.sort_bound > sign * optimum
            and not _are_close(row.sort_bound, optimum)
        ):
            disputes.append(f"{claim} optimal, but {row.solver} claims the bound {row.sort_bound}")
    return list(dict.fromkeys(disputes))


def _are_close(a: int | float, b: int | float) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def with_gaps(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with their `gap_to_optimum` (`core/gap.py`) if an optimum is known, and with their evidence."""
    filled = list(rows)
    fill_gaps(filled)
    return filled


def fill_gaps(rows: list[Row]) -> None:
    """Replace each row in the list by its row of `with_gaps`, so that memory contains one list of rows."""
    optima = references(rows)
    infeasible_by = _infeasibility_claims(rows)
    for place, row in enumerate(rows):
        rows[place] = dataclasses.replace(
            row, gap_to_optimum=_gap_of_row(row, optima), evidence=_evidence(row, optima, infeasible_by)
        )


def _infeasibility_claims(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Return the engines that call each instance infeasible."""
    claims: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.status == "infeasible":
            claims[row.instance_hash].add(row.engine)
    return claims


def _evidence(
    row: Row, optima: dict[tuple[str, str], Reference], infeasible_by: dict[str, set[str]]
) -> Evidence | None:
    """Return the evidence of a row's proof: its own confirmation, or an equal proof of another engine."""
    if row.status == "infeasible":
        return "confirmed" if len(infeasible_by[row.instance_hash]) >= 2 else row.evidence or "unconfirmed"
    if row.status != "optimal":
        return None
    reference = optima.get((row.instance_hash, row.objective))
    return "unconfirmed" if reference is None or reference.disputes else reference.evidence


def _gap_of_row(row: Row, optima: dict[tuple[str, str], Reference]) -> Gap | None:
    reference = optima.get((row.instance_hash, row.objective))
    if reference is None or reference.disputes or row.sort_key is None:
        return None
    tolerance = 0.0 if isinstance(row.sort_key, int) and isinstance(reference.value, int) else TOLERANCE
    return gap_between(
        row.sort_key, reference.value, sense=row.sense, unit=row.unit, primary=row.primary, tolerance=tolerance
    )


def disagreements(rows: Sequence[Row]) -> list[str]:
    """Return every contradiction among the rows as a sentence: of proofs, plans, bounds and infeasibility."""
    sentences = [sentence for reference in references(rows).values() for sentence in reference.disputes]
    return sentences + _infeasible_with_plan(rows)


def _infeasible_with_plan(rows: Sequence[Row]) -> list[str]:
    """Return sentences on instances called infeasible despite a judged plan, without a proven optimum."""
    optima = references(rows)
    solver_with_plan = {row.instance_hash: row.solver for row in rows if row.sort_keys is not None}
    return [
        f"{row.place}: {row.solver} calls the instance infeasible, but {solver_with_plan[row.instance_hash]} has a plan"
        for row in rows
        if row.status == "infeasible"
        and row.instance_hash in solver_with_plan
        and (row.instance_hash, row.objective) not in optima
    ]


def failures(rows: Sequence[Row]) -> list[str]:
    """Return the reasons why the run is not clean: failed rows (one per call), contradictions. Empty: exit status 0."""
    broken: dict[tuple[str, str, str | None], str] = {}
    for row in rows:
        if row.status in BROKEN:
            place = row.place.rpartition(", ")[0]
            broken.setdefault((row.instance_hash, row.solver, row.error), f"{place}: {row.solver}: {row.error}")
    return list(broken.values()) + disagreements(rows)
