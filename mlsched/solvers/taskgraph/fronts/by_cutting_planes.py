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

#: After a search of this deterministic time, the following searches count as hard and get counts (`_counts`).
HARD = 1.2

#: Converts a plan to an answer of the interval model.
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

    `leading` is an objective, if any, of which one unit outweighs all values of the others; `low` bounds the
    objectives of all plans in the requested boxes; `upper` bounds total_jct in them, if known.
    """

    def __init__(
        self, boxed: Boxed, leading: int | None, answer_of: AnswerOf, low: Sequence[int | None], upper: int | None
    ) -> None:
        self._boxed, self._leading, self._answer_of, self._upper = boxed, leading, answer_of, upper
        self._search: Cut | None = None
        self._stopped = False
        #: A lower bound on total_jct of plans in the boxes; proofs on the way remain for the next turn.
        self._lower = self._low = max(boxed.lower_bound, low[boxed.at] or 0) if boxed.at >= 0 else 0
        #: The incumbent in total_jct, and whether a plan in the boxes is known.
        self._incumbent: Timetable | None = None
        self._feasible = False
        #: Whether searches take long, as far as is known, and the deterministic time of the last search.
        self._hard, self._work = False, 0.0

    def stop(self) -> None:
        """End the search permanently, from any thread."""
        self._stopped = True
        if self._search is not None:
            self._search.stop()

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """Return an answer within limits; `work` is the deterministic time of each search."""
        deadline = Deadline(seconds)
        weights, at = list(asked.weights), self._boxed.at
        if at >= 0 and self._leading == at:
            return self._smallest_total_jct(asked, deadline, work)
        if self._upper is not None:
            return self._best_within(asked, self._upper, deadline, work)
        if (at >= 0 and weights[at]) or not self._boxed.due:
            return Answer("unknown")
        result = self._best(self._boxed.by_due(weights, asked.boxes), deadline, work)
        if isinstance(result, Timetable) and not inside(self._boxed.values(result), asked.boxes):
            # A bound on total_jct too large for windows, and too small for this plan.
            result = None
        return self._answer(asked, result)

    def _answer(self, question: Asked, result: Result) -> Answer:
        if isinstance(result, Timetable):
            return self._answer_of(question.weights, result)
        return Answer("unknown" if result is None else "infeasible")

    def _best(self, built: TimeIndexed | DueModel, deadline: Deadline, work: float | None) -> Result:
        """Return the model's best plan."""
        limits = Limits(deadline.remaining(MOMENT), work, 1, self._boxed.seed)
        cut_search = self._search = Cut(built, limits, self._boxed.helpers)
        if self._stopped:
            cut_search.stop()
        result = cut_search.run()
        self._work = cut_search.work
        self._hard |= result is None or cut_search.work > HARD
        return result

    def _best_within(self, question: Asked, upper: int, deadline: Deadline, work: float | None) -> Answer:
        """Return the best plan of total_jct at most `upper`, by the leading objective, then the sum of the others."""
        boxes, k = question.boxes, self._leading
        rest = [0 if j == k else weight for j, weight in enumerate(question.weights)]
        if self._low == upper:
            # All plans in the boxes have that total_jct.
            rest = [0 if j == self._boxed.at else weight for j, weight in enumerate(rest)]
        if k is not None:
            first = [int(j == k) for j in range(len(rest))]
            # With counts: mostly the question is about ties at a total_jct near the lower bound, which is hard.
            result = self._best(self._boxed.by_time(first, boxes, upper, hard=True), deadline, work)
            if not isinstance(result, Timetable) or not any(rest):
                return self._answer(question, result)
            boxes = [with_end(box, k, self._boxed.values(result)[k]) for box in boxes]
        return self._answer(question, self._best(self._boxed.by_time(rest, boxes, upper, hard=True), deadline, work))

    # -- the smallest total_jct ----------------------------------------------------------------------------------------

    def _smallest_total_jct(self, question: Asked, deadline: Deadline, work: float | None) -> Answer:
        """Return the plan of smallest total_jct that is best in the others, even if their sum was not requested."""
        weights, at, values = list(question.weights), self._boxed.at, question.values
        others = [0 if j == at else weight for j, weight in enumerate(weights)]
        upper = self._upper
        if values is not None and not any(others):
            # A proof that the hint is optimal needs one value less.
            upper = values[at] - 1
        elif values is None and upper is None and not self._feasible:
            # total_jct is unbounded: without any plan, values would be refuted endlessly.
            if not self._boxed.due:
                return Answer("unknown")
            result = self._best(self._boxed.by_due([0] * len(weights), question.boxes), deadline, work)
            if not isinstance(result, Timetable):
                return self._answer(question, result)
            self._feasible = True
        ties = [0 if j == at else weight for j, weight in enumerate(self._boxed.ties(question.boxes))]
        result = self._earliest_plan(question.boxes, others if any(others) else ties, deadline, work, upper)
        if result is False and values is not None and upper == values[at] - 1:
            return Answer("optimal", values, weights[at] * values[at], question.hint)
        return self._answer(question, result)

    def _earliest_plan(
        self, boxes: Sequence[Bounds], then: Sequence[int], deadline: Deadline, work: float | None, upper: int | None
    ) -> Result:
        """Return the plan of smallest total_jct that is best by the weighted sum `then`.

        At the lower bound of total_jct the best plan is searched, above it any plan. Returns None also if windows would
        be too wide.

        Args:
            boxes: Boxes of the objectives.
            then: Weights of the objectives for ties.
            deadline: End of the search.
            work: Deterministic time of each search.
            upper: Upper bound on total_jct; None if unknown.
        """
        boxed, steps = self._boxed, Steps()
        while (value := self._next_total_jct(steps.size, upper)) is not None:
            at_bound = value == self._lower
            built = boxed.by_time(then if at_bound else [0] * len(then), boxes, value, self._hard)
            result = self._best(built, deadline, work)
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

    def _next_total_jct(self, step: int, upper: int | None) -> int | None:
        """Return the next total_jct to try: some steps above the bound, halfway to the incumbent, or None."""
        value = self._lower + step - 1
        if self._incumbent is not None:
            value = min(value, (self._lower + self._incumbent_value - 1) // 2)
        value = value if upper is None else min(value, upper)
        value = value if self._boxed.narrow(value) is not None else self._lower
        return value if value >= self._lower and self._boxed.narrow(value) is not None else None

    @property
    def _incumbent_value(self) -> int:
        """Return the total_jct of the incumbent."""
        assert self._incumbent is not None
        return self._boxed.values(self._incumbent)[self._boxed.at]


def total(weights: Sequence[int], values: Sequence[int]) -> int:
    """Return the weighted sum of objectives."""
    return sum(w * v for w, v in zip(weights, values, strict=True))


def with_end(box: Bounds, k: int, end: int) -> Bounds:
    """Restrict a box to values of objective k of at most `end`."""
    return tuple(min(end, end if u is None else u) if j == k else u for j, u in enumerate(box))
