"""Shared parts of the backends: a budget of limits for several solves, disjunctions, and the check of a start."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

from mlsched.core.contract import Plan, Sense
from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.formulation import Formulation, Limits, OneOf, Outcome, StoppedBy

#: A backend: solve one formulation for one objective, within limits, from a hint, for plans better than a value.
Backend = Callable[[Formulation, str, Sense, Limits, Plan | None, int | None], Outcome]


class Budget:
    """The limits that several solves share, and their use so far; `unit` is the limited entry of `work`."""

    def __init__(self, limits: Limits, unit: str) -> None:
        self._limits, self._unit = limits, unit
        self._deadline = Deadline(limits.seconds)
        self.work: Counter[str] = Counter()

    def exhausted(self) -> StoppedBy | None:
        """Return the limit that is used up; None if all have some left."""
        if self._limits.work is not None and self.work[self._unit] >= self._limits.work:
            return "work limit"
        return "time limit" if self._deadline.passed() else None

    def remaining(self) -> Limits:
        """Return the remaining limits for the next solve."""
        work = None if self._limits.work is None else self._limits.work - self.work[self._unit]
        return dataclasses.replace(self._limits, seconds=self._deadline.remaining(MOMENT), work=work)


def solve_one_of(
    question: OneOf,
    objective: str,
    sense: Sense,
    budget: Budget,
    hint: Plan | None,
    backend: Backend,
    value_of: Callable[[Plan], int],
    better_than: int | None = None,
) -> Outcome:
    """Return the best plan over all parts; parts whose bound cannot beat the incumbent are not built.

    Parts are solved in the order of their bounds. With `better_than`, only plans with a better value count;
    "infeasible" then means that such a plan does not exist.

    When minimising, the overall bound is the smallest of the incumbent's value, the bounds of the parts that a limit
    ended, and the bounds of the parts that were not reached.
    """
    sign = 1 if sense == "min" else -1
    best, best_value = None, None if better_than is None else sign * better_than
    if question.fallback is not None and (best_value is None or sign * value_of(question.fallback) < best_value):
        best, best_value = question.fallback, sign * value_of(question.fallback)
    open_bounds: list[float] = []
    reason: StoppedBy = "proof"
    for part in sorted(question.parts, key=lambda p: sign * p.bound):
        if best_value is not None and sign * part.bound >= best_value:
            break
        if (limit := budget.exhausted()) is not None:
            reason = limit
            open_bounds.append(sign * part.bound)
            continue
        outcome = backend(part.build(), objective, sense, budget.remaining(), hint, better_than)
        budget.work.update(outcome.work)
        if outcome.plan is not None and (best_value is None or sign * value_of(outcome.plan) < best_value):
            best, best_value = outcome.plan, sign * value_of(outcome.plan)
        if outcome.status in ("feasible", "unknown"):
            reason = outcome.stopped_by
            open_bounds.append(sign * (part.bound if outcome.bound is None else outcome.bound))
    return _disjunction_outcome(best, best_value, open_bounds, sign, reason, budget.work)


def _disjunction_outcome(
    best: Plan | None,
    best_value: float | None,
    open_bounds: list[float],
    sign: int,
    reason: StoppedBy,
    work: Counter[str],
) -> Outcome:
    """Return the outcome of a disjunction.

    Args:
        best: Best plan, if any.
        best_value: Its value of sign * objective, which is minimised.
        open_bounds: Bounds on sign * objective of the unfinished parts.
        sign: 1 to minimise the objective, -1 to maximise it.
        reason: Reason of the end.
        work: Work of all parts, by measure.
    """
    lower_bound = min(open_bounds + ([] if best_value is None else [best_value]), default=None)
    bound = None if lower_bound is None else sign * lower_bound
    if best is None:
        return Outcome("unknown" if open_bounds else "infeasible", None, bound, reason, dict(work))
    if lower_bound == best_value:
        return Outcome("optimal", best, bound, "proof", dict(work))
    return Outcome("feasible", best, bound, reason, dict(work))


def check_hint(pairs: Sequence[tuple[object, int]]) -> None:
    """Refuse a start that names a variable twice, from which CP-SAT returns wrong answers."""
    # Several objects may stand for one CP-SAT variable, which its index identifies; a Pyomo variable is one object.
    keys = [v.index if isinstance(getattr(v, "index", None), int) else id(v) for v, _ in pairs]  # type: ignore[attr-defined]
    if len(set(keys)) != len(keys):
        raise ValueError("a formulation hints a variable twice; encode() must name every variable at most once")
