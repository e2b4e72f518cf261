"""The result of a check: plans, the claims about them, and the reasons if they are not proved."""

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
        sort_keys: Values of the `objectives` that order plans, shape (plans, objectives); empty if the plans do not
            have the values that the folder claims.
        bounds: Bounds on every plan's sort key. A dual certificate of a front has one bound per point, on the first
            objective of all plans that are better in the second than the previous point, then one on the second
            objective of all plans. Logic certificates of fronts have an empty tuple.
        proof: "dual" or "logic".
        lemma: Why the formulas omit only plans that are not better; formulas do not prove it.
        claims: The numbers of this instance and its plans behind the lemma and the proof, recomputed.
        seconds: Wall time of the check.
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
            parts = [f"front of {', '.join(self.objectives)}", count_of(len(self.plans), "point")]
        else:
            value_text = (
                "" if self.sort_key is None else f" {format_value(self.sort_key, self.primary, self.goal.unit)}"
            )
            parts = [f"{self.objective}{value_text}"]
        return short_repr(self, *parts, self._state_text())

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
            f"{self.proof} certificate", [self._state_text(), f"checked in {self.seconds:.3g} s"], points, wrong
        )

    def _state_text(self) -> str:
        if self.wrong:
            return f"not certified: {self.wrong[0]}"
        if self.evidence:
            return "certified"
        return self.claim if self.of_front else f"certified: at most {self.shown_gap} from the best"

    @property
    def of_front(self) -> bool:
        """Return True if the certificate is of a front: it has several objectives, or others are compared before."""
        return bool(self.first) or len(self.objectives) != 1

    @property
    def plan(self) -> Plan:
        """Return the plan; of a front, the plan of the first point."""
        return self.plans[0]

    @property
    def objective(self) -> str:
        """Return the name of the objective; of a front, the first of them."""
        return self.objectives[0]

    @property
    def goal(self) -> Objective:
        """Return the objective with its sense and unit."""
        return self.instance.objective(self.objective)

    @property
    def primary(self) -> Primary | None:
        """Return the primary criterion of the objective."""
        return self.instance.primary(self.objective)

    @property
    def sort_key(self) -> int | None:
        """Return the plan's sort key; None if the plan does not have the value that the folder claims."""
        return self.sort_keys[0][0] if self.sort_keys else None

    @property
    def sort_bound(self) -> int | None:
        """Return the bound on all sort keys; None if the check did not reach it."""
        return self.bounds[0] if self.bounds else None

    @property
    def value(self) -> int | None:
        """Return the plan's value in the unit of the objective, without the primary criterion."""
        if self.sort_key is None or self.primary is None:
            return self.sort_key
        return int(self.primary.split(self.sort_key)[1])

    @property
    def bound(self) -> int | None:
        """Return the bound in that unit; None if its primary criterion differs from the plan's."""
        if self.sort_key is None:
            return None
        stated = stated_bound(self.sort_key, self.sort_bound, self.primary)
        return None if stated is None else int(stated)

    @property
    def evidence(self) -> Literal["certified"] | None:
        """Return "certified" if the check passed and the plan is optimal, or the points are the complete front."""
        if self.wrong:
            return None
        needed_claims = claims_of(self.instance, self.objectives, self.sort_keys) if self.bounds else []
        is_optimal = all(value == bound for (_, value, _), bound in zip(needed_claims, self.bounds, strict=True))
        return "certified" if is_optimal else None

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return each point's gap to its bound in the first objective, then the last point's in the second.

        Empty if the check did not pass, and for logic certificates of fronts, which lack bounds.
        """
        if self.wrong or not self.bounds:
            return ()
        needed_claims = claims_of(self.instance, self.objectives, self.sort_keys)
        return tuple(
            gap_of(self.instance, name, value, bound)
            for (name, value, _), bound in zip(needed_claims, self.bounds, strict=True)
        )

    @property
    def gap(self) -> Gap | None:
        """Return the plan's gap to the bound, if the check passed."""
        return self.gaps[0] if self.gaps else None

    @property
    def shown_gap(self) -> str | None:
        """Return `gap` in words, rounded up: "1.1 %", "12 ticks"; None if the check did not pass."""
        return None if self.gap is None else self.gap.rounded_up

    @property
    def claim(self) -> str:
        """Return the claims about a front in one sentence with its numbers; "" if the check did not pass."""
        if self.wrong or not self.of_front:
            return ""
        if not self.bounds:
            return self.claims[0]
        (*first, last), (name, other) = self.gaps, self.objectives
        point = "the point" if len(first) == 1 else f"one of the {len(first)} points"
        beyond = f", or at most {last.rounded_up} worse in {other} where the plan is better there than all points"
        sentence = f"for every plan, {point} is as good in {other} and at most {_largest_gap(first)} worse in {name}"
        return sentence + (beyond if last.difference else "")


def _largest_gap(gaps: Sequence[Gap]) -> str:
    """Format the largest gap: of the relative gaps, and of the gaps that cannot be relative."""
    shares = [gap for gap in gaps if gap.share is not None or not gap.difference]
    others = [gap for gap in gaps if gap.share is None and gap.difference]
    most = [max(shares, key=lambda gap: gap.share or 0)] if shares else []
    most += [max(others, key=lambda gap: gap.difference)] if others else []
    return " or ".join(gap.rounded_up for gap in most if gap.difference or len(most) == 1)
