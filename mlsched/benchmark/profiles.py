"""Performance profiles of Dolan and Moré (Mathematical Programming 91, 2002, section 2).

For a question p (an instance with an objective) and a solver s with the cost t(p, s), the ratio is

    r(p, s) = t(p, s) / min { t(p, s') : s' solved p },

infinite where s did not solve p. The profile of s at x is the share of all questions with r(p, s) <= x: at 1 how often
it is the best, far right how often it solves at all. What is not solved is never left out of the share.

Every panel is over questions that were put to the same solvers, so that all its lines are shares of the same whole.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Callable, Sequence

from mlsched.benchmark.reference import TOLERANCE
from mlsched.benchmark.row import BROKEN, Row
from mlsched.core.gap import gap_between

#: CPU seconds below this count as this much: shorter ones are the clock's and the interpreter's.
LEAST_SECONDS = 0.001

#: The answers to one question, by solver.
Question = dict[str, Row]


@dataclasses.dataclass(frozen=True)
class Profile:
    """One panel. ratios: solver -> its finite ratios, ascending; each line is a share of `questions`.

    left_out: questions that are in no panel line: nobody solved them, or their answers contradict each other.
    """

    title: str
    questions: int
    left_out: int
    ratios: dict[str, list[float]]


@dataclasses.dataclass(frozen=True)
class Group:
    """Questions by one objective that were put to the same solvers."""

    title: str
    questions: list[Question]


def grouped(rows: Sequence[Row]) -> list[Group]:
    """The questions of one problem, by objective and by whom they were put to; presets are named where it differs."""
    asked: dict[tuple[str, str, str, int], Question] = defaultdict(dict)
    for row in rows:
        asked[row.objective, row.suite, row.instance_hash, row.seed][row.solver] = row
    groups: dict[tuple[str, frozenset[str]], list[Question]] = defaultdict(list)
    for (objective, *_), question in asked.items():
        groups[objective, frozenset(question)].append(question)
    objectives = [objective for objective, _ in groups]
    return [
        Group(objective if objectives.count(objective) == 1 else f"{objective} ({_cases(questions)})", questions)
        for (objective, _), questions in groups.items()
    ]


def _cases(questions: Sequence[Question]) -> str:
    names = list(dict.fromkeys(row.case for question in questions for row in question.values()))
    return names[0] if len(names) == 1 else f"{len(names)} presets"


def time_profiles(rows: Sequence[Row]) -> list[Profile]:
    """Cost: CPU seconds until the proof, over exact solvers; solved: an optimum or infeasibility proved.

    rows: of one problem, with gaps. Groups in which fewer than two exact solvers were asked, or in which a call has
    no CPU time, make no profile.
    """
    exact = [row for row in called(rows) if row.kind == "exact" and not row.restricted]

    def costs(question: Question) -> dict[str, float]:
        return {
            name: max(row.cpu_seconds or 0.0, LEAST_SECONDS)
            for name, row in question.items()
            if row.status in ("optimal", "infeasible")
        }

    timed = [g for g in grouped(exact) if all(is_timed(row) for q in g.questions for row in q.values())]
    return [_profile(group, costs) for group in timed if len(group.questions[0]) > 1]


def called(rows: Sequence[Row]) -> list[Row]:
    """The rows of solvers that were called: a published optimum, which is a row too, took no time."""
    own = {row.solver for row in rows if row.seconds is not None or row.cpu_seconds is not None}
    own |= {row.solver for row in rows if row.status in ("skipped", *BROKEN)}
    return [row for row in rows if row.solver in own]


def is_timed(row: Row) -> bool:
    """Whether the CPU time of the call is known, or there was none that ended."""
    return row.cpu_seconds is not None or row.status in ("skipped", *BROKEN)


def value_profiles(rows: Sequence[Row]) -> list[Profile]:
    """Cost: the value of the plan; solved: there is a plan. All solvers take part in the best value.

    Where more is better the ratio is best / value. A plan that is worse in the objective's rank, and one with another
    value where the best is 0, have an infinite ratio. Exact solvers that are the best on every question are not
    among the lines.
    """
    profiles = []
    for group in grouped(rows):
        if len(group.questions[0]) < 2:
            continue
        kinds = {name: row.kind == "exact" and not row.restricted for name, row in group.questions[0].items()}
        made = _profile(group, _values)
        solved = made.questions - made.left_out
        hidden = {name for name, ratios in made.ratios.items() if kinds[name] and ratios == [1.0] * solved}
        shown = {name: ratios for name, ratios in made.ratios.items() if name not in hidden}
        if shown:
            profiles.append(dataclasses.replace(made, ratios=shown))
    return profiles


def _values(question: Question) -> dict[str, float]:
    """Solver -> value / best value (or best / value), which is the ratio itself: the least is 1."""
    plans = {name: row for name, row in question.items() if row.sort_key is not None}
    if not plans:
        return {}
    sign = 1 if next(iter(plans.values())).sense == "min" else -1
    best = min((row.sort_key for row in plans.values() if row.sort_key is not None), key=lambda value: sign * value)
    return {name: ratio(row, best) for name, row in plans.items()}


def ratio(row: Row, best: int | float) -> float:
    """The ratio of a row's value to the best one, at least 1; infinite where the two have none."""
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
        found = {} if _contradicted(question) else costs(question)
        least = min(found.values(), default=math.inf)
        left_out += math.isinf(least)
        for name, cost in found.items():
            if math.isfinite(cost):
                ratios[name].append(cost / least)
    return Profile(group.title, len(group.questions), left_out, {name: sorted(r) for name, r in ratios.items()})


def _contradicted(question: Question) -> bool:
    """Whether an optimum is proved that no gap is taken to, because another answer contradicts it."""
    return any(row.status == "optimal" and row.gap_to_optimum is None for row in question.values())
