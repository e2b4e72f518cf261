"""Verification of a complete collection: every plan is judged again, and the evidence of every bound is determined."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from mlsched.api import solve
from mlsched.api.asked import prover
from mlsched.api.exact import trivial_bound
from mlsched.benchmark.collection.card import card_faults
from mlsched.benchmark.collection.entry import (
    DIGITS,
    Entry,
    instance_path,
    proof_of,
    read_description,
    read_entry,
    read_instance,
    refutes,
)
from mlsched.benchmark.collection.table import markdown_table
from mlsched.core.errors import InvalidFile, InvalidInput, MlschedError
from mlsched.core.safe_open import MOST_TEXT, read_text, shown_path

#: Evidence of an entry's bound after verification: its certificate; a search, or the statement, that reaches it; only
#: the report of its author; no bound.
BoundEvidence = Literal["certified", "recomputed", "unconfirmed", "none"]


@dataclasses.dataclass(frozen=True)
class CollectionCheck:
    """Result of a verification.

    Attributes:
        entries: Number of entries.
        wrong: One sentence per fault.
        bounds: Number of correct entries by evidence of their bound.
    """

    entries: int
    wrong: tuple[str, ...]
    bounds: dict[BoundEvidence, int]


def verify(
    folder: Path, seconds: float | None = None, progress: Callable[[int, int], None] = lambda *_: None
) -> CollectionCheck:
    """Check files, plans, values, bounds and the table.

    Every plan is judged and evaluated again, every certificate is checked.

    Args:
        folder: The collection.
        seconds: Wall limit of a search for each uncertified bound, by the problem's default solver; None: such bounds
            are only counted.
        progress: Called with (done, total).
    """
    faults: list[str] = []
    bounds: Counter[BoundEvidence] = Counter()
    read_description(folder)
    paths, count = sorted(folder.glob("*/*.json")), 0
    for position, path in enumerate(paths):
        progress(position, len(paths))
        is_entry = path.name.count(".") > 1
        count += is_entry
        try:
            instance = read_instance(instance_path(path))
            if not is_entry:
                continue
            entry = read_entry(path, instance)
            if fault := _entry_fault(entry):
                raise InvalidFile(f"{shown_path(path)}: {fault}")
            bounds[_bound_evidence(entry, seconds)] += 1
        except MlschedError as error:
            faults.append(str(error))
    progress(len(paths), len(paths))
    table = folder / "TABLE.md"
    if not faults and (not table.is_file() or read_text(table, most=4 * MOST_TEXT) != markdown_table(folder)):
        faults.append(
            f"{shown_path(table)}: is not what the entries say; `mlsched collection table {folder}` writes it"
        )
    if not faults:
        faults += card_faults(folder)
    return CollectionCheck(count, tuple(dict.fromkeys(faults)), dict(bounds))


def _entry_fault(entry: Entry) -> str:
    """Return the fault of a readable entry, or ""."""
    if entry.path.name != f"{entry.instance.hash[:DIGITS]}.{entry.objective.name}.json":
        return f"is an entry for {entry.objective.name}"
    if violated := entry.instance.violations(entry.plan):
        return f"the plan is infeasible: {violated[0]}"
    value = entry.instance.evaluate(entry.plan)[entry.objective.name]
    if value != entry.value:
        return f"value = {entry.value}: the plan's is {value}"
    if entry.bound is not None and refutes(entry.instance, entry.objective, value, entry.bound):
        return f"the value {value} is better than the bound {entry.bound}: one of the two is wrong"
    if (entry.evidence is not None) != entry.closed:
        return f"evidence: {entry.evidence!r}, expected null exactly where the bound does not meet the value"
    last = entry.history[-1]
    if (last["value"], last["bound"]) != (entry.value, entry.bound):
        return "history ends with another value or bound than the entry's"
    return certificate_fault(entry) if entry.evidence == "certified" else ""


def certificate_fault(entry: Entry) -> str:
    """Return why the entry's certificate does not certify it, or ""."""
    from mlsched.certificates import bundle

    folder = proof_of(entry)
    if not folder.is_dir():
        return f"is called certified, and {folder.name} is missing"
    try:
        certificate = bundle.check(folder)
    except InvalidInput as error:
        return f"{folder.name} is not a certificate: {error}"
    if certificate.wrong:
        return f"{folder.name} does not hold: {certificate.wrong[0]}"
    claim = (certificate.instance.hash, (*certificate.first, *certificate.objectives), certificate.sort_key)
    if claim != (entry.instance.hash, (entry.objective.name,), entry.value) or certificate.evidence is None:
        return f"{folder.name} certifies something else"
    return ""


def _bound_evidence(entry: Entry, seconds: float | None) -> BoundEvidence:
    """Return the evidence of a correct entry's bound; raise InvalidFile if a search refutes it."""
    if entry.bound is None:
        return "none"
    if entry.evidence == "certified":
        return "certified"
    trivial = trivial_bound(entry.instance, entry.objective.name)
    if trivial is not None and not entry.objective.better(trivial, entry.bound):
        return "recomputed"
    return "recomputed" if seconds is not None and _search_proves(entry, entry.bound, seconds) else "unconfirmed"


def _search_proves(entry: Entry, bound: int | float, seconds: float) -> bool:
    """Return whether a search proves the bound, or a tighter one."""
    instance, name = entry.instance, entry.objective.name
    solver = prover(instance, name)
    if solver is None:
        return False
    result = solve(instance, solver, objective=name, time_limit=seconds, hint=entry.plan)
    if result.sort_key is not None and refutes(instance, entry.objective, result.sort_key, bound):
        raise InvalidFile(
            f"{shown_path(entry.path)}: bound = {bound}: {solver} has a plan of {result.sort_key}, which is better"
        )
    if result.sort_bound is None:
        return False
    slack = instance.tolerance * abs(bound)
    return abs(result.sort_bound - bound) <= slack or entry.objective.better(bound, result.sort_bound)
