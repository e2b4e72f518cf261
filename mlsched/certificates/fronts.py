"""A certificate of a front as a folder: an instance, the plans of the points, and a proof that no point is missing.

    instance.json, plans.json     what was asked, and a plan for each point
    1.opb, 1.log                  the plans that no point covers, as a formula (`cover.py`), a proof that there are none
    checker.py                    decides about formula and proof without mlsched: python -I checker.py 1.opb 1.log
    manifest.json                 objectives, what is compared before them, values, and the SHA-256 of every other file

Such a folder is accepted where the judge gives the plans the values that are claimed, no point covers another, the
formula is, letter by letter, what the translation makes of the instance and these values, and the proof holds.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from mlsched.certificates import bundle, by_formulas, checker
from mlsched.certificates.cover import Fronts, claim, points_of, uncovered
from mlsched.certificates.formula import TooLong, within
from mlsched.certificates.received import FRONT, MOST_LOG, VERSION
from mlsched.certificates.translation import translation_of
from mlsched.core import html
from mlsched.core.brief import count_of, short_repr
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import MOMENT, Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, SolverError, one_line, shorten, with_article
from mlsched.core.files import write_json


@dataclasses.dataclass(frozen=True)
class CheckedFront:
    """What the check of a front's folder found: `wrong` is empty exactly when the front is proved whole.

    values: of each plan, its values of the `objectives`; none where a plan is not what is claimed. first: what is
    compared before them: in that, all plans are equal, and none is better. claim: what the proof means, in a sentence
    with these numbers.
    """

    instance: Instance
    plans: tuple[Plan, ...]
    objectives: tuple[str, ...]
    first: tuple[str, ...]
    sort_keys: tuple[tuple[int, ...], ...]
    claim: str
    wrong: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        said = f"not certified: {self.wrong[0]}" if self.wrong else "certified"
        return short_repr(self, f"front of {', '.join(self.objectives)}", count_of(len(self.plans), "point"), said)

    def _repr_html_(self) -> str:
        """For notebooks: the points, or what does not hold."""
        wrong = html.table(["what does not hold"], [[line] for line in self.wrong]) if self.wrong else ""
        points = html.table(self.objectives, self.sort_keys, most=html.MOST_ROWS)
        state = "not certified" if self.wrong else "certified"
        return html.block("certificate of a front", [state, f"checked in {self.seconds:.3g} s"], points, wrong)

    @property
    def evidence(self) -> Literal["certified"] | None:
        """ "certified" where the check passed."""
        return None if self.wrong else "certified"


def certify_front(
    instance: Instance,
    plans: Sequence[Plan],
    objectives: Sequence[str],
    folder: Path,
    *,
    first: Sequence[str] = (),
    seconds: float | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> CheckedFront:
    """Prove by a formula that these plans are the whole front and write the certificate to `folder`.

    Raises InvalidInput where the folder exists, a plan is infeasible or no better than another, or the problem's fronts
    cannot be certified; BackendError where no proof was found; SolverError where a point is missing.
    """
    bundle.check_target(folder)
    fronts = fronts_of(instance, objectives, first)
    for number, plan in enumerate(plans, 1):
        if wrong := instance.violations(plan):
            raise InvalidInput(f"plan {number} of the front is infeasible: {wrong[0]}")
    if not plans:
        raise InvalidInput("the front has no plan: there is nothing to certify")
    judged = [instance.evaluate(plan) for plan in plans]
    points, why = points_of(instance, objectives, first, judged)
    if why:
        raise InvalidInput(f"these plans are no front: {why}")
    with bundle.new_folder(folder) as new:
        deadline = Deadline(seconds)
        try:
            with within(deadline, MOST_LOG):
                formula = uncovered(fronts, instance, points)
        except (OutOfTime, TooLong):
            raise BackendError(
                "the formula could not be stated within the limits; give more time, or ask less"
            ) from None
        size = f"{len(formula.meanings)} variables, {len(formula.constraints)} constraints"
        progress(f"proving that none is missing beside {len(plans)} points: {size}")
        if by_formulas.write_proof(new, 1, formula, deadline.remaining(MOMENT)) is not None:
            raise SolverError(f"the front is not whole: a plan exists that none of its {len(plans)} points covers")
        write_json(new / "plans.json", {"instance_hash": instance.hash, "plans": [plan.to_json() for plan in plans]})
        values = [[row[name] for name in (*first, *objectives)] for row in judged]
        said = {"kind": FRONT, "version": VERSION, "objectives": list(objectives), "first": list(first)}
        progress("checking the proof")
        bundle.seal(new, instance, {**said, "values": values, **by_formulas.signed(new)})
        checked = check_front(new, seconds=None)
        if checked.wrong:
            raise BackendError(f"the certificate did not pass its own check: {checked.wrong[0]}")
    return checked


def fronts_of(instance: Instance, objectives: Sequence[str], first: Sequence[str]) -> Fronts:
    """How the fronts are stated; InvalidInput where these objectives cannot be certified."""
    fronts = translation_of(instance).fronts
    if fronts is None:
        raise InvalidInput(f"fronts of {with_article(instance.kind)} cannot be certified")
    names = (*first, *objectives)
    for name in names:
        if instance.objective(name).name not in fronts.costs:
            raise InvalidInput(f"fronts in {name} cannot be certified; {', '.join(fronts.costs)} can")
    if len(set(names)) < len(names) or not objectives:
        raise InvalidInput(f"objectives = {', '.join(names)}: must be one or more, none of them twice")
    if any((instance.primary(name) is None) != (fronts.rank is None) for name in names):
        raise InvalidInput(
            f"fronts of {with_article(instance.kind)} cannot be certified: what they compare first is not stated"
        )
    return fronts


def check_front(folder: Path, *, seconds: float | None = bundle.SECONDS) -> CheckedFront:
    """Check a front's folder, by code of this mlsched alone: what lies in the folder is read, never run.

    seconds: wall limit, after which the folder is not certified; None: however long it takes.
    Raises InvalidFile where it holds no certificate that could be read.
    """
    started, deadline = time.perf_counter(), Deadline(seconds)
    manifest, instance, plans, wrong = bundle.opened_points(folder, FRONT)
    objectives, first = tuple(manifest["objectives"]), tuple(manifest["first"])
    fronts = fronts_of(instance, objectives, first)
    wrong += wrong_plans(instance, plans, (*first, *objectives), manifest["values"])
    said, judged = "", [] if wrong else [instance.evaluate(plan) for plan in plans]
    if not wrong:
        points, why = points_of(instance, objectives, first, judged)
        wrong += [f"the plans are no front: {why}"] if why else []
    if not wrong:
        said = claim(instance, points)
        try:
            (formula,) = by_formulas.stated(folder, 1, deadline, lambda: [uncovered(fronts, instance, points)])
            minimum = by_formulas.minimum_of(folder, 1, formula, deadline)
            wrong += [] if minimum is None else ["1.log shows a plan that no point covers: a point is missing"]
        except checker.Wrong as error:
            wrong.append(str(error))
        except OutOfTime:
            wrong.append(f"the check did not end in {seconds:g} s; give it more time (--time-limit)")
    values = tuple(tuple(row[name] for name in objectives) for row in judged)
    took = time.perf_counter() - started
    return CheckedFront(instance, tuple(plans), objectives, first, values, said, tuple(map(one_line, wrong)), took)


def wrong_plans(
    instance: Instance, plans: Sequence[Plan], names: Sequence[str], values: Sequence[Any]
) -> Iterator[str]:
    """Whether the judge gives the plans the values of these objectives that are claimed."""
    if len(values) != len(plans):
        yield f"the manifest has {len(values)} points, plans.json {len(plans)}"
        return
    for number, (plan, said) in enumerate(zip(plans, values, strict=True), 1):
        if violations := instance.violations(plan):
            yield f"plan {number} is infeasible: {violations[0]}"
            return
        judged = instance.evaluate(plan)
        row = [judged[name] for name in names]
        if said != row or any(type(value) is not int for value in said):
            yield f"plan {number} has {', '.join(map(str, row))}: the manifest claims {shorten(str(said), 100)}"
            return
