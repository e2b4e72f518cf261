"""Sub-problems of fronts by cutting planes; the plans become solutions of the interval model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.formulation import Limits
from mlsched.core.scalar import Answer, Bounds, Solution
from mlsched.formulations.taskgraph._due import DueModel
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.front.boxes import inside
from mlsched.solvers.taskgraph.fronts.boxed import Boxed
from mlsched.solvers.taskgraph.proofs.cutting_planes import Cut, Result
from mlsched.solvers.taskgraph.proofs.values import Steps

#: Deterministic time of a search after which those that follow are taken to be hard, and get counts (`_counts`).
HARD = 1.2

#: A plan as an answer of the interval model.
AnswerOf = Callable[[Sequence[int], Timetable], Answer]


@dataclasses.dataclass(frozen=True)
class Asked:
    """A sub-problem, see `Scalar.minimise`; `plan` and its values are those of the hint."""

    weights: Sequence[int]
    boxes: Sequence[Bounds]
    hint: Solution | None = None
    plan: Timetable | None = None
    values: tuple[int, ...] | None = None


class ByCuttingPlanes:
    """Searches by cutting planes, one after the other.

    `leading` is the objective of which a unit outweighs whatever the others may be, if there is one; `low` bounds the
    objectives of all plans in the boxes that will be asked for; `upper` bounds total_jct in them, where it is known.
    """

    def __init__(
        self, boxed: Boxed, leading: int | None, answer_of: AnswerOf, low: Sequence[int | None], upper: int | None
    ) -> None:
        self._boxed, self._leading, self._answer_of, self._upper = boxed, leading, answer_of, upper
        self._search: Cut | None = None
        self._stopped = False
        #: No plan in the boxes has less total_jct; whatever is proved on the way stays for the next turn.
        self._lower = self._low = max(boxed.lower_bound, low[boxed.at] or 0) if boxed.at >= 0 else 0
        #: The incumbent in total_jct, and whether there is known to be a plan in the boxes.
        self._incumbent: Timetable | None = None
        self._feasible = False
        #: Whether searches take long, as far as is known, and the deterministic time of the last one.
        self._hard, self._work = False, 0.0

    def stop(self) -> None:
        """End the search, from any thread, for good."""
        self._stopped = True
        if self._search is not None:
            self._search.stop()

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """An answer within limits; `work` is the deterministic time of each search."""
        deadline = Deadline(seconds)
        weights, at = list(asked.weights), self._boxed.at
        if at >= 0 and self._leading == at:
            return self._smallest_total_jct(asked, deadline, work)
        if self._upper is not None:
            return self._within(asked, self._upper, deadline, work)
        if (at >= 0 and weights[at]) or not self._boxed.due:
            return Answer("unknown")
        result = self._best(self._boxed.by_due(weights, asked.boxes), deadline, work)
        if isinstance(result, Timetable) and not inside(self._boxed.values(result), asked.boxes):
            # A bound on total_jct too large for windows, and too small for this plan.
            result = None
        return self._answer(asked, result)

    def _answer(self, asked: Asked, result: Result) -> Answer:
        if isinstance(result, Timetable):
            return self._answer_of(asked.weights, result)
        return Answer("unknown" if result is None else "infeasible")

    def _best(self, made: TimeIndexed | DueModel, deadline: Deadline, work: float | None) -> Result:
        """The model's best plan."""
        limits = Limits(deadline.remaining(MOMENT), work, 1, self._boxed.seed)
        cut = self._search = Cut(made, limits, self._boxed.helpers)
        if self._stopped:
            cut.stop()
        result = cut.run()
        self._work = cut.work
        self._hard |= result is None or cut.work > HARD
        return result

    def _within(self, asked: Asked, upper: int, deadline: Deadline, work: float | None) -> Answer:
        """The best plan of total_jct at most `upper`: first of the leading objective, then of the sum of the others."""
        boxes, k = asked.boxes, self._leading
        rest = [0 if j == k else weight for j, weight in enumerate(asked.weights)]
        if self._low == upper:
            # All plans in the boxes have that total_jct.
            rest = [0 if j == self._boxed.at else weight for j, weight in enumerate(rest)]
        if k is not None:
            first = [int(j == k) for j in range(len(rest))]
            # With counts: mostly this is about ties at a total_jct near the lower bound, which is hard.
            result = self._best(self._boxed.by_time(first, boxes, upper, hard=True), deadline, work)
            if not isinstance(result, Timetable) or not any(rest):
                return self._answer(asked, result)
            boxes = [with_end(box, k, self._boxed.values(result)[k]) for box in boxes]
        return self._answer(asked, self._best(self._boxed.by_time(rest, boxes, upper, hard=True), deadline, work))

    # -- the smallest total_jct ----------------------------------------------------------------------------------------

    def _smallest_total_jct(self, asked: Asked, deadline: Deadline, work: float | None) -> Answer:
        """The smallest total_jct, and of such plans one that is best in the others, even if that is not asked for."""
        weights, at, values = list(asked.weights), self._boxed.at, asked.values
        others = [0 if j == at else weight for j, weight in enumerate(weights)]
        upper = self._upper
        if values is not None and not any(others):
            # No better than the hint is a proof one value earlier.
            upper = values[at] - 1
        elif values is None and upper is None and not self._feasible:
            # Nothing bounds total_jct: values would be refuted without end where there is no plan at all.
            if not self._boxed.due:
                return Answer("unknown")
            result = self._best(self._boxed.by_due([0] * len(weights), asked.boxes), deadline, work)
            if not isinstance(result, Timetable):
                return self._answer(asked, result)
            self._feasible = True
        ties = [0 if j == at else weight for j, weight in enumerate(self._boxed.ties(asked.boxes))]
        result = self._earliest(asked.boxes, others if any(others) else ties, deadline, work, upper)
        if result is False and values is not None and upper == values[at] - 1:
            return Answer("optimal", values, weights[at] * values[at], asked.hint)
        return self._answer(asked, result)

    def _earliest(
        self, boxes: Sequence[Bounds], then: Sequence[int], deadline: Deadline, work: float | None, upper: int | None
    ) -> Result:
        """The best plan, by the weighted sum `then`, of those of the smallest total_jct, which is at most `upper`.

        At the lower bound of total_jct the best plan is looked for, and beyond it any. None as well where windows would
        be too wide.
        """
        boxed, steps = self._boxed, Steps()
        while (value := self._next(steps.size, upper)) is not None:
            at_bound = value == self._lower
            made = boxed.by_time(then if at_bound else [0] * len(then), boxes, value, self._hard)
            result = self._best(made, deadline, work)
            if result is None or (result is not False and at_bound):
                return result
            if isinstance(result, Timetable):
                self._incumbent = result
            else:
                self._lower = value + 1
                steps.refuted(value, self._work)
        if self._incumbent is None or self._lower < self._incumbent_value:
            return False if upper is not None and self._lower > upper else None
        return self._best(boxed.by_time(then, boxes, self._lower, self._hard), deadline, work)

    def _next(self, step: int, upper: int | None) -> int | None:
        """The total_jct to ask for next: some above the bound, or halfway to the incumbent; None: none."""
        value = self._lower + step - 1
        if self._incumbent is not None:
            value = min(value, (self._lower + self._incumbent_value - 1) // 2)
        value = value if upper is None else min(value, upper)
        value = value if self._boxed.narrow(value) is not None else self._lower
        return value if value >= self._lower and self._boxed.narrow(value) is not None else None

    @property
    def _incumbent_value(self) -> int:
        """The total_jct of the incumbent."""
        assert self._incumbent is not None
        return self._boxed.values(self._incumbent)[self._boxed.at]


def total(weights: Sequence[int], values: Sequence[int]) -> int:
    """The weighted sum of objectives."""
    return sum(w * v for w, v in zip(weights, values, strict=True))


def with_end(box: Bounds, k: int, end: int) -> Bounds:
    """The part of a box where objective k is at most `end`."""
    return tuple(min(end, end if u is None else u) if j == k else u for j, u in enumerate(box))
