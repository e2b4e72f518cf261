"""Sub-problems of fronts: the task-level model beside ones that suit the sub-problem.

Where total_jct is bounded, by the boxes or by a plan that is known, that is the time-indexed model with its narrow
windows, by cutting planes (`_time_boxes`); else, where iterations count by their deadlines, the model with rows of
those (`_on_time`). The task-level model begins, alone, because it proves many sub-problems at once; then two searches
run, with one thread in turns that grow. Whichever proves first answers.
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
from mlsched.core.scalar import Answer, Bounds, Searcher, Solution
from mlsched.formulations.taskgraph._alone import sharpened
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._front_ways import Asked, ByIntervals, ByRows, ByTime, OneByOne, Way
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._on_time import on_time, worth
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._rival import worth_separating
from mlsched.formulations.taskgraph._time_boxes import TimeBoxes
from mlsched.instances.taskgraph import Timetable

#: (formulation, threads, parameters) -> its search.
Make = Callable[[Formulation, int, Mapping[str, Any]], Searcher]

#: Deterministic time of the task-level model alone and of the first turns, and how turns grow.
ALONE, TURN, GROWTH = 0.3, 2.0, 2.0
#: Core-guided search without and with a linear relaxation. (With more threads CP-SAT has strategies of its own.)
CORE = {"optimize_with_core": True, "linearization_level": 0}
CORE_LP = {"optimize_with_core": True, "linearization_level": 1}


def front_model(layout: Layout, objectives: tuple[str, ...]) -> Formulation:
    """The task-level model, which is helped with its sub-problems where something can help."""
    made = model(layout, objectives)
    timed = "total_jct" in objectives and layout.reason is None and layout.jobs > 0 and worth_separating(layout)
    timed = timed and not any(place.whole for place in places(layout, "traffic" in objectives))
    if not timed and not worth(layout, objectives):
        return made
    return dataclasses.replace(made, assisted=functools.partial(Assisted, layout, objectives, made, timed))


class Assisted:
    """The `Scalar` of a task-level model with help."""

    def __init__(
        self, layout: Layout, objectives: tuple[str, ...], made: Formulation, timed: bool, make: Make, threads: int,
        seed: int,
    ) -> None:  # fmt: skip
        self._made, self._threads = made, threads
        plain = make(made, max(1, threads - 1), CORE if threads <= 2 else {})
        self._plain, self._intervals = plain, ByIntervals(plain)
        self.name, self.low, self.high, self.largest = plain.name, plain.low, plain.high, plain.largest
        self.most_boxes, self.fingerprint = plain.most_boxes, plain.fingerprint
        narrow, _ = sharpened(layout)
        self._boxes = TimeBoxes(narrow, objectives, seed)
        self._timed = timed
        self._rows: list[Way] = []
        if worth(layout, objectives):
            rows = on_time(narrow, objectives).formulation()
            self._rows = [ByRows(rows, make(rows, 1, chosen), self._told) for chosen in (CORE, CORE_LP)]
        #: No plan has a smaller value; sub-problems without bounds raise it.
        self._ideal = list(plain.low)

    def minimise(
        self, weights: Sequence[int], boxes: Sequence[Bounds], hint: Solution | None, limit: float | None
    ) -> Answer:
        """See `Scalar.minimise`."""
        until = None if limit is None else time.perf_counter() + limit
        asked = Asked(weights, boxes, hint)
        answer = self._intervals.ask(asked, limit, ALONE)
        if not _final(answer) and not _late(until):
            plan: Any = None if hint is None else self._made.decode(self._plain.value_of(hint))
            values = None if plan is None else self._boxes.values(plan)
            asked = dataclasses.replace(asked, plan=plan, values=values)
            ways = self._ways(asked)
            answer = self._race(ways, asked, until) if self._threads > 1 else _turns(ways, asked, until)
        k = self._leading(weights)
        free = all(end is None for box in boxes for j, end in enumerate(box) if j != k)
        if k is not None and free and answer.status == "optimal" and answer.values is not None:
            self._ideal[k] = answer.values[k]
        return answer

    def _leading(self, weights: Sequence[int]) -> int | None:
        """The objective of which a unit outweighs whatever the others may be, if there is one."""
        k = max(range(len(weights)), key=lambda j: weights[j])
        rest = 0
        for j, (weight, low, high) in enumerate(zip(weights, self._ideal, self.high, strict=True)):
            if j != k and weight:
                if low is None or high is None:
                    return None
                rest += weight * (high - low)
        return k if weights[k] > rest else None

    def _ways(self, asked: Asked) -> list[Way]:
        """What suits the sub-problem, at most two."""
        weights, boxes = asked.weights, asked.boxes
        upper = self._boxes.upper(weights, boxes, self._ideal, asked.plan) if self._timed else None
        if upper is not None:
            return [self._intervals, ByTime(self._boxes, upper, self._told)]
        ends = {box: end for box in boxes if self._timed and (end := self._boxes.end(box)) is not None}
        if len(ends) == len(boxes):
            return [self._intervals, ByTime(self._boxes, max(ends.values()), self._told)]
        if not self._rows:
            return [self._intervals]
        core, lp = self._rows
        if not ends:
            return [core, lp]
        timed = ByTime(self._boxes, max(ends.values()), self._told)
        rest = [box for box in boxes if box not in ends]
        return [lp, OneByOne([(timed, list(ends)), (core, rest)], self._leading(weights))]

    def _told(self, weights: Sequence[int], plan: Timetable) -> Answer:
        """The best plan of a sub-problem as an answer of the task-level model."""
        values = self._boxes.values(plan)
        solution = self._plain.solution_of(self._made.encode(plan))
        if solution is None:
            raise SolverError(f"a plan of values {values} is not one of the task-level model")
        return Answer("optimal", values, sum(w * v for w, v in zip(weights, values, strict=True)), solution)

    def _race(self, ways: Sequence[Way], asked: Asked, until: float | None) -> Answer:
        """All at once; when one has proved, the others are ended."""
        with ThreadPoolExecutor(len(ways)) as pool:
            running = {pool.submit(way.ask, asked, _left(until), None): way for way in ways}
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
    work = TURN if len(ways) > 1 else None
    while True:
        for way in ways:
            answer = way.ask(asked, _left(until), work)
            if _final(answer) or _late(until):
                return answer
        if work is not None:
            work *= GROWTH


def _final(answer: Answer) -> bool:
    return answer.status not in ("feasible", "unknown")


def _left(until: float | None) -> float | None:
    return None if until is None else max(1e-3, until - time.perf_counter())


def _late(until: float | None) -> bool:
    return until is not None and time.perf_counter() >= until
