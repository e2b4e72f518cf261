"""A certificate of the points of a front as a folder: by prices, how far they are from the best at most.

    instance.json, plans.json     what was asked, and a plan for each point
    tree.json                     a tree of prices for each claim
    checker.py                    decides about the claims without mlsched: python -I checker.py FOLDER
    manifest.json                 objectives, values, claims, and the SHA-256 of every other file

The points of a front in two objectives get worse in the first and better in the second. Each has a claim of the
epsilon-constraint method: no plan that is better in the second objective than the point before has a better value of
the first than its bound. One more claim bounds the second objective of all plans. These claims speak of every plan:

1. Let a point be as good as the plan in the second objective, and take the first such point. The plan is better there
   than the point before, so that the point's claim bounds the plan. So the point is as good in the second objective,
   and in the first worse by no more than the point's gap.
2. Otherwise the plan is better in the second objective than all points. The last point's claim bounds it: that point
   is worse in the first by no more than its gap, and in the second by no more than the gap of the last claim.

Where all bounds are the points' own values, the points are the whole front.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from mlsched.certificates import bundle, by_prices
from mlsched.certificates.fronts import wrong_plans
from mlsched.certificates.prices.statement import Within, statement_of
from mlsched.certificates.received import MOST_BITS, POINTS, VERSION
from mlsched.core import html
from mlsched.core.brief import count_of, short_repr
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, one_line, with_article
from mlsched.core.files import write_json
from mlsched.core.gap import Gap

#: What is claimed: an objective, a point's value of it, and what plans are as good as of which the claim speaks.
Claim = tuple[str, int, Within]
#: Proves a bound for a claim: a tree, and the bound.
Prove = Callable[[str, int, Within], tuple[list[Any], int]]


@dataclasses.dataclass(frozen=True)
class CheckedPoints:
    """What the check of the folder of a front's points found: `wrong` is empty exactly when its claims are proved.

    objectives: two. values: of each plan, its values of them; none where a plan is not what is claimed. bounds: of each
    plan, a bound on the first objective of all plans that are better in the second than the plan before; then one on
    the second objective of all plans.
    """

    instance: Instance
    plans: tuple[Plan, ...]
    objectives: tuple[str, ...]
    sort_keys: tuple[tuple[int, ...], ...]
    bounds: tuple[int, ...]
    wrong: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        said = f"not certified: {self.wrong[0]}" if self.wrong else "certified" if self.evidence else self.claim
        return short_repr(self, f"front of {', '.join(self.objectives)}", count_of(len(self.plans), "point"), said)

    def _repr_html_(self) -> str:
        """For notebooks: the points and their gaps, or what does not hold."""
        wrong = html.table(["what does not hold"], [[line] for line in self.wrong]) if self.wrong else ""
        of_points = zip(self.sort_keys, self.bounds, self.gaps, strict=False)  # the last bound is of no point
        rows = [[*row, bound, gap.rounded_up] for row, bound, gap in of_points]
        points = html.table([*self.objectives, "bound", "gap at most"], rows, most=html.MOST_ROWS)
        state = "not certified" if self.wrong else "certified" if self.evidence else self.claim
        return html.block("certificate of points", [state, f"checked in {self.seconds:.3g} s"], points, wrong)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """How far each point is from its bound at most, in the first objective; then the last point, in the second.

        Empty where the check did not pass.
        """
        if self.wrong:
            return ()
        asked = claims_of(self.instance, self.objectives, self.sort_keys)
        return tuple(
            bundle.gap_of(self.instance, name, value, bound)
            for (name, value, _), bound in zip(asked, self.bounds, strict=True)
        )

    @property
    def evidence(self) -> Literal["certified"] | None:
        """ "certified" where the check passed and the points are the whole front."""
        return "certified" if self.gaps and not any(gap.difference for gap in self.gaps) else None

    @property
    def claim(self) -> str:
        """What the claims say together, in a sentence with these numbers; "" where the check did not pass."""
        if self.wrong:
            return ""
        (*first, last), (name, other) = self.gaps, self.objectives
        point = "the point" if len(first) == 1 else f"one of the {len(first)} points"
        beyond = f", or at most {last.rounded_up} worse in {other} where the plan is better there than all points"
        said = f"for every plan, {point} is as good in {other} and at most {_largest(first)} worse in {name}"
        return said + (beyond if last.difference else "")


def check_objectives(instance: Instance, objectives: Sequence[str]) -> None:
    """InvalidInput where points of fronts in these objectives cannot be certified."""
    statement = statement_of(instance)
    if not statement.limits:
        raise InvalidInput(f"points of fronts of {with_article(instance.kind)} cannot be certified")
    if len(objectives) != 2 or objectives[0] == objectives[1]:
        raise InvalidInput(
            f"objectives = {', '.join(objectives)}: must be two, for points of a front to be certified by prices"
        )
    for name in objectives:
        statement.check(instance.objective(name).name)
        if instance.primary(name) is not None:
            raise InvalidInput(f"points of fronts in {name} cannot be certified: what it compares first is not stated")


def certify_points(
    instance: Instance, plans: Sequence[Plan], objectives: Sequence[str], folder: Path, prove: Prove
) -> CheckedPoints:
    """Have the bounds of all points proved and write the certificate to `folder`.

    Raises InvalidInput where the folder exists, a plan is infeasible or no better than another, or the problem's points
    cannot be certified.
    """
    bundle.check_target(folder)
    check_objectives(instance, objectives)
    for number, plan in enumerate(plans, 1):
        if wrong := instance.violations(plan):
            raise InvalidInput(f"plan {number} of the front is infeasible: {wrong[0]}")
    if not plans:
        raise InvalidInput("the front has no plan: there is nothing to certify")
    judged = [(tuple(instance.evaluate(plan)[name] for name in objectives), plan) for plan in plans]
    judged.sort(key=lambda one: _sign(instance, objectives[0]) * one[0][0])
    values = [row for row, _ in judged]
    if why := _disorder(instance, objectives, values):
        raise InvalidInput(f"these plans are no front: {why}")
    claims, trees = [], []
    for name, value, within in claims_of(instance, objectives, values):
        tree, bound = prove(name, value, within)
        trees.append(tree)
        claims.append({"objective": name, "bound": bound, "within": dict(within)})
    with bundle.new_folder(folder) as new:
        (new / "checker.py").write_text(statement_of(instance).points_checker(), encoding="utf-8")
        write_json(new / "tree.json", {"trees": trees})
        written = [plan.to_json() for _, plan in judged]
        write_json(new / "plans.json", {"instance_hash": instance.hash, "plans": written})
        said = {"kind": POINTS, "version": VERSION, "objectives": list(objectives), "made_by": {}}
        bundle.seal(new, instance, {**said, "values": [list(row) for row in values], "claims": claims})
        checked = check_points(new, seconds=None)
        if checked.wrong:
            raise BackendError(f"the certificate did not pass its own check: {checked.wrong[0]}")
    return checked


def check_points(folder: Path, *, seconds: float | None = bundle.SECONDS) -> CheckedPoints:
    """Check a folder of points, by code of this mlsched alone: what lies in the folder is read, never run.

    seconds: wall limit, after which the folder is not certified; None: however long it takes.
    Raises InvalidFile where it holds no certificate that could be read.
    """
    started, deadline = time.perf_counter(), Deadline(seconds)
    manifest, instance, plans, wrong = bundle.opened_points(folder, POINTS)
    objectives = tuple(manifest["objectives"])
    check_objectives(instance, objectives)
    wrong += wrong_plans(instance, plans, objectives, manifest["values"])
    values: tuple[tuple[int, ...], ...] = ()
    bounds: tuple[int, ...] = ()
    if not wrong:
        values = tuple(tuple(row) for row in manifest["values"])
        if why := _disorder(instance, objectives, values):
            wrong.append(f"the plans are no front: {why}")
    if not wrong:
        claims, said = claims_of(instance, objectives, values), manifest["claims"]
        wrong += _wrong_claims(said, claims)
        bounds = () if wrong else tuple(one["bound"] for one in said)
        try:
            wrong += [] if wrong else _unproved(folder, instance, claims, bounds, deadline)
        except OutOfTime:
            wrong.append(f"the check did not end in {seconds:g} s; give it more time (--time-limit)")
    took = time.perf_counter() - started
    return CheckedPoints(instance, tuple(plans), objectives, values, bounds, tuple(map(one_line, wrong)), took)


def claims_of(instance: Instance, objectives: Sequence[str], values: Sequence[Sequence[int]]) -> list[Claim]:
    """The claims that points need: one for each, and one on the second objective."""
    first, second = objectives
    better = _sign(instance, second)
    limits: list[Within] = [(), *(((second, row[1] - better),) for row in values[:-1])]
    claims: list[Claim] = [(first, row[0], limit) for row, limit in zip(values, limits, strict=True)]
    return [*claims, (second, values[-1][1], ())]


def _largest(gaps: Sequence[Gap]) -> str:
    """In words, what none of some gaps exceeds: of those that are shares, and of those that cannot be, the largest."""
    shares = [gap for gap in gaps if gap.share is not None or not gap.difference]
    others = [gap for gap in gaps if gap.share is None and gap.difference]
    most = [max(shares, key=lambda gap: gap.share or 0)] if shares else []
    most += [max(others, key=lambda gap: gap.difference)] if others else []
    return " or ".join(gap.rounded_up for gap in most if gap.difference or len(most) == 1)


def _sign(instance: Instance, objective: str) -> int:
    return 1 if instance.objective(objective).sense == "min" else -1


def _disorder(instance: Instance, objectives: Sequence[str], values: Sequence[Sequence[int]]) -> str:
    """Why points do not get worse in the first objective and better in the second; "" where they do."""
    first, second = (_sign(instance, name) for name in objectives)
    for number, (before, row) in enumerate(zip(values, values[1:], strict=False), 2):
        if first * row[0] <= first * before[0] or second * row[1] >= second * before[1]:
            return f"point {number} is not worse in {objectives[0]} and better in {objectives[1]} than the one before"
    return ""


def _wrong_claims(said: list[Any], claims: list[Claim]) -> Iterator[str]:
    """Whether what is said is the claims that the points need, with any bounds."""
    if len(said) != len(claims):
        yield f"the manifest has {len(said)} claims: these points need {len(claims)}"
        return
    for number, (one, (name, _, within)) in enumerate(zip(said, claims, strict=True), 1):
        bound = one.get("bound") if isinstance(one, dict) else None
        if type(bound) is not int or bound.bit_length() > MOST_BITS:
            yield f"claim {number} has no bound that is an integer of at most {MOST_BITS} bits"
        elif one != {"objective": name, "bound": bound, "within": dict(within)} or not _integers(one["within"]):
            plans = "".join(f" of plans with {other} as good as {limit}" for other, limit in within)
            yield f"claim {number} is not about {name}{plans}"


def _integers(limits: dict[str, Any]) -> bool:
    """Whether all are integers; 5.0, which equals one, is refused by `checker.py`."""
    return all(type(limit) is int for limit in limits.values())


def _unproved(
    folder: Path, instance: Instance, claims: list[Claim], bounds: Sequence[int], deadline: Deadline
) -> Iterator[str]:
    """Which claims the trees do not prove."""
    trees = by_prices.trees_in(folder)
    if len(trees) != len(claims):
        yield f"there are {len(trees)} trees: these points need {len(claims)}"
        return
    for number, ((name, _, within), bound, tree) in enumerate(zip(claims, bounds, trees, strict=True), 1):
        for why in by_prices.unproved(instance, name, bound, [tree], deadline, within):
            yield f"claim {number}: {why}"
