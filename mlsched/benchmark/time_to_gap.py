"""Shares of questions that are answered within a gap, over CPU time.

An answer counts from the CPU second at which its call returned: stores keep the last plan of a call, not the plans on
the way, so that an exact solver's line lies where its proof ended, not where its plan came. A call that a limit ended
outside the gap is censored at that second: with more time it might have come within. It stays in the whole that the
share is taken of, as do calls without a plan, refused instances and failures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.benchmark.profiles import LEAST_SECONDS, Group, Question, called, grouped, is_timed
from mlsched.benchmark.row import Row

#: Gaps that are asked for, as shares.
GAPS = (0.0, 0.01, 0.1)


@dataclasses.dataclass(frozen=True)
class Course:
    """One solver. within: CPU seconds of answers within the gap, censored: of calls cut outside it; sorted."""

    within: list[float]
    censored: list[float]


@dataclasses.dataclass(frozen=True)
class Panel:
    """One gap, over `questions` that have an undisputed proven optimum and were put to the same solvers."""

    title: str
    gap: float
    questions: int
    courses: dict[str, Course]


def panels(rows: Sequence[Row]) -> list[Panel]:
    """A panel per objective and gap; rows: of one problem, with gaps. None of groups with calls without CPU time."""
    found = []
    for group in grouped(called(rows)):
        known = [q for q in group.questions if any(row.gap_to_optimum is not None for row in q.values())]
        if known and all(is_timed(row) for question in known for row in question.values()):
            found += [_panel(group, known, gap) for gap in GAPS]
    return found


def _panel(group: Group, known: list[Question], gap: float) -> Panel:
    courses = {}
    for name in group.questions[0]:
        own = [question[name] for question in known]
        inside = [row for row in own if is_within(row, gap)]
        cut = [row for row in own if row.censored and not is_within(row, gap) and row.cpu_seconds is not None]
        courses[name] = Course(_seconds(inside), _seconds(cut))
    return Panel(group.title, gap, len(known), courses)


def _seconds(rows: Sequence[Row]) -> list[float]:
    return sorted(max(row.cpu_seconds or 0.0, LEAST_SECONDS) for row in rows)


def is_within(row: Row, gap: float) -> bool:
    """Whether the answer is at most `gap` (a share) from the proven optimum; a gap without a percentage is within none.

    An optimum of 0 is met by 0 alone.
    """
    found = row.gap_to_optimum
    if found is None or found.primary is not None:
        return False
    return found.difference <= 0 or (found.share is not None and found.share <= gap)
