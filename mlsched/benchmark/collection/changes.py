"""What changes a collection: a result, an outsider's plan, a certificate."""

from __future__ import annotations

import dataclasses
import datetime
import shutil
from pathlib import Path

from mlsched.api import save
from mlsched.benchmark.collection.entry import (
    ENTRY,
    LONGEST_NAME,
    VERSION,
    Entry,
    check_line,
    described,
    entry_path,
    instance_path,
    meets,
    proof_of,
    read_entry,
    read_instance,
    refutes,
)
from mlsched.benchmark.collection.verification import why_uncertified
from mlsched.core.contract import Instance, Objective, Plan
from mlsched.core.errors import BackendError, InvalidInput, TooLarge
from mlsched.core.files import read_json, write_json
from mlsched.core.result import Evidence, Result
from mlsched.core.versions import versions


@dataclasses.dataclass(frozen=True)
class Noted:
    """What was entered. refuted: the unconfirmed bound of the entry that the plan has shown to be wrong, if any."""

    value: int | float
    refuted: int | float | None


def add(folder: Path, instance: Instance, result: Result, by: str) -> Noted | None:
    """Note a result: a new entry, a better value or a tighter bound. None where it adds nothing.

    Raises InvalidInput for a result of another instance or without a plan, and where the best known plan refutes its
    bound. The result's values are the judge's; its bound is a claim, until `certify` proves it.
    """
    if result.instance_hash != instance.hash:
        raise InvalidInput(f"the result answers instance {result.instance_hash[:12]}, not {instance.hash[:12]}")
    if result.plan is None or result.sort_key is None:
        raise InvalidInput(f"the result is '{result.status}' and has no plan")
    return _note(folder, instance, result.objective, result.plan, result.sort_bound, result.evidence, by)


def submit(folder: Path, instance: Instance, plan: Plan, objective: str, by: str) -> Noted | None:
    """Note a plan where it is better than the best known one; else None. The judge values both.

    A bound that says that there is no such plan goes, unless its certificate passes the check: that is InvalidInput,
    since then judge and checker contradict each other.
    """
    if wrong := instance.violations(plan):
        raise InvalidInput(f"the plan is infeasible: {wrong[0]}")
    return _note(folder, instance, objective, plan, None, None, by)


def _note(
    folder: Path, instance: Instance, name: str, plan: Plan, bound: float | None, evidence: Evidence | None, by: str
) -> Noted | None:
    described(folder)
    check_line("by", by, LONGEST_NAME)
    objective, value = instance.objective(name), instance.evaluate(plan)[name]
    path = entry_path(folder, instance.hash, instance.problem, name)
    known = read_entry(path, instance) if path.is_file() else None
    # Not what the file says the plan is worth: a false value would keep every true one out.
    best = None if known is None else known.judged
    better = best is None or objective.better(value, best)
    if best is not None and not better:
        assert known is not None
        plan, value = known.plan, best
    if bound is not None and refutes(instance, objective, value, bound):
        raise InvalidInput(f"{by}: the value {value} is better than the bound {bound}: one of the two is wrong")
    stands, refuted = _standing(known, value)
    tighter = bound is not None and (stands is None or objective.better(stands, bound))
    if known is not None and not better and not tighter:
        return None
    reported = bound if tighter else stands
    closed = reported is not None and meets(instance, value, reported)
    rests_on = evidence if tighter else known.evidence if known is not None else None
    if rests_on == "certified" and (tighter or known is None or why_uncertified(known)):
        rests_on = None  # a proof counts where it lies in the collection
    _write(path, instance, objective, plan, value, reported, (rests_on or "unconfirmed") if closed else None, known, by)
    if known is not None and refuted is not None and proof_of(known).is_dir():
        shutil.rmtree(proof_of(known))  # it has failed its check: see _standing
    return Noted(value, refuted)


def _standing(known: Entry | None, value: int | float) -> tuple[int | float | None, int | float | None]:
    """The bound of an entry where a plan of that value leaves it standing, and the bound where it refutes it."""
    if known is None or known.bound is None:
        return None, None
    if not refutes(known.instance, known.objective, value, known.bound):
        return known.bound, None
    if known.evidence == "certified" and not why_uncertified(known):
        raise InvalidInput(
            f"{known.path.name}: the value {value} is better than the bound {known.bound}, whose certificate holds: "
            "judge and checker contradict each other; please report it"
        )
    return None, known.bound


def _write(
    path: Path,
    instance: Instance,
    objective: Objective,
    plan: Plan,
    value: int | float,
    bound: int | float | None,
    evidence: Evidence | None,
    known: Entry | None,
    by: str,
) -> None:
    """Write an entry with one more line of history, and the instance where it is not there yet."""
    line = {"date": _today(), "by": by, "value": value, "bound": bound, "versions": versions()}
    path.parent.mkdir(exist_ok=True)
    of_instance = instance_path(path)
    if of_instance.exists():
        read_instance(of_instance)
    else:
        save(instance, of_instance)
    write_json(
        path,
        {
            "kind": ENTRY,
            "version": VERSION,
            "instance_hash": instance.hash,
            "objective": objective.name,
            "value": value,
            "bound": bound,
            "evidence": evidence,
            "plan": plan.to_json(),
            "history": [*(known.history if known else []), line],
        },
    )


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def certify(entry: Entry, seconds: float | None = None) -> bool:
    """Make a certificate of a closed entry: True where its evidence is "certified" now. False: no proof was found.

    seconds: wall limit of the proof, or of each proof. Task graphs need the extra "certify".
    """
    from mlsched.api import certify as certified

    if entry.evidence == "certified" or not entry.closed:
        return entry.closed
    try:
        checked = certified(
            entry.instance, proof_of(entry), objective=entry.objective.name, plan=entry.plan, time_limit=seconds
        )
    except (BackendError, TooLarge):
        return False
    if checked.evidence is None:
        shutil.rmtree(proof_of(entry))  # it proves less than is known
        return False
    write_json(entry.path, {**read_json(entry.path), "evidence": checked.evidence})
    return True
