"""Comparison of two stores, or two solvers of one store, pair by pair: did a change help?

Rows are paired if they have the same instance, objective and seed. A comparison has one statistic for all of its pairs
(`benchmark/paired.py`): the difference of the gaps to proven optima if every pair has both, else the relative
difference of the values. Below 0 the second solver is better. CPU times are compared by the geometric mean of their
ratios; pairs with a time that a limit cut short are counted separately.
"""

from __future__ import annotations

import dataclasses
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from mlsched.benchmark.paired import Difference, Interval, Verdict, interval_of, relative_difference, summarize
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.row import BROKEN, Row
from mlsched.core.brief import count_of, short_repr
from mlsched.core.errors import InvalidInput
from mlsched.core.gap import Gap, gap_between

#: "gap": gap of the second to the optimum - gap of the first; "value": (second - first) / max(|first|, |second|).
Statistic = Literal["gap", "value"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The second solver against the first, by one objective of one problem.

    Attributes:
        problem: Problem of the instances.
        objective: Objective of the values.
        first: Solver whose values are subtracted.
        second: Solver whose values are judged.
        pairs: Number of pairs of plans.
        better: Number of pairs in which the second is better.
        worse: Number of pairs in which the second is worse.
        apart: Number of pairs that the primary criterion decides; they count as better or worse, but not in means.
        statistic: Statistic of the difference, the same for all pairs.
        difference: Mean over the other pairs, negative if the second is better; None without such a pair.
        interval: Interval of the difference; None with too few pairs (`benchmark/paired.py`).
        verdict: Verdict on the second solver. With pairs apart, the primary criterion decides first, then the other
            pairs, unless most pairs apart contradict them. Both tests are then also corrected for each other.
        comparisons: Number of comparisons for which intervals and verdict are corrected.
        time: Geometric mean of CPU seconds of the second over those of the first; None without a pair.
        time_interval: Interval of `time`.
        cut: Number of pairs in which a limit ended a search, which are excluded from `time`.
        only_first: Number of calls with a plan of the first solver only.
        only_second: Number of calls with a plan of the second solver only.
    """

    problem: str
    objective: str
    first: str
    second: str
    pairs: int
    better: int
    worse: int
    apart: int
    statistic: Statistic
    difference: float | None
    interval: Interval | None
    verdict: Verdict
    comparisons: int
    time: float | None
    time_interval: Interval | None
    cut: int
    only_first: int
    only_second: int

    def __repr__(self) -> str:
        pairs = f"{count_of(self.pairs, 'pair')}: {self.better} better, {self.worse} worse"
        return short_repr(self, f"{self.second} against {self.first}", f"{self.problem} {self.objective}", pairs)


def compare_rows(
    first: Sequence[Row], second: Sequence[Row], solvers: Sequence[str] | None = None, *, comparisons: int | None = None
) -> list[Comparison]:
    """Compare the solvers of two stores, one line per pair of solvers and objective.

    Args:
        first: Rows of a store.
        second: Rows of another store, or the same.
        solvers: "a" compares a solver with itself, "a=b" a of the first with b of the second; by default every common
            solver with itself.
        comparisons: Number of comparisons to correct for; by default the number of returned lines.

    Returns:
        One comparison per pair of solvers and objective.

    Raises:
        InvalidInput: A name is unknown, or the stores have no pair in common.
    """
    labels = list(dict.fromkeys(row.solver for row in first))
    if solvers is None:
        second_labels = {row.solver for row in second}
        label_pairs = [(label, label) for label in labels if label in second_labels]
    else:
        label_pairs = [_split_pair(text, labels, [row.solver for row in second]) for text in solvers]
    # Both stores share the optima that either has proved.
    judged_rows = with_gaps([*first, *second])
    first, second = judged_rows[: len(first)], judged_rows[len(first) :]
    groups = [
        (a, b, where, pairs) for a, b in label_pairs for where, pairs in _paired_rows(first, second, a, b).items()
    ]
    if not groups:
        raise InvalidInput("the stores do not share a question; bench the same suite into both")
    return [_comparison(*where, a, b, pairs, comparisons or len(groups)) for a, b, where, pairs in groups]


def _split_pair(text: str, first: Sequence[str], second: Sequence[str]) -> tuple[str, str]:
    """Return the two labels of "a=b" (also "fitgpp:s=8=fitgpp:s=4"), or of "a" for both."""
    for at in [len(text), *(k for k, c in enumerate(text) if c == "=")]:
        a = _matching_label(text[:at], first)
        b = _matching_label(text[at + 1 :] or text[:at], second)
        if a is not None and b is not None:
            return a, b
    names = ", ".join(dict.fromkeys([*first, *second]))
    raise InvalidInput(f"--solver: {text}, expected a solver of both stores, or A=B; there are {names}")


def _matching_label(text: str, labels: Sequence[str]) -> str | None:
    """Return the label equal to a text, independent of number formats ("fitgpp:s=8" for "fitgpp:s=8.0")."""
    return next((label for label in labels if label == text or _label_parts(label) == _label_parts(text)), None)


def _label_parts(label: str) -> list[str | float]:
    cells: list[str | float] = []
    for word in re.split("[:,=]", label):
        try:
            cells.append(float(word))
        except ValueError:
            cells.append(word)
    return cells


def _paired_rows(
    first: Sequence[Row], second: Sequence[Row], a: str, b: str
) -> dict[tuple[str, str], list[tuple[Row, Row]]]:
    """Return the pairs of two solvers by problem and objective, in an order independent of which is first."""
    mine, other = (_rows_by_question(rows, label) for rows, label in ((first, a), (second, b)))
    groups: dict[tuple[str, str], list[tuple[Row, Row]]] = defaultdict(list)
    for question in mine:
        groups[mine[question].problem, question[1]] += [(mine[question], other[question])] if question in other else []
    return {where: sorted(pairs, key=lambda pair: _question(pair[0])) for where, pairs in groups.items() if pairs}


def _rows_by_question(rows: Sequence[Row], label: str) -> dict[tuple[str, str, int], Row]:
    """Return the rows of a solver by instance, objective and seed."""
    return {_question(row): row for row in rows if row.solver == label}


def _question(row: Row) -> tuple[str, str, int]:
    return row.instance_hash, row.objective, row.seed


def _comparison(
    problem: str, objective: str, a: str, b: str, pairs: list[tuple[Row, Row]], comparisons: int
) -> Comparison:
    both = [(x, y) for x, y in pairs if x.sort_key is not None and y.sort_key is not None]
    orders = [_pair_gap(x, y) for x, y in both]
    apart = [order for order in orders if order.primary is not None]
    statistic, differences = _differences([pair for pair, order in zip(both, orders, strict=True) if not order.primary])
    summary_ = summarize(differences, comparisons * (2 if apart else 1))
    verdict = _verdict(summary_, apart, summarize(_primary_differences(both), 2 * comparisons))
    censored_pairs = sum(x.censored or y.censored for x, y in pairs)
    complete_pairs = [
        (x, y) for x, y in pairs if not any(r.censored or r.status in (*BROKEN, "skipped") for r in (x, y))
    ]
    cpu_pairs = [(x.cpu_seconds or 0.0, y.cpu_seconds or 0.0) for x, y in complete_pairs]
    times = [math.log(y) - math.log(x) for x, y in cpu_pairs if x > 0 and y > 0]
    spread = interval_of(times, comparisons)
    return Comparison(
        problem=problem,
        objective=objective,
        first=a,
        second=b,
        pairs=len(both),
        better=sum(order.difference < 0 for order in orders),
        worse=sum(order.difference > 0 for order in orders),
        apart=len(apart),
        statistic=statistic,
        difference=None if summary_ is None else summary_.mean,
        interval=None if summary_ is None else summary_.interval,
        verdict=verdict,
        comparisons=comparisons,
        time=math.exp(statistics.fmean(times)) if times else None,
        time_interval=None if spread is None else (math.exp(spread[0]), math.exp(spread[1])),
        cut=censored_pairs,
        only_first=sum(x.sort_key is not None and y.sort_key is None for x, y in pairs),
        only_second=sum(x.sort_key is None and y.sort_key is not None for x, y in pairs),
    )


def _verdict(summary_: Difference | None, apart: Sequence[Gap], counts: Difference | None) -> Verdict:
    """Return the verdict by the primary criterion if it decides, else by the other pairs.

    Args:
        summary_: Relative differences of the pairs with equal primary counts.
        apart: Gaps of the pairs that differ in the primary criterion.
        counts: Relative differences of all primary counts.
    """
    if apart and counts is not None and counts.side is not None:
        return counts.verdict
    if summary_ is None or (summary_.side == 0 and apart):
        return "undecided"
    against = sum(1 if order.difference > 0 else -1 for order in apart)
    return "undecided" if (summary_.side or 0) * against < 0 else summary_.verdict


def _primary_differences(pairs: Sequence[tuple[Row, Row]]) -> list[float]:
    """Return the relative differences of the primary counts, positive if the second is worse."""
    differences = []
    for x, y in pairs:
        if x.primary is not None and x.sort_key is not None and y.sort_key is not None:
            difference = relative_difference(x.primary.split(x.sort_key)[0], x.primary.split(y.sort_key)[0])
            differences.append(difference if x.sense == "min" else -difference)
    return differences


def _pair_gap(x: Row, y: Row) -> Gap:
    """Return the gap of the second row to the first; its `primary` is set if that decides."""
    assert x.sort_key is not None
    assert y.sort_key is not None
    return gap_between(y.sort_key, x.sort_key, sense=x.sense, unit=x.unit, primary=x.primary)


def _differences(pairs: Sequence[tuple[Row, Row]]) -> tuple[Statistic, list[float]]:
    """Return the statistic and the differences of pairs that the values decide."""
    gaps = [(x.gap_to_optimum, y.gap_to_optimum) for x, y in pairs]
    shares = [(x.share, y.share) for x, y in gaps if x is not None and y is not None]
    gap_differences = [y - x for x, y in shares if x is not None and y is not None]
    if pairs and len(gap_differences) == len(pairs):
        return "gap", gap_differences
    return "value", [
        relative_difference(_base_value(x), _base_value(y)) * (1 if x.sense == "min" else -1) for x, y in pairs
    ]


def _base_value(row: Row) -> int | float:
    """Return the objective's value without the primary criterion."""
    assert row.sort_key is not None
    return row.sort_key if row.primary is None else row.primary.split(row.sort_key)[1]
