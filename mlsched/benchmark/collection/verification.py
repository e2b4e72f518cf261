"""The check of a whole collection: every plan judged anew, and every bound asked what it rests on."""

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
    described,
    instance_path,
    proof_of,
    read_entry,
    read_instance,
    refutes,
)
from mlsched.benchmark.collection.table import text_table
from mlsched.core.errors import InvalidFile, InvalidInput, MlschedError
from mlsched.core.safe_open import MOST_TEXT, read_text, shown_path

#: What the bound of an entry rests on for whoever has just verified it: its certificate; a search that came to it, or
#: the statement alone; the word of whoever reported it; there is none.
Standing = Literal["certified", "recomputed", "unconfirmed", "none"]


@dataclasses.dataclass(frozen=True)
class Verified:
    """What a check of a collection found.

    entries: how many there are. wrong: what is wrong, a sentence each. bounds: how many of the entries in which nothing
    is wrong have a bound that is certified, recomputed or only unconfirmed, or none.
    """

    entries: int
    wrong: tuple[str, ...]
    bounds: dict[Standing, int]


def verify(
    folder: Path, seconds: float | None = None, progress: Callable[[int, int], None] = lambda *_: None
) -> Verified:
    """Check files, plans, values, bounds and the table.

    Every plan is judged and valued anew, every certificate is checked. seconds: wall limit of a search for each bound
    that is not certified, by the problem's default solver on this machine; None: such bounds are only counted.
    """
    wrong: list[str] = []
    bounds: Counter[Standing] = Counter()
    described(folder)
    paths, count = sorted(folder.glob("*/*.json")), 0
    for done, path in enumerate(paths):
        progress(done, len(paths))
        is_entry = path.name.count(".") > 1
        count += is_entry
        try:
            instance = read_instance(instance_path(path))
            if not is_entry:
                continue
            entry = read_entry(path, instance)
            if fault := _fault(entry):
                raise InvalidFile(f"{shown_path(path)}: {fault}")
            bounds[_standing(entry, seconds)] += 1
        except MlschedError as error:
            wrong.append(str(error))
    progress(len(paths), len(paths))
    table = folder / "TABLE.md"
    if not wrong and (not table.is_file() or read_text(table, most=4 * MOST_TEXT) != text_table(folder)):
        wrong.append(f"{shown_path(table)}: is not what the entries say; `mlsched collection table {folder}` writes it")
    if not wrong:
        wrong += card_faults(folder)
    return Verified(count, tuple(dict.fromkeys(wrong)), dict(bounds))


def _fault(entry: Entry) -> str:
    """What is wrong with an entry that can be read; empty where nothing is."""
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
    return why_uncertified(entry) if entry.evidence == "certified" else ""


def why_uncertified(entry: Entry) -> str:
    """Why the entry's certificate does not certify it; empty where it does."""
    from mlsched.certificates import bundle

    folder = proof_of(entry)
    if not folder.is_dir():
        return f"is called certified, and {folder.name} is missing"
    try:
        checked = bundle.check(folder)
    except InvalidInput as error:
        return f"{folder.name} is no certificate: {error}"
    if checked.wrong:
        return f"{folder.name} does not hold: {checked.wrong[0]}"
    certified = (checked.instance.hash, (*checked.first, *checked.objectives), checked.sort_key)
    if certified != (entry.instance.hash, (entry.objective.name,), entry.value) or checked.evidence is None:
        return f"{folder.name} certifies something else"
    return ""


def _standing(entry: Entry, seconds: float | None) -> Standing:
    """What the bound of an entry without a fault rests on. Raises InvalidFile where a search refutes it."""
    if entry.bound is None:
        return "none"
    if entry.evidence == "certified":
        return "certified"
    trivial = trivial_bound(entry.instance, entry.objective.name)
    if trivial is not None and not entry.objective.better(trivial, entry.bound):
        return "recomputed"
    return "recomputed" if seconds is not None and _recomputed(entry, entry.bound, seconds) else "unconfirmed"


def _recomputed(entry: Entry, bound: int | float, seconds: float) -> bool:
    """Whether a search proves the bound, or a tighter one."""
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
