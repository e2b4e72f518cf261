"""Two stores, or two solvers, held against each other question by question: did my change help?

Rows are paired that answer the same instance by the same objective. The change of a value is the gap of the second to
the first (`core/gap.py`): below 0 the second is better. Intervals are of the mean over the pairs, by the bootstrap
(SciPy's, bias-corrected and accelerated, 95 %); questions that only one of the two answered are counted apart. Times
are compared where both ended by themselves: where a limit ended one of them, its time is censored, and such pairs are
counted apart, too.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.benchmark.row import BROKEN, Row
from mlsched.core.brief import brief, counted
from mlsched.core.errors import InvalidInput
from mlsched.core.gap import gap_between

#: Draws of the bootstrap, and its confidence.
DRAWS, CONFIDENCE = 9999, 0.95
#: Least number of pairs for an interval.
FEW = 5

Interval = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One objective of one problem, over the questions that both answered (`pairs`).

    better, worse: pairs in which the second is. apart: pairs whose values have no percentage between them (a reference
    of 0, a rank that decides); they count as better or worse and are in no mean. change: mean gap of the second to the
    first. time: geometric mean of CPU seconds of the second over those of the first, where neither failed nor was ended
    by a limit; cut: pairs in which a limit ended one. only_first, only_second: questions for which only one has a plan.
    Intervals are None with fewer than five pairs, and where all are the same.
    """

    problem: str
    objective: str
    first: str
    second: str
    pairs: int
    better: int
    worse: int
    apart: int
    change: float | None
    change_interval: Interval | None
    time: float | None
    time_interval: Interval | None
    cut: int
    only_first: int
    only_second: int

    def __repr__(self) -> str:
        pairs = f"{counted(self.pairs, 'pair')}: {self.better} better, {self.worse} worse"
        return brief(self, f"{self.second} against {self.first}", f"{self.problem} {self.objective}", pairs)


def compared(first: Sequence[Row], second: Sequence[Row], solvers: Sequence[str] | None = None) -> list[Comparison]:
    """Every solver of both against itself; or with `solvers` ("a" or "a=b"), a of the first against b of the second.

    Raises InvalidInput where there is nothing to pair.
    """
    labels = list(dict.fromkeys(row.solver for row in first))
    if solvers is None:
        there = {row.solver for row in second}
        wanted = [(label, label) for label in labels if label in there]
    else:
        wanted = [_two(text, labels, [row.solver for row in second]) for text in solvers]
    lines = [line for a, b in wanted for line in _lines(first, second, a, b)]
    if not lines:
        raise InvalidInput("the stores have no question in common; bench the same suite into both")
    return lines


def _two(text: str, first: Sequence[str], second: Sequence[str]) -> tuple[str, str]:
    """The two labels of "a=b" ("fitgpp:s=8=fitgpp:s=4" as well), or of "a" for both."""
    for at in [len(text), *(k for k, c in enumerate(text) if c == "=")]:
        a = _labelled(text[:at], first)
        b = _labelled(text[at + 1 :] or text[:at], second)
        if a is not None and b is not None:
            return a, b
    known = ", ".join(dict.fromkeys([*first, *second]))
    raise InvalidInput(f"--solver {text}: must be a solver of both stores, or A=B; there are {known}")


def _labelled(text: str, labels: Sequence[str]) -> str | None:
    """The label that is written so, numbers in any way ("fitgpp:s=8" for "fitgpp:s=8.0")."""
    return next((label for label in labels if label == text or _words(label) == _words(text)), None)


def _words(label: str) -> list[str | float]:
    cells: list[str | float] = []
    for word in re.split("[:,=]", label):
        try:
            cells.append(float(word))
        except ValueError:
            cells.append(word)
    return cells


def _lines(first: Sequence[Row], second: Sequence[Row], a: str, b: str) -> list[Comparison]:
    mine, other = (_questions(rows, label) for rows, label in ((first, a), (second, b)))
    groups: dict[tuple[str, str], list[tuple[Row, Row]]] = defaultdict(list)
    for question, row in mine.items():
        if question in other:
            groups[row.problem, row.objective].append((row, other[question]))
    return [_line(problem, objective, a, b, pairs) for (problem, objective), pairs in groups.items()]


def _questions(rows: Sequence[Row], label: str) -> dict[tuple[str, str, int], Row]:
    """The rows of a solver by question: instance, objective and seed."""
    return {(row.instance_hash, row.objective, row.seed): row for row in rows if row.solver == label}


def _line(problem: str, objective: str, a: str, b: str, pairs: list[tuple[Row, Row]]) -> Comparison:
    both = [(x, y) for x, y in pairs if x.sort_key is not None and y.sort_key is not None]
    gaps = [
        gap_between(y.sort_key, x.sort_key, sense=x.sense, unit=x.unit, rank=x.primary)
        for x, y in both
        if x.sort_key is not None and y.sort_key is not None
    ]
    shares = [gap.share for gap in gaps if gap.share is not None]
    cut = sum(x.censored or y.censored for x, y in pairs)
    whole = [(x, y) for x, y in pairs if not any(r.censored or r.status in (*BROKEN, "skipped") for r in (x, y))]
    spent = [(x.cpu_seconds or 0.0, y.cpu_seconds or 0.0) for x, y in whole]
    times = [math.log(y / x) for x, y in spent if x > 0 and y > 0]
    spread = interval(times)
    return Comparison(
        problem=problem,
        objective=objective,
        first=a,
        second=b,
        pairs=len(both),
        better=sum(gap.difference < 0 for gap in gaps),
        worse=sum(gap.difference > 0 for gap in gaps),
        apart=len(gaps) - len(shares),
        change=statistics.fmean(shares) if shares else None,
        change_interval=interval(shares),
        time=math.exp(statistics.fmean(times)) if times else None,
        time_interval=None if spread is None else (math.exp(spread[0]), math.exp(spread[1])),
        cut=cut,
        only_first=sum(x.sort_key is not None and y.sort_key is None for x, y in pairs),
        only_second=sum(x.sort_key is None and y.sort_key is not None for x, y in pairs),
    )


def interval(values: Sequence[float]) -> Interval | None:
    """The bootstrap interval of the mean; the same values, the same interval."""
    return _interval(tuple(values))


@functools.lru_cache(maxsize=10_000)
def _interval(values: tuple[float, ...]) -> Interval | None:
    """Kept: a report asks the same of rules that make the same plans, and of one call's time by several objectives."""
    if len(values) < FEW or min(values) == max(values):
        return None
    from scipy.stats import bootstrap

    found: Any = bootstrap(
        (np.array(values),), np.mean, n_resamples=DRAWS, confidence_level=CONFIDENCE, rng=np.random.default_rng(0)
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
