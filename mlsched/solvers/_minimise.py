"""Running a formulation: what the backends have in common."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Sequence

from mlsched.core.contract import Plan, Sense
from mlsched.core.formulation import Formulation, Limits, OneOf, Outcome, Part

#: A backend: solve one formulation for one objective, within limits, from a hint.
Backend = Callable[[Formulation, str, Sense, Limits, Plan | None], Outcome]


def solve_one_of(
    question: OneOf,
    objective: str,
    sense: Sense,
    limits: Limits,
    hint: Plan | None,
    backend: Backend,
    value_of: Callable[[Plan], int],
) -> Outcome:
    """The best over the parts, taken by their bounds; parts that cannot beat the incumbent are never built.

    The bound of the whole is the worst of what is proved: the incumbent's value, the bounds of parts that were cut
    short, and those of parts never reached.
    """
    sign = 1 if sense == "min" else -1
    started = time.perf_counter()
    best = question.fallback
    best_value = None if best is None else sign * value_of(best)
    open_bounds: list[float] = []
    work: Counter[str] = Counter()
    stopped = "proof"
    for part in sorted(question.parts, key=lambda p: sign * p.bound):
        if best_value is not None and sign * part.bound >= best_value:
            break
        left = _left(limits, started, work)
        if left is None:
            open_bounds.append(sign * part.bound)
            stopped = "work limit" if _spent(limits, work) else "time limit"
            continue
        outcome = _solve_part(part, objective, sense, left, hint, backend)
        work.update(outcome.work)
        if outcome.plan is not None and (best_value is None or sign * value_of(outcome.plan) < best_value):
            best, best_value = outcome.plan, sign * value_of(outcome.plan)
        if outcome.status in ("feasible", "unknown"):
            stopped = outcome.stopped_by
            open_bounds.append(sign * (part.bound if outcome.bound is None else outcome.bound))
    lowest = min(open_bounds + ([] if best_value is None else [best_value]), default=None)
    if best is None:
        status = "unknown" if open_bounds else "infeasible"
        return Outcome(status, None, None if lowest is None else sign * lowest, stopped, dict(work))  # type: ignore[arg-type]
    status = "optimal" if lowest == best_value else "feasible"
    return Outcome(status, best, sign * lowest, "proof" if status == "optimal" else stopped, dict(work))  # type: ignore[arg-type,operator]


def _spent(limits: Limits, work: Counter[str]) -> bool:
    return limits.work is not None and sum(work.values()) >= limits.work


def _left(limits: Limits, started: float, work: Counter[str]) -> Limits | None:
    """What is left of the limits; None when nothing is."""
    seconds = None if limits.seconds is None else limits.seconds - (time.perf_counter() - started)
    if _spent(limits, work) or (seconds is not None and seconds <= 0):
        return None
    return dataclasses.replace(
        limits, seconds=seconds, work=None if limits.work is None else limits.work - sum(work.values())
    )


def _solve_part(
    part: Part, objective: str, sense: Sense, limits: Limits, hint: Plan | None, backend: Backend
) -> Outcome:
    return backend(part.build(), objective, sense, limits, hint)


def check_hint(pairs: Sequence[tuple[object, int]]) -> None:
    """Refuse a variable hinted twice: CP-SAT then returns wrong answers at once."""
    seen = [id(variable) for variable, _ in pairs]
    if len(set(seen)) != len(seen):
        raise ValueError("a formulation hints a variable twice; encode() must name every variable at most once")
