"""The result of a check: plans, what is claimed of them, and why that is not proved, where it is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from mlsched.certificates.claimed import Kind, claims_of, gap_of
from mlsched.core import html
from mlsched.core.brief import count_of, short_repr
from mlsched.core.contract import Instance, Objective, Plan, Primary, format_value, stated_bound
from mlsched.core.gap import Gap


@dataclasses.dataclass(frozen=True)
class Checked:
    """The result of the check of a certificate: `wrong` is empty exactly if all its claims are proved.

    A certificate of one plan has one objective. A certificate of a front has one plan per point. Its objectives are
    compared after those of `first`, in which all plans are equal.

    Attributes:
        sort_keys: values of the `objectives` that order plans, shape (plans, objectives); empty if the plans do not
            have the values that the folder claims.
        bounds: no plan has a better sort key. A dual certificate of a front has one bound per point on the first
            objective of all plans that are better in the second than the point before, then one on the second
            objective of all plans. Logic certificates of fronts have none.
        proof: "dual" or "logic".
        lemma: why formulas leave out nothing that is better; no formula proves it.
        claims: the numbers of this instance and its plans that the lemma and the proof rest on, recomputed.
        seconds: wall time of the check.
    """

    instance: Instance
    plans: tuple[Plan, ...]
    objectives: tuple[str, ...]
    first: tuple[str, ...]
    sort_keys: tuple[tuple[int, ...], ...]
    bounds: tuple[int, ...]
    proof: Kind
    lemma: str
    claims: tuple[str, ...]
    wrong: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        if self.of_front:
            shown = [f"front of {', '.join(self.objectives)}", count_of(len(self.plans), "point")]
        else:
            known = "" if self.sort_key is None else f" {format_value(self.sort_key, self.primary, self.goal.unit)}"
            shown = [f"{self.objective}{known}"]
        return short_repr(self, *shown, self._state())

    def _repr_html_(self) -> str:
        """Return the points and their gaps, or the reasons of a refusal, for notebooks."""
        wrong = html.html_table(["refused because"], [[line] for line in self.wrong]) if self.wrong else ""
        names, rows = list(self.objectives), [list[Any](row) for row in self.sort_keys]
        if not self.of_front and rows:
            rows = [[self.value]]
        if self.gaps:
            bounds = self.bounds if self.of_front else [self.bound]
            names += ["bound", "gap at most"]
            rows = [[*row, b, gap.rounded_up] for row, b, gap in zip(rows, bounds, self.gaps, strict=False)]
        points = html.html_table(names, rows, most=html.MAX_ROWS)
        return html.titled_block(
            f"{self.proof} certificate", [self._state(), f"checked in {self.seconds:.3g} s"], points, wrong
        )

    def _state(self) -> str:
        if self.wrong:
            return f"not certified: {self.wrong[0]}"
        if self.evidence:
            return "certified"
        return self.claim if self.of_front else f"certified: at most {self.shown_gap} from the best"

    @property
    def of_front(self) -> bool:
        """True if the certificate is of a front: its objectives are several, or others are compared before."""
        return bool(self.first) or len(self.objectives) != 1

    @property
    def plan(self) -> Plan:
        """The plan; of a front, that of the first point."""
        return self.plans[0]

    @property
    def objective(self) -> str:
        """The name of the objective; of a front, the first of them."""
        return self.objectives[0]

    @property
    def goal(self) -> Objective:
        """The objective with its sense and unit."""
        return self.instance.objective(self.objective)

    @property
    def primary(self) -> Primary | None:
        """The primary criterion of the objective."""
        return self.instance.primary(self.objective)

    @property
    def sort_key(self) -> int | None:
        """The plan's sort key; None if the plan does not have the value that the folder claims."""
        return self.sort_keys[0][0] if self.sort_keys else None

    @property
    def sort_bound(self) -> int | None:
        """No plan has a better sort key; None where the check did not come so far."""
        return self.bounds[0] if self.bounds else None

    @property
    def value(self) -> int | None:
        """The plan's value in the unit of the objective, without the primary criterion."""
        if self.sort_key is None or self.primary is None:
            return self.sort_key
        return int(self.primary.split(self.sort_key)[1])

    @property
    def bound(self) -> int | None:
        """The bound in that unit; None where it has another count than the plan."""
        if self.sort_key is None:
            return None
        shown = stated_bound(self.sort_key, self.sort_bound, self.primary)
        return None if shown is None else int(shown)

    @property
    def evidence(self) -> Literal["certified"] | None:
        """ "certified" if the check passed and the plan is optimal, or the points are the whole front."""
        if self.wrong:
            return None
        asked = claims_of(self.instance, self.objectives, self.sort_keys) if self.bounds else []
        met = all(value == bound for (_, value, _), bound in zip(asked, self.bounds, strict=True))
        return "certified" if met else None

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """How far each point is from its bound at most, in the first objective; then the last point, in the second.

        Empty where the check did not pass, and for logic certificates of fronts, which have no bounds.
        """
        if self.wrong or not self.bounds:
            return ()
        asked = claims_of(self.instance, self.objectives, self.sort_keys)
        return tuple(
            gap_of(self.instance, name, value, bound)
            for (name, value, _), bound in zip(asked, self.bounds, strict=True)
        )

    @property
    def gap(self) -> Gap | None:
        """How far the plan is from the best at most, where the check passed."""
        return self.gaps[0] if self.gaps else None

    @property
    def shown_gap(self) -> str | None:
        """`gap` in words, rounded up: "1.1 %", "12 ticks"; None where the check did not pass."""
        return None if self.gap is None else self.gap.rounded_up

    @property
    def claim(self) -> str:
        """The claims about a front in one sentence with its numbers; "" where the check did not pass."""
        if self.wrong or not self.of_front:
            return ""
        if not self.bounds:
            return self.claims[0]
        (*first, last), (name, other) = self.gaps, self.objectives
        point = "the point" if len(first) == 1 else f"one of the {len(first)} points"
        beyond = f", or at most {last.rounded_up} worse in {other} where the plan is better there than all points"
        said = f"for every plan, {point} is as good in {other} and at most {_largest(first)} worse in {name}"
        return said + (beyond if last.difference else "")


def _largest(gaps: Sequence[Gap]) -> str:
    """In words, what none of some gaps exceeds: of those that are shares, and of those that cannot be, the largest."""
    shares = [gap for gap in gaps if gap.share is not None or not gap.difference]
    others = [gap for gap in gaps if gap.share is None and gap.difference]
    most = [max(shares, key=lambda gap: gap.share or 0)] if shares else []
    most += [max(others, key=lambda gap: gap.difference)] if others else []
    return " or ".join(gap.rounded_up for gap in most if gap.difference or len(most) == 1)
