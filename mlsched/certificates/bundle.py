"""A certificate as a folder: an instance, a plan, and proofs that no plan is better; and the check of such a folder.

    instance.json, plan.json      what was asked and what is claimed to be best
    1.opb, 1.log, 2.opb, ...      a 0-1 formula that the instance and the objective ask, and a proof of its minimum
    checker.py                    decides about formula and proof without mlsched: python checker.py 1.opb 1.log
    manifest.json                 what is claimed, and the SHA-256 of every other file

A folder is accepted where the judge gives the plan the value that is claimed, the formulas are, letter by letter, what
the translation makes of the instance, the checker accepts the proofs, and the minima add up to the value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from mlsched.certificates import checker, engine, limits
from mlsched.certificates.elaborate import elaborated
from mlsched.certificates.formula import Formula, TooLong, within
from mlsched.certificates.limits import first_difference, lines_of
from mlsched.certificates.received import KIND, MOST_LOG, VERSION, hash_of, manifest_of, record_of, wrong_files
from mlsched.certificates.translation import translation_of
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import AnswererError, InvalidInput, SolverError, shortened
from mlsched.core.files import write_json
from mlsched.core.opening import shown_path
from mlsched.core.registry import registry
from mlsched.core.temporary import swept_folder
from mlsched.core.versions import versions

#: Wall limit of a check, where no other is given; the largest proofs so far took half a minute.
SECONDS = 300.0


@dataclasses.dataclass(frozen=True)
class Checked:
    """What the check of a folder found: `wrong` is empty exactly when the plan is certified to be optimal.

    `lemma` says why the formulas leave out nothing that is better, `claims` with which numbers of this instance and
    plan, recomputed by the check: what a reader has to follow, since no formula proves it.
    """

    instance: Instance
    plan: Plan
    objective: str
    value: int
    lemma: str
    wrong: tuple[str, ...]
    seconds: float
    claims: tuple[str, ...] = ()

    @property
    def backing(self) -> Literal["certified"] | None:
        """ "certified" where the check passed."""
        return None if self.wrong else "certified"


def check_target(folder: Path) -> None:
    """Refuse a folder that cannot be made, before any work."""
    if os.path.lexists(folder):
        raise InvalidInput(f"{shown_path(folder)}: exists already; name a new folder")
    if not folder.parent.is_dir():
        raise InvalidInput(f"{shown_path(folder)}: there is no folder {shown_path(folder.parent)}; make it first")


def certify(instance: Instance, objective: str, plan: Plan, folder: Path, *, seconds: float | None = None) -> Checked:
    """Prove that `plan` is optimal and write the certificate to `folder`, which must not exist.

    seconds: limit on the search for each proof and on writing out its steps; the check then takes less. The folder
    appears when it is complete and its check has passed.
    Raises InvalidInput where the folder exists, the plan is infeasible or the instance cannot be certified, SolverError
    where no proof was found, AnswererError where the plan is not optimal.
    """
    check_target(folder)
    if wrong := instance.violations(plan):
        raise InvalidInput(f"the plan is infeasible: {wrong[0]}")
    with _new_folder(folder) as made:
        _write(instance, objective, plan, made, seconds)
        checked = check(made, seconds=None)
        if checked.wrong:
            raise SolverError(f"the certificate did not pass its own check: {checked.wrong[0]}")
    return checked


def _write(instance: Instance, objective: str, plan: Plan, folder: Path, seconds: float | None) -> None:
    value, proved, parts = instance.evaluate(plan)[objective], 0, []
    translation = translation_of(instance)
    for k, formula in enumerate(translation.formulas(instance, objective, plan), 1):
        text, deadline = formula.text(), Deadline(seconds)
        try:
            proof = elaborated(text, engine.log_of(text, seconds), deadline)
            minimum = checker.check(text, proof)
        except OutOfTime:
            raise SolverError(
                f"exact found a proof, but not all of its steps could be written out for the checker in {seconds:g} s; "
                "give more time or certify a smaller instance"
            ) from None
        except checker.Wrong as wrong:
            raise SolverError(f"exact logged a proof that does not hold: {wrong}") from None
        if minimum is None:
            raise AnswererError(f"the formula '{formula.claim}' has no solution, but the plan is one")
        parts.append(_part(formula, minimum))
        proved += formula.value(minimum)
        (folder / f"{k}.opb").write_text(text, encoding="utf-8")
        (folder / f"{k}.log").write_text(proof, encoding="utf-8")
    if proved != value:
        raise AnswererError(
            f"the plan is not optimal: its {objective} is {value}, and {proved} is proved to be the best"
        )
    shutil.copyfile(Path(checker.__file__), folder / "checker.py")
    write_json(folder / "instance.json", instance.to_json())
    write_json(folder / "plan.json", {**plan.to_json(), "instance_hash": instance.hash})
    document = {
        "kind": KIND,
        "version": VERSION,
        "problem": instance.problem,
        "objective": objective,
        "instance_hash": instance.hash,
        "value": value,
        "lemma": translation.lemma(objective),
        "parts": parts,
        "made_by": {"mlsched": versions()["mlsched"], "exact": engine.version()},
        "sha256": {path.name: hash_of(path, MOST_LOG) for path in sorted(folder.iterdir())},
    }
    write_json(folder / "manifest.json", document)


def _part(formula: Formula, minimum: int) -> dict[str, Any]:
    return {"claim": formula.claim, "minimum": minimum, "scale": formula.scale, "offset": formula.offset}


@contextlib.contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder that gets its name when the block has ended without an error."""
    try:
        with swept_folder(f".{target.name[:100]}.", target.parent) as made:
            yield made
            mask = os.umask(0)
            os.umask(mask)
            made.chmod(0o777 & ~mask)
            made.rename(target)
    except OSError as error:
        raise InvalidInput(f"{shown_path(target)}: cannot be written: {error.strerror}; check the path") from None


def check(folder: Path, *, seconds: float | None = SECONDS) -> Checked:
    """Check a certificate's folder, by code of this mlsched alone: what lies in the folder is read, never run.

    seconds: wall limit, after which the folder is not certified; None: however long it takes.
    Raises InvalidFile where it holds no certificate that could be read.
    """
    started, deadline = time.perf_counter(), Deadline(seconds)
    manifest = manifest_of(folder)
    problem = registry().problem(manifest["problem"])
    wrong = list(wrong_files(folder, manifest))
    instance: Instance
    plan: Plan
    instance, _ = record_of(folder / "instance.json", {t.kind: t for t in problem.instance_types})
    plan, answers = record_of(folder / "plan.json", {instance.plan_type.kind: instance.plan_type})
    objective = type(instance).objective(manifest["objective"]).name
    wrong += ["plan.json answers another instance"] if answers != instance.hash else []
    wrong += _wrong_plan(manifest, instance, plan, objective)
    values: list[int] = []
    if not wrong:
        try:
            wrong = list(_wrong_proofs(folder, manifest, instance, plan, objective, values, deadline))
        except OutOfTime:
            wrong = [f"the check did not end in {seconds:g} s; give it more time (--time-limit)"]
    claims = [] if wrong else translation_of(instance).claims(instance, objective, plan, values)
    value, lemma, took = manifest["value"], manifest["lemma"], time.perf_counter() - started
    return Checked(instance, plan, objective, value, lemma, tuple(wrong), took, tuple(claims))


def _wrong_plan(manifest: dict[str, Any], instance: Instance, plan: Plan, objective: str) -> Iterator[str]:
    """The instance is the one that is named, and the judge gives the plan the value that is claimed."""
    if manifest["instance_hash"] != instance.hash:
        yield "instance.json is not the instance that the manifest names"
    if violations := instance.violations(plan):
        yield f"plan.json is infeasible: {violations[0]}"
    elif (value := instance.evaluate(plan)[objective]) != manifest["value"]:
        yield f"plan.json has {objective} = {value}: the manifest claims {manifest['value']}"


def _wrong_proofs(
    folder: Path,
    manifest: dict[str, Any],
    instance: Instance,
    plan: Plan,
    objective: str,
    values: list[int],
    deadline: Deadline,
) -> Iterator[str]:
    """The formulas are the instance's, the proofs hold, and the minima add up to the value; fills in their `values`."""
    translation, parts = translation_of(instance), manifest["parts"]
    size = sum((folder / f"{k}.opb").stat().st_size for k in range(1, len(parts) + 1))
    try:
        with within(deadline, size):
            formulas = translation.formulas(instance, objective, plan)
    except TooLong:
        yield "the formulas of this instance and plan are longer than those in the folder"
        return
    if manifest["lemma"] != translation.lemma(objective):
        yield "the manifest's lemma is not the one for this objective"
    if len(parts) != len(formulas):
        yield f"the manifest has {len(parts)} parts: must have {len(formulas)}"
        return
    for k, (formula, part) in enumerate(zip(formulas, parts, strict=True), 1):
        text = formula.text()
        if different := first_difference(lines_of(folder / f"{k}.opb", MOST_LOG, deadline), text):
            yield f"{k}.opb is not the formula of this instance and plan: {different}"
            return
        try:
            minimum = limits.check(text, lines_of(folder / f"{k}.log", MOST_LOG, deadline), deadline)
        except checker.Wrong as wrong:
            yield f"{k}.log does not prove {k}.opb: {wrong}"
            return
        if minimum is None or part != _part(formula, minimum):
            yield f"{k}.log proves the minimum {minimum}: the manifest says {shortened(str(part), 100)}"
            return
        values.append(formula.value(minimum))
    if sum(values) != manifest["value"]:
        yield f"{sum(values)} is proved to be the best {objective}: the manifest claims {manifest['value']}"
