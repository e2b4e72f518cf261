"""Logic certificates: the 0-1 formulas of an instance and its objectives, and logged proofs of their minima.

    1.opb, 1.log, 2.opb, ...      a formula, and a proof of its minimum
    checker.py                    decides about formula and proof without mlsched: python checker.py 1.opb 1.log

The formulas must equal, letter by letter, the translation of the instance and the plans. For one plan, their minima add
up to its value. A front has one formula of the plans that its points do not cover (`cover.py`), which must be
unsolvable.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mlsched.certificates import checker, engine, limits
from mlsched.certificates.claimed import Claimed
from mlsched.certificates.cover import Fronts, Points, explain_cover, points_of, uncovered
from mlsched.certificates.elaborate import elaborated
from mlsched.certificates.formula import Formula, TooLong, within
from mlsched.certificates.limits import first_difference, lines_of
from mlsched.certificates.received import MOST_LOG
from mlsched.certificates.translation import translation_of
from mlsched.core.contract import Instance
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, SolverError, shorten, with_article


class Logic(Claimed):
    """Plans that formulas prove to be the best, or the complete front."""

    kind = "logic"

    @staticmethod
    def check(instance: Instance, objectives: Sequence[str], first: Sequence[str]) -> None:
        """Implement `Claimed.check`."""
        if first or len(objectives) != 1:
            fronts_of(instance, objectives, first)
        else:
            translation_of(instance).lemma(instance.objective(objectives[0]).name)

    @property
    def lemma(self) -> str:
        """Implement `Claimed.lemma`."""
        return "" if self.of_front else translation_of(self.instance).lemma(self.objectives[0])

    def disorder(self) -> str:
        """Implement `Claimed.disorder`."""
        return self._judged_points()[1]

    def _judged_points(self) -> tuple[Points, str]:
        rows = [dict(zip((*self.first, *self.objectives), row, strict=True)) for row in self.values]
        return points_of(self.instance, self.objectives, self.first, rows)

    def formulas(self) -> list[Formula]:
        """Return the formulas of the claim."""
        if not self.of_front:
            return translation_of(self.instance).formulas(self.instance, self.objectives[0], self.plans[0])
        fronts = fronts_of(self.instance, self.objectives, self.first)
        return [uncovered(fronts, self.instance, self._judged_points()[0])]

    def refutation(self, formulas: Sequence[Formula], minima: Sequence[int | None]) -> str:
        """Return why minima of the formulas refute the claim; "" if they prove it."""
        if self.of_front:
            return "" if minima == [None] else f"a plan exists that none of its {len(self.plans)} points covers"
        if None in minima:
            return "a formula has no solution, but the plan is one"
        best = sum(formula.value(minimum or 0) for formula, minimum in zip(formulas, minima, strict=True))
        (value,) = self.values[0]
        return "" if best == value else f"its {self.objectives[0]} is {value}, and {best} is proved to be the best"

    def wrong_proofs(self, folder: Path, proofs: list[object], claims: list[str], deadline: Deadline) -> Iterator[str]:
        """Implement `Claimed.wrong_proofs`."""
        minima: list[int | None] = []
        try:
            formulas = stated_formulas(folder, len(proofs), deadline, self.formulas)
            if len(proofs) != len(formulas):
                yield f"the manifest has {len(proofs)} proofs, expected {len(formulas)}"
                return
            for k, (formula, entry) in enumerate(zip(formulas, proofs, strict=True), 1):
                minima.append(minimum_of(folder, k, formula, deadline))
                if entry != _proof_entry(formula, minima[-1]):
                    yield f"{k}.log proves the minimum {minima[-1]}: the manifest says {shorten(str(entry), 100)}"
                    return
        except checker.Wrong as wrong:
            yield str(wrong)
            return
        if why := self.refutation(formulas, minima):
            yield f"the proofs are of another claim: {why}"
        elif self.of_front:
            claims.append(explain_cover(self.instance, self._judged_points()[0]))
        else:
            values = [formula.value(minimum or 0) for formula, minimum in zip(formulas, minima, strict=True)]
            claims += translation_of(self.instance).claims(self.instance, self.objectives[0], self.plans[0], values)

    def bounds(self, proofs: list[Any]) -> tuple[int, ...]:
        """Implement `Claimed.bounds`."""
        return () if self.of_front else tuple(self.values[0])


def write(claimed: Logic, folder: Path, seconds: float | None, progress: Callable[[str], None]) -> dict[str, Any]:
    """Write formulas, proofs and checker to `folder`; return their manifest entries.

    seconds: Limit on stating the formulas, and on each proof with the writing of its steps.
    """
    try:
        with within(Deadline(seconds), MOST_LOG):
            formulas = claimed.formulas()
    except (OutOfTime, TooLong):
        raise BackendError(
            "the formula could not be stated within the limits; give more time, or a smaller instance"
        ) from None
    minima = []
    for k, formula in enumerate(formulas, 1):
        size = f"{len(formula.meanings)} variables, {len(formula.constraints)} constraints"
        progress(f"proving formula {k} of {len(formulas)}: {size}")
        minima.append(write_proof(folder, k, formula, seconds))
    if why := claimed.refutation(formulas, minima):
        raise SolverError(f"{'the front is not whole' if claimed.of_front else 'the plan is not optimal'}: {why}")
    shutil.copyfile(Path(checker.__file__), folder / "checker.py")
    parts = [_proof_entry(formula, minimum) for formula, minimum in zip(formulas, minima, strict=True)]
    return {"proofs": parts, "made_by": {"exact": engine.version()}}


def write_proof(folder: Path, k: int, formula: Formula, seconds: float | None) -> int | None:
    """Find a proof of the formula's minimum and write both as number k; return the minimum, None if unsolvable.

    seconds: Limit on the search and on writing its steps. BackendError is raised if it passes without a proof.
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
        raise BackendError(f"exact logged an invalid proof: {wrong}") from None
    (folder / f"{k}.opb").write_text(text, encoding="utf-8")
    (folder / f"{k}.log").write_text(proof, encoding="utf-8")
    return minimum


def _proof_entry(formula: Formula, minimum: int | None) -> dict[str, object]:
    return {"claim": formula.claim, "minimum": minimum, "scale": formula.scale, "offset": formula.offset}


def fronts_of(instance: Instance, objectives: Sequence[str], first: Sequence[str]) -> Fronts:
    """Return the statement of the fronts; raise InvalidInput if these objectives cannot be certified."""
    fronts = translation_of(instance).fronts
    if fronts is None:
        raise InvalidInput(f"fronts of {with_article(instance.kind)} cannot be certified")
    names = (*first, *objectives)
    for name in names:
        if instance.objective(name).name not in fronts.costs:
            raise InvalidInput(f"fronts in {name} cannot be certified; {', '.join(fronts.costs)} can")
    if len(set(names)) < len(names) or not objectives:
        raise InvalidInput(f"objectives: {', '.join(names)}, expected one or more different names")
    if any((instance.primary(name) is None) != (fronts.rank is None) for name in names):
        raise InvalidInput(
            f"fronts of {with_article(instance.kind)} cannot be certified: their primary criterion is not stated"
        )
    return fronts


def stated_formulas(folder: Path, parts: int, deadline: Deadline, make: Callable[[], list[Formula]]) -> list[Formula]:
    """Return the formulas of `make`; Wrong if they are longer than the folder's formulas, OutOfTime at the deadline."""
    size = sum((folder / f"{k}.opb").stat().st_size for k in range(1, parts + 1))
    try:
        with within(deadline, size):
            return make()
    except TooLong:
        raise checker.Wrong("the formulas of this instance and plan are longer than those in the folder") from None


def minimum_of(folder: Path, k: int, formula: Formula, deadline: Deadline) -> int | None:
    """Return the minimum of a formula, None if it is unsolvable, as proven by proof k of the folder.

    Raises:
        Wrong: Formula k of the folder differs, or the proof is wrong.
    """
    text = formula.text()
    if different := first_difference(lines_of(folder / f"{k}.opb", MOST_LOG, deadline), text):
        raise checker.Wrong(f"{k}.opb is not the formula of this instance and plan: {different}")
    try:
        return limits.check(text, lines_of(folder / f"{k}.log", MOST_LOG, deadline), deadline)
    except checker.Wrong as wrong:
        raise checker.Wrong(f"{k}.log does not prove {k}.opb: {wrong}") from None
