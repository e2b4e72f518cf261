"""Running a formulation: what the backends have in common."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Sequence

from mlsched.core.contract import Plan, Sense
from mlsched.core.formulation import Formulation, Limits, OneOf, Outcome, StoppedBy

#: A backend: solve one formulation for one objective, within limits, from a hint.
Backend = Callable[[Formulation, str, Sense, Limits, Plan | None], Outcome]


class Budget:
    """What is left of the limits while several solves share them; `unit` is the entry of `work` that is limited."""

    def __init__(self, limits: Limits, unit: str) -> None:
        self._limits, self._unit = limits, unit
        self._started = time.perf_counter()
        self.work: Counter[str] = Counter()

    def exhausted(self) -> StoppedBy | None:
        """Which limit is used up, if one is."""
        if self._limits.work is not None and self.work[self._unit] >= self._limits.work:
            return "work limit"
        return "time limit" if self._limits.seconds is not None and self._seconds_left() <= 0 else None

    def left(self) -> Limits:
        """The limits of the next solve."""
        return dataclasses.replace(
            self._limits,
            seconds=None if self._limits.seconds is None else max(0.001, self._seconds_left()),
            work=None if self._limits.work is None else self._limits.work - self.work[self._unit],
        )

    def _seconds_left(self) -> float:
        assert self._limits.seconds is not None
        return self._limits.seconds - (time.perf_counter() - self._started)


def solve_one_of(
    question: OneOf,
    objective: str,
    sense: Sense,
    budget: Budget,
    hint: Plan | None,
    backend: Backend,
    value_of: Callable[[Plan], int],
) -> Outcome:
    """The best over the parts, taken by their bounds; parts that cannot beat the incumbent are never built.

    The bound of the whole is the worst of what is proved: the incumbent's value, the bounds of parts that were cut
    short, and those of parts never reached.
    """
    sign = 1 if sense == "min" else -1
    best = question.fallback
    best_value = None if best is None else sign * value_of(best)
    open_bounds: list[float] = []
    stopped: StoppedBy = "proof"
    for part in sorted(question.parts, key=lambda p: sign * p.bound):
        if best_value is not None and sign * part.bound >= best_value:
            break
        if (limit := budget.exhausted()) is not None:
            stopped = limit
            open_bounds.append(sign * part.bound)
            continue
        outcome = backend(part.build(), objective, sense, budget.left(), hint)
        budget.work.update(outcome.work)
        if outcome.plan is not None and (best_value is None or sign * value_of(outcome.plan) < best_value):
            best, best_value = outcome.plan, sign * value_of(outcome.plan)
        if outcome.status in ("feasible", "unknown"):
            stopped = outcome.stopped_by
            open_bounds.append(sign * (part.bound if outcome.bound is None else outcome.bound))
    return _conclude(best, best_value, open_bounds, sign, stopped, budget.work)


def _conclude(
    best: Plan | None,
    best_value: float | None,
    open_bounds: list[float],
    sign: int,
    stopped: StoppedBy,
    work: Counter[str],
) -> Outcome:
    """The outcome of a disjunction; values and bounds come in the sense of minimisation."""
    lowest = min(open_bounds + ([] if best_value is None else [best_value]), default=None)
    bound = None if lowest is None else sign * lowest
    if best is None:
        return Outcome("unknown" if open_bounds else "infeasible", None, bound, stopped, dict(work))
    if lowest == best_value:
        return Outcome("optimal", best, bound, "proof", dict(work))
    return Outcome("feasible", best, bound, stopped, dict(work))


def check_hint(pairs: Sequence[tuple[object, int]]) -> None:
    """Refuse a variable hinted twice: CP-SAT then returns wrong answers at once."""
    # Two wrappers may stand for one CP-SAT variable: its index tells. Pyomo's `index` is a method, its objects are one.
    keys = [v.index if isinstance(getattr(v, "index", None), int) else id(v) for v, _ in pairs]  # type: ignore[attr-defined]
    if len(set(keys)) != len(keys):
        raise ValueError("a formulation hints a variable twice; encode() must name every variable at most once")
