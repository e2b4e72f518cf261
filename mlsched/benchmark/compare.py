"""Compare two stores, or two solvers of one store, pair by pair: did my change help?

Rows are paired if they answer the same question: instance, objective and seed. A comparison has one statistic for all
of its pairs (`benchmark/paired.py`): the difference of the gaps to proven optima if every pair has both, else the
relative difference of the values. Below 0 the second solver is better. CPU times are compared by the geometric mean
of their ratios; pairs with a time that a limit cut short are counted and are in no mean.
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
        problem: of the instances.
        objective: by which values are compared.
        first: solver whose values are subtracted.
        second: solver whose values are judged.
        pairs: questions for which both have a plan.
        better: pairs in which the second is better.
        worse: pairs in which the second is worse.
        apart: pairs that the primary criterion decides; they count as better or worse and are in no mean.
        statistic: of the difference, the same for all pairs.
        difference: mean over the other pairs, negative if the second is better; None without one.
        interval: of the difference; None with too few pairs (`benchmark/paired.py`).
        verdict: on the second; with pairs apart it is first by the primary criterion, then by the other pairs, unless
            most pairs apart contradict them. Both tests are then corrected for each other, too.
        comparisons: number of comparisons for which intervals and verdict are corrected.
        time: geometric mean of CPU seconds of the second over those of the first; None without a pair.
        time_interval: of `time`.
        cut: pairs in which a limit ended a search, which are not in `time`.
        only_first: questions for which only the first has a plan.
        only_second: questions for which only the second has a plan.
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


def compared(
    first: Sequence[Row], second: Sequence[Row], solvers: Sequence[str] | None = None, *, comparisons: int | None = None
) -> list[Comparison]:
    """Compare the solvers of two stores, one line per pair of solvers and objective.

    Args:
        first: rows of a store.
        second: rows of another store, or the same.
        solvers: "a" compares a solver with itself, "a=b" a of the first with b of the second; by default every solver
            of both with itself.
        comparisons: number of comparisons to correct for; by default that of the lines returned.

    Raises:
        InvalidInput: A name is unknown, or the stores have no question in common.
    """
    labels = list(dict.fromkeys(row.solver for row in first))
    if solvers is None:
        there = {row.solver for row in second}
        wanted = [(label, label) for label in labels if label in there]
    else:
        wanted = [_two(text, labels, [row.solver for row in second]) for text in solvers]
    # The same optima for both: what either store has proved.
    known = with_gaps([*first, *second])
    first, second = known[: len(first)], known[len(first) :]
    found = [(a, b, where, pairs) for a, b in wanted for where, pairs in _groups(first, second, a, b).items()]
    if not found:
        raise InvalidInput("the stores have no question in common; bench the same suite into both")
    return [_line(*where, a, b, pairs, comparisons or len(found)) for a, b, where, pairs in found]


def _two(text: str, first: Sequence[str], second: Sequence[str]) -> tuple[str, str]:
    """The two labels of "a=b" ("fitgpp:s=8=fitgpp:s=4" as well), or of "a" for both."""
    for at in [len(text), *(k for k, c in enumerate(text) if c == "=")]:
        a = _labelled(text[:at], first)
        b = _labelled(text[at + 1 :] or text[:at], second)
        if a is not None and b is not None:
            return a, b
    known = ", ".join(dict.fromkeys([*first, *second]))
    raise InvalidInput(f"--solver: {text}, expected a solver of both stores, or A=B; there are {known}")


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


def _groups(
    first: Sequence[Row], second: Sequence[Row], a: str, b: str
) -> dict[tuple[str, str], list[tuple[Row, Row]]]:
    """The pairs of two solvers by problem and objective, in an order that does not depend on which is first."""
    mine, other = (_questions(rows, label) for rows, label in ((first, a), (second, b)))
    groups: dict[tuple[str, str], list[tuple[Row, Row]]] = defaultdict(list)
    for question in mine:
        groups[mine[question].problem, question[1]] += [(mine[question], other[question])] if question in other else []
    return {where: sorted(pairs, key=lambda pair: _question(pair[0])) for where, pairs in groups.items() if pairs}


def _questions(rows: Sequence[Row], label: str) -> dict[tuple[str, str, int], Row]:
    """The rows of a solver by question."""
    return {_question(row): row for row in rows if row.solver == label}


def _question(row: Row) -> tuple[str, str, int]:
    return row.instance_hash, row.objective, row.seed


def _line(problem: str, objective: str, a: str, b: str, pairs: list[tuple[Row, Row]], comparisons: int) -> Comparison:
    both = [(x, y) for x, y in pairs if x.sort_key is not None and y.sort_key is not None]
    orders = [_order(x, y) for x, y in both]
    apart = [order for order in orders if order.primary is not None]
    statistic, differences = _differences([pair for pair, order in zip(both, orders, strict=True) if not order.primary])
    found = summarize(differences, comparisons * (2 if apart else 1))
    verdict = _verdict(found, apart, summarize(_counts(both), 2 * comparisons))
    cut = sum(x.censored or y.censored for x, y in pairs)
    whole = [(x, y) for x, y in pairs if not any(r.censored or r.status in (*BROKEN, "skipped") for r in (x, y))]
    spent = [(x.cpu_seconds or 0.0, y.cpu_seconds or 0.0) for x, y in whole]
    times = [math.log(y) - math.log(x) for x, y in spent if x > 0 and y > 0]
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
        difference=None if found is None else found.mean,
        interval=None if found is None else found.interval,
        verdict=verdict,
        comparisons=comparisons,
        time=math.exp(statistics.fmean(times)) if times else None,
        time_interval=None if spread is None else (math.exp(spread[0]), math.exp(spread[1])),
        cut=cut,
        only_first=sum(x.sort_key is not None and y.sort_key is None for x, y in pairs),
        only_second=sum(x.sort_key is None and y.sort_key is not None for x, y in pairs),
    )


def _verdict(found: Difference | None, apart: Sequence[Gap], counts: Difference | None) -> Verdict:
    """The verdict by the primary criterion's counts if pairs are apart and these decide, else by the other pairs."""
    if apart and counts is not None and counts.side is not None:
        return counts.verdict
    if found is None or (found.side == 0 and apart):
        return "undecided"
    against = sum(1 if order.difference > 0 else -1 for order in apart)
    return "undecided" if (found.side or 0) * against < 0 else found.verdict


def _counts(pairs: Sequence[tuple[Row, Row]]) -> list[float]:
    """The relative differences of what the primary criterion counts, positive if the second is worse."""
    found = []
    for x, y in pairs:
        if x.primary is not None and x.sort_key is not None and y.sort_key is not None:
            difference = relative_difference(x.primary.split(x.sort_key)[0], x.primary.split(y.sort_key)[0])
            found.append(difference if x.sense == "min" else -difference)
    return found


def _order(x: Row, y: Row) -> Gap:
    """How much worse the second is; its `primary` is set if that decides."""
    assert x.sort_key is not None
    assert y.sort_key is not None
    return gap_between(y.sort_key, x.sort_key, sense=x.sense, unit=x.unit, primary=x.primary)


def _differences(pairs: Sequence[tuple[Row, Row]]) -> tuple[Statistic, list[float]]:
    """The differences of pairs that the values decide, all by the same statistic."""
    gaps = [(x.gap_to_optimum, y.gap_to_optimum) for x, y in pairs]
    shares = [(x.share, y.share) for x, y in gaps if x is not None and y is not None]
    known = [y - x for x, y in shares if x is not None and y is not None]
    if pairs and len(known) == len(pairs):
        return "gap", known
    return "value", [relative_difference(_value(x), _value(y)) * (1 if x.sense == "min" else -1) for x, y in pairs]


def _value(row: Row) -> int | float:
    """The objective's value without the primary criterion."""
    assert row.sort_key is not None
    return row.sort_key if row.primary is None else row.primary.split(row.sort_key)[1]
