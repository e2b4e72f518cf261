"""Changes of a collection: a result, an outsider's plan, a certificate."""

from __future__ import annotations

import dataclasses
import datetime
import shutil
from pathlib import Path

from mlsched.api import save
from mlsched.benchmark.collection.entry import (
    ENTRY,
    MAX_NAME,
    VERSION,
    Entry,
    check_line,
    entry_path,
    instance_path,
    meets,
    proof_of,
    read_description,
    read_entry,
    read_instance,
    refutes,
)
from mlsched.benchmark.collection.verification import certificate_fault
from mlsched.core.contract import Instance, Objective, Plan
from mlsched.core.errors import BackendError, InvalidInput, TooLarge
from mlsched.core.files import read_json, write_json
from mlsched.core.result import Evidence, Result
from mlsched.core.versions import versions


@dataclasses.dataclass(frozen=True)
class EntryChange:
    """Change of an entry, with the unconfirmed bound that the plan refuted, if any."""

    value: int | float
    refuted: int | float | None


def add(folder: Path, instance: Instance, result: Result, by: str) -> EntryChange | None:
    """Enter a result: a new entry, a better value or a tighter bound; return None without an improvement.

    The result's values are the judge's; its bound is unconfirmed until `certify` proves it.

    Args:
        folder: The collection.
        instance: The instance.
        result: The result.
        by: Author of the change.

    Raises:
        InvalidInput: The result is for another instance or lacks a plan, or the best known plan refutes its bound.
    """
    if result.instance_hash != instance.hash:
        raise InvalidInput(f"the result answers instance {result.instance_hash[:12]}, not {instance.hash[:12]}")
    if result.plan is None or result.sort_key is None:
        raise InvalidInput(f"the result is '{result.status}', expected a plan")
    return _enter_plan(folder, instance, result.objective, result.plan, result.sort_bound, result.evidence, by)


def submit(folder: Path, instance: Instance, plan: Plan, objective: str, by: str) -> EntryChange | None:
    """Enter a plan that is better than the best known one, else return None; the judge evaluates both.

    A bound that excludes the plan is removed, unless its certificate passes the check: then judge and checker
    contradict each other, which is InvalidInput.

    Args:
        folder: The collection.
        instance: The instance.
        plan: The plan.
        objective: Name of the objective.
        by: Author of the change.
    """
    if faults := instance.violations(plan):
        raise InvalidInput(f"the plan is infeasible: {faults[0]}")
    return _enter_plan(folder, instance, objective, plan, None, None, by)


def _enter_plan(
    folder: Path, instance: Instance, name: str, plan: Plan, bound: float | None, evidence: Evidence | None, by: str
) -> EntryChange | None:
    read_description(folder)
    check_line("by", by, MAX_NAME)
    objective, value = instance.objective(name), instance.evaluate(plan)[name]
    path = entry_path(folder, instance.hash, instance.problem, name)
    before = read_entry(path, instance) if path.is_file() else None
    # The judge's value rather than the stated one: a false value would block every true one.
    best_value = None if before is None else before.judged
    better = best_value is None or objective.better(value, best_value)
    if best_value is not None and not better:
        assert before is not None
        plan, value = before.plan, best_value
    if bound is not None and refutes(instance, objective, value, bound):
        raise InvalidInput(f"{by}: the value {value} is better than the bound {bound}: one of the two is wrong")
    standing, refuted = _standing_bound(before, value)
    tighter = bound is not None and (standing is None or objective.better(standing, bound))
    if before is not None and not better and not tighter:
        return None
    reported = bound if tighter else standing
    closed = reported is not None and meets(instance, value, reported)
    rests_on = evidence if tighter else before.evidence if before is not None else None
    if rests_on == "certified" and (tighter or before is None or certificate_fault(before)):
        rests_on = None  # a proof must be in the collection
    _write_entry(
        path, instance, objective, plan, value, reported, (rests_on or "unconfirmed") if closed else None, before, by
    )
    if before is not None and refuted is not None and proof_of(before).is_dir():
        shutil.rmtree(proof_of(before))  # its check has failed: see _standing_bound
    return EntryChange(value, refuted)


def _standing_bound(before: Entry | None, value: int | float) -> tuple[int | float | None, int | float | None]:
    """Return the bound of an entry that a plan of that value leaves standing, and the bound that it refutes."""
    if before is None or before.bound is None:
        return None, None
    if not refutes(before.instance, before.objective, value, before.bound):
        return before.bound, None
    if before.evidence == "certified" and not certificate_fault(before):
        raise InvalidInput(
            f"{before.path.name}: the value {value} is better than the bound {before.bound} with a valid certificate: "
            "judge and checker contradict each other; please report it"
        )
    return None, before.bound


def _write_entry(
    path: Path,
    instance: Instance,
    objective: Objective,
    plan: Plan,
    value: int | float,
    bound: int | float | None,
    evidence: Evidence | None,
    before: Entry | None,
    by: str,
) -> None:
    """Write an entry with one more line of history, and the instance if it is missing.

    Args:
        path: File of the entry.
        instance: The instance.
        objective: The objective.
        plan: Best known plan.
        value: Its value.
        bound: Tightest bound.
        evidence: Evidence if they meet.
        before: The previous entry, if any.
        by: Author of the change.
    """
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
            "history": [*(before.history if before else []), line],
        },
    )


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def certify(entry: Entry, seconds: float | None = None) -> bool:
    """Certify a closed entry; return whether its evidence is now "certified".

    Args:
        entry: The entry.
        seconds: Wall limit of the proof, or of each proof. Logic proofs need the extra "certify".
    """
    from mlsched.api import certify as certified

    if entry.evidence == "certified" or not entry.closed:
        return entry.closed
    try:
        certificate = certified(
            entry.instance, proof_of(entry), objective=entry.objective.name, plan=entry.plan, time_limit=seconds
        )
    except (BackendError, TooLarge):
        return False
    if certificate.evidence is None:
        shutil.rmtree(proof_of(entry))  # proves less than is known
        return False
    write_json(entry.path, {**read_json(entry.path), "evidence": certificate.evidence})
    return True
