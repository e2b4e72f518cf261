"""Performance profiles of Dolan and Moré (Mathematical Programming 91, 2002, section 2).

For a question p (an instance with an objective) and a solver s with cost t(p, s), the ratio is

    r(p, s) = t(p, s) / min { t(p, s') : s' solved p },

infinite if s did not solve p. The profile of s at x is the share of all questions with r(p, s) <= x: at 1 how often it
is the best, far right how often it solves at all. Unsolved questions always stay in the share.

Every panel covers questions with the same solvers, so that all its lines are shares of the same total.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Callable, Sequence

from mlsched.benchmark.reference import TOLERANCE
from mlsched.benchmark.row import BROKEN, Row
from mlsched.core.gap import gap_between

#: Shorter CPU times, in seconds, count as this: they belong to the clock and the interpreter.
LEAST_SECONDS = 0.001

#: Answers to one question, by solver.
Question = dict[str, Row]


@dataclasses.dataclass(frozen=True)
class Profile:
    """Panel of a profile.

    Attributes:
        title: Title of the panel.
        questions: Number of questions; each line is a share of it.
        left_out: Questions outside all lines: unsolved, or with contradictory answers.
        ratios: Solver -> its finite ratios, ascending.
    """

    title: str
    questions: int
    left_out: int
    ratios: dict[str, list[float]]


@dataclasses.dataclass(frozen=True)
class Group:
    """Questions by one objective with the same solvers."""

    title: str
    questions: list[Question]


def question_groups(rows: Sequence[Row]) -> list[Group]:
    """Return the questions of one problem by objective and solvers; presets are named if they differ."""
    questions_by_key: dict[tuple[str, str, str, int], Question] = defaultdict(dict)
    for row in rows:
        questions_by_key[row.objective, row.suite, row.instance_hash, row.seed][row.solver] = row
    groups: dict[tuple[str, frozenset[str]], list[Question]] = defaultdict(list)
    for (objective, *_), question in questions_by_key.items():
        groups[objective, frozenset(question)].append(question)
    objectives = [objective for objective, _ in groups]
    return [
        Group(objective if objectives.count(objective) == 1 else f"{objective} ({_case_names(questions)})", questions)
        for (objective, _), questions in groups.items()
    ]


def _case_names(questions: Sequence[Question]) -> str:
    names = list(dict.fromkeys(row.case for question in questions for row in question.values()))
    return names[0] if len(names) == 1 else f"{len(names)} presets"


def time_profiles(rows: Sequence[Row]) -> list[Profile]:
    """Return profiles of CPU seconds until an optimum or infeasibility is proved, over exact solvers.

    Groups with fewer than two exact solvers, or with a call without CPU time, are omitted.

    Args:
        rows: Rows of one problem, with gaps.
    """
    exact = [row for row in called_rows(rows) if row.kind == "exact" and not row.restricted]

    def costs(question: Question) -> dict[str, float]:
        return {
            name: max(row.cpu_seconds or 0.0, LEAST_SECONDS)
            for name, row in question.items()
            if row.status in ("optimal", "infeasible")
        }

    timed = [g for g in question_groups(exact) if all(is_timed(row) for q in g.questions for row in q.values())]
    return [_profile(group, costs) for group in timed if len(group.questions[0]) > 1]


def called_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of solvers that were called; a published optimum is a row without a call."""
    own = {row.solver for row in rows if row.seconds is not None or row.cpu_seconds is not None}
    own |= {row.solver for row in rows if row.status in ("skipped", *BROKEN)}
    return [row for row in rows if row.solver in own]


def is_timed(row: Row) -> bool:
    """Return whether the CPU time of the call is known, or the call was skipped or failed."""
    return row.cpu_seconds is not None or row.status in ("skipped", *BROKEN)


def value_profiles(rows: Sequence[Row]) -> list[Profile]:
    """Return profiles of the plan's value over all solvers; solved: there is a plan.

    If more is better, the ratio is best / value. A plan with a worse primary count, or a nonzero value if the best is
    0, has an infinite ratio. Exact solvers that are the best on every question are omitted from the lines.
    """
    profiles = []
    for group in question_groups(rows):
        if len(group.questions[0]) < 2:
            continue
        kinds = {name: row.kind == "exact" and not row.restricted for name, row in group.questions[0].items()}
        profile = _profile(group, _value_ratios)
        solved = profile.questions - profile.left_out
        hidden = {name for name, ratios in profile.ratios.items() if kinds[name] and ratios == [1.0] * solved}
        visible = {name: ratios for name, ratios in profile.ratios.items() if name not in hidden}
        if visible:
            profiles.append(dataclasses.replace(profile, ratios=visible))
    return profiles


def _value_ratios(question: Question) -> dict[str, float]:
    """Return for each solver value / best value (or best / value), which is the ratio itself: the least is 1."""
    plans = {name: row for name, row in question.items() if row.sort_key is not None}
    if not plans:
        return {}
    sign = 1 if next(iter(plans.values())).sense == "min" else -1
    best = min((row.sort_key for row in plans.values() if row.sort_key is not None), key=lambda value: sign * value)
    return {name: value_ratio(row, best) for name, row in plans.items()}


def value_ratio(row: Row, best: int | float) -> float:
    """Return the ratio of a row's value to the best value, at least 1; infinite if undefined."""
    if row.sort_key is None:
        return math.inf
    gap = gap_between(row.sort_key, best, sense=row.sense, unit=row.unit, primary=row.primary, tolerance=TOLERANCE)
    if gap.difference == 0:
        return 1.0
    if gap.share is None or (row.sense == "max" and gap.share >= 1):
        return math.inf
    return 1 + gap.share if row.sense == "min" else 1 / (1 - gap.share)


def _profile(group: Group, costs: Callable[[Question], dict[str, float]]) -> Profile:
    ratios: dict[str, list[float]] = {name: [] for name in group.questions[0]}
    left_out = 0
    for question in group.questions:
        cost_of = {} if _has_contradiction(question) else costs(question)
        least = min(cost_of.values(), default=math.inf)
        left_out += math.isinf(least)
        for name, cost in cost_of.items():
            if math.isfinite(cost):
                ratios[name].append(cost / least)
    return Profile(group.title, len(group.questions), left_out, {name: sorted(r) for name, r in ratios.items()})


def _has_contradiction(question: Question) -> bool:
    """Return whether a proven optimum has no gap because another answer contradicts it."""
    return any(row.status == "optimal" and row.gap_to_optimum is None for row in question.values())
