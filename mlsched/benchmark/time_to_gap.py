"""Shares of calls answered within a gap, over CPU time.

An answer counts from the CPU second at which its call returned. Stores have only the last plan of a call, so an exact
solver's line shows the end of its proof, not the time of its plan. A call that a limit ended outside the gap is
censored at that second. It stays in the denominator, as do calls without a plan, rejected instances and failures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.benchmark.profiles import LEAST_SECONDS, Group, Question, called_rows, is_timed, question_groups
from mlsched.benchmark.row import Row

#: Gaps of the charts, as shares.
GAPS = (0.0, 0.01, 0.1)


@dataclasses.dataclass(frozen=True)
class Course:
    """One solver: sorted CPU seconds of answers within the gap, and of calls cut outside it."""

    within: list[float]
    censored: list[float]


@dataclasses.dataclass(frozen=True)
class Panel:
    """One gap, over `questions` with an undisputed proven optimum and the same solvers."""

    title: str
    gap: float
    questions: int
    courses: dict[str, Course]


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Return one panel per objective and gap, without groups that have calls without CPU time.

    Args:
        rows: Rows of one problem, with gaps.
    """
    panel_list = []
    for group in question_groups(called_rows(rows)):
        solved = [q for q in group.questions if any(row.gap_to_optimum is not None for row in q.values())]
        if solved and all(is_timed(row) for question in solved for row in question.values()):
            panel_list += [_panel(group, solved, gap) for gap in GAPS]
    return panel_list


def _panel(group: Group, solved: list[Question], gap: float) -> Panel:
    courses = {}
    for name in group.questions[0]:
        own = [question[name] for question in solved]
        inside = [row for row in own if is_within(row, gap)]
        censored_rows = [row for row in own if row.censored and not is_within(row, gap) and row.cpu_seconds is not None]
        courses[name] = Course(_seconds(inside), _seconds(censored_rows))
    return Panel(group.title, gap, len(solved), courses)


def _seconds(rows: Sequence[Row]) -> list[float]:
    return sorted(max(row.cpu_seconds or 0.0, LEAST_SECONDS) for row in rows)


def is_within(row: Row, gap: float) -> bool:
    """Return whether the answer is within `gap` (a share) of the proven optimum; false for a gap without a percentage.

    Only the value 0 meets an optimum of 0.
    """
    gap_of_row = row.gap_to_optimum
    if gap_of_row is None or gap_of_row.primary is not None:
        return False
    return gap_of_row.difference <= 0 or (gap_of_row.share is not None and gap_of_row.share <= gap)
