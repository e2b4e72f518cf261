"""Sub-problems of fronts: by the interval model, and by models that suit the sub-problem.

If the boxes or a known plan bound total_jct, the second model is the time-indexed model with its narrow windows. Else,
if the other objectives depend only on the deadlines, it is first the model of work due by then. Both are
searched by cutting planes (`boxed`, `by_cutting_planes`). The interval model begins, because it proves many
sub-problems at once; then the two alternate in growing turns. Proofs in larger boxes bound later sub-problems.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsched.core.aliases import Variable
from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.errors import BackendError
from mlsched.core.formulation import Formulation, Limits
from mlsched.core.scalar import Answer, Bounds, Limited, Solution, Stages, Weigh
from mlsched.formulations.taskgraph._intervals import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph.highs import good_plan
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.front.boxes import inside, loosest
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.fronts.boxed import Boxed, due, timed
from mlsched.solvers.taskgraph.fronts.by_cutting_planes import Asked, ByCuttingPlanes, total, with_end
from mlsched.solvers.taskgraph.fronts.known import Known, ties
from mlsched.solvers.taskgraph.one_objective import search

#: (formulation, threads, parameters) -> its search.
Make = Callable[[Formulation, int, Mapping[str, Any]], Limited]

#: Deterministic time of the interval model at first, and its minimum after repeated failures.
FIRST_TURN, SHORTEST_TURN = 0.3, 0.02
#: Deterministic time of the first turns of cutting planes (each search) and of the interval model, which needs more
#: seconds per unit; growth of the turns.
TURN, GROWTH = (80.0, 5.0), 2.0
#: Core-guided search, without a linear relaxation. (With more threads CP-SAT has strategies of its own.)
CORE = {"optimize_with_core": True, "linearization_level": 0}


def front_model(layout: Layout, objectives: tuple[str, ...]) -> Formulation:
    """Return the interval model, with assistance for its sub-problems if available."""
    made = model(layout, objectives)
    if not timed(layout, objectives) and not due(layout, objectives):
        return made
    return dataclasses.replace(made, assisted=functools.partial(Assisted, layout, objectives, made))


class _Shared:
    """The common data of all searchers of a front: proofs, and the parts of models."""

    def __init__(self, layout: Layout, objectives: tuple[str, ...], plain: Limited, seed: int) -> None:
        self._layout, self._objectives, self._high, self._seed = layout, objectives, plain.high, seed
        self._boxed: Boxed | None = None
        #: See `Scalar`.
        self.ties = ties(objectives, plain.low, plain.high)
        self._lock = threading.Lock()
        self.known = Known(plain.low)
        #: Number of threads of all searchers together.
        self.threads = 0
        #: Answers to future questions.
        self.answers: dict[tuple[Sequence[int], Sequence[Bounds]], Answer] = {}

    def keep(self, asked: Asked, answer: Answer) -> None:
        """Keep the answer to the question that follows: the weighted sum, given the smallest total_jct.

        A plan of the smallest total_jct that is best in the others also has the smallest weighted sum.
        """
        at, values = self.boxed.at, answer.values
        if values is None or answer.status != "optimal" or not _is_only_objective(asked.weights, at):
            return
        boxes = tuple(sorted(with_end(box, at, values[at]) for box in asked.boxes))
        weights = self.ties(boxes)
        self.answers[weights, boxes] = dataclasses.replace(answer, bound=total(weights, values))

    def close(self) -> None:
        """End the processes that wait for searches."""
        with self._lock:
            if self._boxed is not None:
                self._boxed.helpers.close()

    @property
    def boxed(self) -> Boxed:
        """Return the boxed models, which are built when first needed; easy fronts never need them."""
        with self._lock:
            if self._boxed is None:
                self._boxed = Boxed(sharpened(self._layout)[0], self._objectives, self._high, self._seed, self.ties)
            return self._boxed


class Assisted:
    """The `Searcher` of an interval model with help; several searchers share their results.

    A single objective is soon proved optimal at a known point, where a tie-break would take long. total_jct is
    minimised because its bounds are hard to prove, and they also serve later sub-problems.
    """

    stages: Stages | None = "two"
    ties: Weigh | None

    def __init__(
        self, layout: Layout, objectives: tuple[str, ...], made: Formulation, make: Make, threads: int, seed: int
    ) -> None:
        plain = make(made, threads, CORE if threads == 1 else {})
        self._threads = threads
        self._made, self._shared = made, _Shared(layout, objectives, plain, seed)
        self.favourite = objectives.index("total_jct") if timed(layout, objectives) else None
        self._known = self._shared.known
        self._set_search(plain)

    def _set_search(self, plain: Limited) -> None:
        self._plain = plain
        self.name, self.low, self.high, self.largest = plain.name, plain.low, plain.high, plain.largest
        self.most_boxes, self.fingerprint, self.ties = plain.most_boxes, plain.fingerprint, self._shared.ties
        self._shared.threads += self._threads
        self._first_turn = FIRST_TURN
        self._stopped = threading.Event()
        self._helper: ByCuttingPlanes | None = None

    def another(self) -> Assisted:
        """Return a copy for the same question, for another thread."""
        one = copy.copy(self)
        one._set_search(self._plain.another())
        return one

    def stop(self) -> None:
        """End the running solve, from any thread; a solve that has not begun still begins."""
        self._stopped.set()
        self._plain.stop()
        if (helper := self._helper) is not None:
            helper.stop()

    def close(self) -> None:
        """Close as in `Assistant`."""
        self._shared.close()

    def minimise(
        self, weights: Sequence[int], boxes: Sequence[Bounds], hint: Solution | None, limit: float | None
    ) -> Answer:
        """Minimise as in `Scalar.minimise`."""
        self._stopped.clear()
        deadline = Deadline(limit)
        answer = self._shared.answers.get((tuple(weights), tuple(boxes)))
        if answer is None:
            question = Asked(weights, boxes, hint)
            answer = self._by_intervals(question, limit, self._first_turn)
            self._first_turn = (
                min(FIRST_TURN, 2 * self._first_turn) if _is_final(answer) else max(SHORTEST_TURN, self._first_turn / 2)
            )
        if not _is_final(answer) and not self._is_over(deadline):
            plan: Any = None if hint is None else self._made.decode(self._plain.value_of(hint))
            if plan is not None and inside(values := self._shared.boxed.values(plan), boxes):
                question = dataclasses.replace(question, plan=plan, values=values)
            answer = self._answer_with_help(question, deadline)
        k = self._leading_objective(weights, boxes)
        if k is not None and answer.status == "optimal" and answer.values is not None:
            self._known.prove(k, boxes, answer.values[k])
        return answer

    def _leading_objective(self, weights: Sequence[int], boxes: Sequence[Bounds]) -> int | None:
        """Return an objective of which one unit outweighs all values of the others in the boxes, if any."""
        k = max(range(len(weights)), key=lambda j: weights[j])
        rest, ends = 0, loosest(boxes)
        for j, (weight, low, high, end) in enumerate(zip(weights, self._known.ideal, self.high, ends, strict=True)):
            if j != k and weight:
                most = [e for e in (high, end) if e is not None]
                if low is None or not most:
                    return None
                rest += weight * max(0, min(most) - low)
        return k if weights[k] > rest else None

    def _is_over(self, deadline: Deadline) -> bool:
        return self._stopped.is_set() or deadline.passed()

    def _by_intervals(self, question: Asked, seconds: float | None, work: float | None) -> Answer:
        """Return the answer of the interval model within limits; `work` is deterministic time."""
        self._plain.work = work
        return self._plain.minimise(question.weights, question.boxes, question.hint, seconds)

    def _answer_with_help(self, question: Asked, deadline: Deadline) -> Answer:
        """Return the answer of the suitable model, alternating with the interval model in growing turns."""
        boxed = self._shared.boxed
        if (
            boxed.timed
            and _is_only_objective(question.weights, boxed.at)
            and all(end is None for box in question.boxes for end in box)
        ):
            return self._unbounded(question, deadline)
        self._helper = helper = self._cutting_planes(question)
        if helper is None:
            return self._by_intervals(question, deadline.remaining(MOMENT), None)
        longer = 1.0
        while True:
            answer = helper.ask(question, deadline.remaining(MOMENT), longer * TURN[0])
            if _is_final(answer):
                if answer.solution is not question.hint:
                    self._shared.keep(question, answer)
                return answer
            if not self._is_over(deadline):
                answer = self._by_intervals(question, deadline.remaining(MOMENT), longer * TURN[1])
            if _is_final(answer) or self._is_over(deadline):
                return answer
            longer *= GROWTH

    def _unbounded(self, question: Asked, deadline: Deadline) -> Answer:
        """Return the smallest total_jct of all plans, with all threads because every other question waits for it."""
        boxed = self._shared.boxed
        limits = Limits(deadline.remaining(MOMENT), None, self._shared.threads, boxed.seed)
        instance = boxed.layout.instance
        start = question.plan or good_plan(boxed.layout, "total_jct")
        outcome = search(instance, "total_jct", limits, start, self._stopped, first=False)
        weight = question.weights[boxed.at]
        bound = None if outcome.bound is None else weight * math.ceil(outcome.bound)
        if isinstance(outcome.plan, Timetable):
            best = self._answer_of(question.weights, outcome.plan)
            return best if outcome.status == "optimal" else dataclasses.replace(best, status="feasible", bound=bound)
        return Answer("infeasible" if outcome.status == "infeasible" else "unknown", bound=bound)

    def _cutting_planes(self, question: Asked) -> ByCuttingPlanes | None:
        """Return cutting planes for the sub-problem, if there is a model for them."""
        boxed, boxes = self._shared.boxed, question.boxes
        leading, low = self._leading_objective(question.weights, boxes), self._known.within(boxes)
        upper = None
        if boxed.timed:
            upper = boxed.upper(question.weights, boxes, low, question.plan)
            ends = [boxed.end(box) for box in boxes]
            if upper is None and None not in ends:
                upper = max(end for end in ends if end is not None)
        if upper is None and not boxed.due:
            return None
        return ByCuttingPlanes(boxed, leading, self._answer_of, low, upper)

    def _answer_of(self, weights: Sequence[int], plan: Timetable) -> Answer:
        """Return the best plan of a sub-problem as an answer of the interval model."""
        values = self._shared.boxed.values(plan)
        solution = self._plain.solution_of(self._made.encode(plan))
        if solution is None:
            raise BackendError(f"a plan of values {values} is not one of the interval model")
        return Answer("optimal", values, total(weights, values), solution)

    def value_of(self, solution: Solution) -> Callable[[Variable], Any]:
        """Return the function of `Scalar.value_of`."""
        return self._plain.value_of(solution)

    def values_of(self, solution: Solution, variables: Sequence[Variable] | None) -> Solution:
        """Return the values of `Scalar.values_of`."""
        return self._plain.values_of(solution, variables)


def _is_only_objective(weights: Sequence[int], k: int) -> bool:
    """Return whether only objective k has a weight."""
    return [j for j, weight in enumerate(weights) if weight] == [k]


def _is_final(answer: Answer) -> bool:
    return answer.status not in ("feasible", "unknown")
