"""Sub-problems of fronts: the task-level model beside ones that suit the sub-problem.

Where total_jct is bounded, by the boxes or by a plan that is known, that is the time-indexed model with its narrow
windows; else, where the other objectives know no time after the deadlines, first the model of what can be due: both by
cutting planes (`_boxed`, `_front_ways`). The task-level model begins, alone, because it proves many sub-problems at
once; then both run, with one thread in turns that grow. Whichever proves first answers.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation
from mlsched.core.scalar import Answer, Bounds, Searcher, Solution, loosest
from mlsched.formulations.taskgraph._alone import sharpened
from mlsched.formulations.taskgraph._boxed import Boxed, due, timed
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._front_ways import Asked, ByDue, ByIntervals, ByTime, OneByOne, Way, left, total
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable

#: (formulation, threads, parameters) -> its search.
Make = Callable[[Formulation, int, Mapping[str, Any]], Searcher]

#: Deterministic time of the task-level model alone, and the least of it, which it has after it has not proved alone
#: again and again; that of the first turns, and how turns grow.
ALONE, LITTLE, TURN, GROWTH = 0.3, 0.02, 2.0, 2.0
#: Core-guided search, without a linear relaxation. (With more threads CP-SAT has strategies of its own.)
CORE = {"optimize_with_core": True, "linearization_level": 0}


def front_model(layout: Layout, objectives: tuple[str, ...]) -> Formulation:
    """The task-level model, which is helped with its sub-problems where something can help."""
    made = model(layout, objectives)
    if not timed(layout, objectives) and not due(layout, objectives):
        return made
    return dataclasses.replace(made, assisted=functools.partial(Assisted, layout, objectives, made))


class Assisted:
    """The `Scalar` of a task-level model with help."""

    def __init__(
        self, layout: Layout, objectives: tuple[str, ...], made: Formulation, make: Make, threads: int, seed: int
    ) -> None:
        self._layout, self._objectives, self._seed = layout, objectives, seed
        self._made, self._threads = made, threads
        plain = make(made, max(1, threads - 1), CORE if threads <= 2 else {})
        self._plain, self._intervals = plain, ByIntervals(plain)
        self.name, self.low, self.high, self.largest = plain.name, plain.low, plain.high, plain.largest
        self.most_boxes, self.fingerprint = plain.most_boxes, plain.fingerprint
        self._alone = ALONE
        #: No plan has a smaller value; sub-problems without bounds raise it.
        self._ideal = list(plain.low)

    @functools.cached_property
    def _boxed(self) -> Boxed:
        """Made when it is needed, which easy fronts never do."""
        return Boxed(sharpened(self._layout)[0], self._objectives, self.high, self._seed)

    def minimise(
        self, weights: Sequence[int], boxes: Sequence[Bounds], hint: Solution | None, limit: float | None
    ) -> Answer:
        """See `Scalar.minimise`."""
        until = None if limit is None else time.perf_counter() + limit
        asked = Asked(weights, boxes, hint)
        answer = self._intervals.ask(asked, limit, self._alone)
        self._alone = min(ALONE, 2 * self._alone) if _final(answer) else max(LITTLE, self._alone / 2)
        if not _final(answer) and not _late(until):
            plan: Any = None if hint is None else self._made.decode(self._plain.value_of(hint))
            values = None if plan is None else self._boxed.values(plan)
            asked = dataclasses.replace(asked, plan=plan, values=values)
            answer = self._helped(asked, until)
        k = self._leading(weights, boxes)
        free = all(end is None for box in boxes for j, end in enumerate(box) if j != k)
        if k is not None and free and answer.status == "optimal" and answer.values is not None:
            self._ideal[k] = answer.values[k]
        return answer

    def _leading(self, weights: Sequence[int], boxes: Sequence[Bounds]) -> int | None:
        """The objective of which a unit outweighs whatever the others may be in the boxes, if there is one."""
        k = max(range(len(weights)), key=lambda j: weights[j])
        rest, ends = 0, loosest(boxes)
        for j, (weight, low, high, end) in enumerate(zip(weights, self._ideal, self.high, ends, strict=True)):
            if j != k and weight:
                most = [e for e in (high, end) if e is not None]
                if low is None or not most:
                    return None
                rest += weight * max(0, min(most) - low)
        return k if weights[k] > rest else None

    def _helped(self, asked: Asked, until: float | None) -> Answer:
        """The answer of what suits the sub-problem, or of the task-level model."""
        helper = self._way(asked)
        if helper is None:
            return self._intervals.ask(asked, left(until), None)
        ways = [self._intervals, helper]
        return self._race(ways, asked, until) if self._threads > 1 else _turns(ways, asked, until)

    def _way(self, asked: Asked) -> Way | None:
        """What suits the sub-problem, if anything does."""
        boxed, boxes = self._boxed, asked.boxes
        leading = self._leading(asked.weights, boxes)
        by_time = functools.partial(ByTime, boxed, leading, self._told)
        if boxed.timed:
            upper = boxed.upper(asked.weights, boxes, self._ideal, asked.plan)
            if upper is not None:
                return by_time(upper)
        ends = {box: end for box in boxes if boxed.timed and (end := boxed.end(box)) is not None}
        rest = [box for box in boxes if box not in ends]
        if rest and not boxed.due:
            return None
        parts: list[tuple[Way, Sequence[Bounds]]] = []
        if ends:
            parts.append((by_time(max(ends.values())), list(ends)))
        if rest:
            parts.append((ByDue(boxed, leading, self._told, self._ideal), rest))
        return parts[0][0] if len(parts) == 1 else OneByOne(parts, leading)

    def _told(self, weights: Sequence[int], plan: Timetable) -> Answer:
        """The best plan of a sub-problem as an answer of the task-level model."""
        values = self._boxed.values(plan)
        solution = self._plain.solution_of(self._made.encode(plan))
        if solution is None:
            raise SolverError(f"a plan of values {values} is not one of the task-level model")
        return Answer("optimal", values, total(weights, values), solution)

    def _race(self, ways: Sequence[Way], asked: Asked, until: float | None) -> Answer:
        """All at once; when one has proved, the others are ended."""
        with ThreadPoolExecutor(len(ways)) as pool:
            running = {pool.submit(way.ask, asked, left(until), None): way for way in ways}
            pending = set(running)
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    if any(future.exception() is not None or _final(future.result()) for future in done):
                        break
            finally:
                while not all(future.done() for future in running):
                    # Again and again: a search that has not begun cannot be stopped.
                    for way in ways:
                        way.stop()
                    time.sleep(0.005)
        answers = [future.result() for future in running]
        return next((answer for answer in answers if _final(answer)), answers[0])

    def value_of(self, solution: Solution) -> Callable[[Any], Any]:
        """See `Scalar.value_of`."""
        return self._plain.value_of(solution)

    def values_of(self, solution: Solution, variables: Sequence[Any] | None) -> Solution:
        """See `Scalar.values_of`."""
        return self._plain.values_of(solution, variables)


def _turns(ways: Sequence[Way], asked: Asked, until: float | None) -> Answer:
    """One after the other, each longer every time."""
    work = TURN
    while True:
        for way in ways:
            answer = way.ask(asked, left(until), work)
            if _final(answer) or _late(until):
                return answer
        work *= GROWTH


def _final(answer: Answer) -> bool:
    return answer.status not in ("feasible", "unknown")


def _late(until: float | None) -> bool:
    return until is not None and time.perf_counter() >= until
