"""Logic certificates: 0-1 formulas that an instance and an objective ask, and logged proofs of their minima.

    1.opb, 1.log, 2.opb, ...      a formula, and a proof of its minimum
    checker.py                    decides about formula and proof without mlsched: python checker.py 1.opb 1.log

Such a folder is accepted where the formulas are, letter by letter, what the translation makes of the instance, the
checker accepts the proofs, and the minima add up to the value.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mlsched.certificates import checker, engine, limits
from mlsched.certificates.elaborate import elaborated
from mlsched.certificates.formula import Formula, TooLong, within
from mlsched.certificates.limits import first_difference, lines_of
from mlsched.certificates.received import KIND, MOST_LOG, VERSION
from mlsched.certificates.translation import translation_of
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, SolverError, shorten


def write(instance: Instance, objective: str, plan: Plan, folder: Path, seconds: float | None) -> dict[str, Any]:
    """Write formulas, proofs and checker to `folder`; what the manifest says of them.

    seconds: limit on the search for each proof and on writing out its steps.
    """
    value, proved, parts = instance.evaluate(plan)[objective], 0, []
    translation = translation_of(instance)
    for k, formula in enumerate(translation.formulas(instance, objective, plan), 1):
        minimum = write_proof(folder, k, formula, seconds)
        if minimum is None:
            raise SolverError(f"the formula '{formula.claim}' has no solution, but the plan is one")
        parts.append(_part(formula, minimum))
        proved += formula.value(minimum)
    if proved != value:
        raise SolverError(f"the plan is not optimal: its {objective} is {value}, and {proved} is proved to be the best")
    return {"kind": KIND, "version": VERSION, "lemma": translation.lemma(objective), "parts": parts, **signed(folder)}


def write_proof(folder: Path, k: int, formula: Formula, seconds: float | None) -> int | None:
    """Find a proof of the formula's minimum and write both as number k; the minimum, None: there is no solution.

    seconds: limit on the search and on writing out its steps. Raises BackendError where there is no proof then.
    """
    text, deadline = formula.text(), Deadline(seconds)
    try:
        proof = elaborated(text, engine.log_of(text, seconds), deadline)
        minimum = checker.check(text, proof)
    except OutOfTime:
        raise BackendError(
            f"exact found a proof, but not all of its steps could be written out for the checker in {seconds:g} s; "
            "give more time or certify a smaller instance"
        ) from None
    except checker.Wrong as wrong:
        raise BackendError(f"exact logged a proof that does not hold: {wrong}") from None
    (folder / f"{k}.opb").write_text(text, encoding="utf-8")
    (folder / f"{k}.log").write_text(proof, encoding="utf-8")
    return minimum


def signed(folder: Path) -> dict[str, Any]:
    """Put the checker into the folder; what the manifest says of who made the proofs."""
    shutil.copyfile(Path(checker.__file__), folder / "checker.py")
    return {"made_by": {"exact": engine.version()}}


def _part(formula: Formula, minimum: int) -> dict[str, Any]:
    return {"claim": formula.claim, "minimum": minimum, "scale": formula.scale, "offset": formula.offset}


def wrong_proofs(
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
    try:
        formulas = stated(folder, len(parts), deadline, lambda: translation.formulas(instance, objective, plan))
    except checker.Wrong as wrong:
        yield str(wrong)
        return
    if manifest["lemma"] != translation.lemma(objective):
        yield "the manifest's lemma is not the one for this objective"
    if len(parts) != len(formulas):
        yield f"the manifest has {len(parts)} parts: must have {len(formulas)}"
        return
    for k, (formula, part) in enumerate(zip(formulas, parts, strict=True), 1):
        try:
            minimum = minimum_of(folder, k, formula, deadline)
        except checker.Wrong as wrong:
            yield str(wrong)
            return
        if minimum is None or part != _part(formula, minimum):
            yield f"{k}.log proves the minimum {minimum}: the manifest says {shorten(str(part), 100)}"
            return
        values.append(formula.value(minimum))
    if sum(values) != manifest["value"]:
        yield f"{sum(values)} is proved to be the best {objective}: the manifest claims {manifest['value']}"


def stated(folder: Path, parts: int, deadline: Deadline, make: Callable[[], list[Formula]]) -> list[Formula]:
    """What `make` makes; Wrong where its text is longer than the folder's formulas, OutOfTime at the deadline."""
    size = sum((folder / f"{k}.opb").stat().st_size for k in range(1, parts + 1))
    try:
        with within(deadline, size):
            return make()
    except TooLong:
        raise checker.Wrong("the formulas of this instance and plan are longer than those in the folder") from None


def minimum_of(folder: Path, k: int, formula: Formula, deadline: Deadline) -> int | None:
    """The minimum of a formula, None where it has no solution, as proof k of the folder shows.

    Raises Wrong where formula k of the folder is another one, or the proof does not hold.
    """
    text = formula.text()
    if different := first_difference(lines_of(folder / f"{k}.opb", MOST_LOG, deadline), text):
        raise checker.Wrong(f"{k}.opb is not the formula of this instance and plan: {different}")
    try:
        return limits.check(text, lines_of(folder / f"{k}.log", MOST_LOG, deadline), deadline)
    except checker.Wrong as wrong:
        raise checker.Wrong(f"{k}.log does not prove {k}.opb: {wrong}") from None
