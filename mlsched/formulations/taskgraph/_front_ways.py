"""Ways to answer a sub-problem of a front. All give solutions of the task-level model, whoever found the plan."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation, Limits
from mlsched.core.scalar import Answer, Bounds, Searcher, Solution, inside
from mlsched.formulations._cp_apart import Apart
from mlsched.formulations.taskgraph._cutting_planes import parameters
from mlsched.formulations.taskgraph._time_boxes import TimeBoxes
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances.taskgraph import Timetable

#: A plan as an answer of the task-level model.
Told = Callable[[Sequence[int], Timetable], Answer]


@dataclasses.dataclass(frozen=True)
class Asked:
    """A sub-problem, see `Scalar.minimise`; `plan` and its values are those of the hint."""

    weights: Sequence[int]
    boxes: Sequence[Bounds]
    hint: Solution | None = None
    plan: Timetable | None = None
    values: tuple[int, ...] | None = None

    def within(self, boxes: Sequence[Bounds]) -> Asked:
        """The same of some boxes; the hint stays if it is in one of them."""
        if self.values is not None and inside(self.values, boxes):
            return dataclasses.replace(self, boxes=boxes)
        return Asked(self.weights, boxes)


class Way(Protocol):
    """A search for sub-problems."""

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """An answer within limits; `work` is deterministic time."""

    def stop(self) -> None:
        """End the search, from any thread; one that has not begun may begin none the less."""


class ByIntervals:
    """The task-level model itself."""

    def __init__(self, search: Searcher) -> None:
        self.search = search

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`."""
        self.search.work = work
        return self.search.minimise(asked.weights, asked.boxes, asked.hint, seconds)

    def stop(self) -> None:
        """See `Way`."""
        self.search.stop()


class ByRows:
    """The model with rows of what can be done by the deadlines (`_on_time`)."""

    def __init__(self, made: Formulation, search: Searcher, tell: Told) -> None:
        self._made, self._search, self._tell = made, search, tell

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`."""
        hint = None if asked.plan is None else self._search.solution_of(self._made.encode(asked.plan))
        self._search.work = work
        answer = self._search.minimise(asked.weights, asked.boxes, hint, seconds)
        if answer.status != "optimal" or answer.solution is None:
            return Answer("unknown", bound=answer.bound) if answer.status == "feasible" else answer
        plan: Any = self._made.decode(self._search.value_of(answer.solution))
        return self._tell(asked.weights, plan)

    def stop(self) -> None:
        """See `Way`."""
        self._search.stop()


class ByTime:
    """The time-indexed model for total_jct at most `upper`, by cutting planes; for one sub-problem."""

    def __init__(self, boxes: TimeBoxes, upper: int, tell: Told) -> None:
        self._boxes, self._upper, self._tell = boxes, upper, tell
        self._made: TimeIndexed | None = None
        self._search: Apart | None = None
        self._stopped = False

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`."""
        if self._made is None:
            self._made = self._boxes.made(asked.weights, asked.boxes, self._upper, seconds)
        if self._made.reason is not None:
            return Answer("infeasible")
        chosen = parameters(Limits(seconds, work, 1, self._boxes.seed))
        chosen.optimize_with_lb_tree_search = True
        self._search = Apart(self._made.cp, chosen, lambda _: None)
        if self._stopped:
            return Answer("unknown")
        ended = self._search.run()
        if ended.status == "MODEL_INVALID":
            raise SolverError("cp-sat calls the time-indexed model invalid")
        if ended.status == "INFEASIBLE":
            return Answer("infeasible")
        if ended.status != "OPTIMAL":
            return Answer("unknown")
        return self._tell(asked.weights, self._made.plan(ended.solution))

    def stop(self) -> None:
        """See `Way`."""
        self._stopped = True
        if self._search is not None:
            self._search.stop()


class OneByOne:
    """A sub-problem in parts, some of the boxes each; later ones need not look for worse than the best so far.

    `leading` is the objective of which a unit outweighs whatever the others may be, if there is one.
    """

    def __init__(self, parts: Sequence[tuple[Way, Sequence[Bounds]]], leading: int | None) -> None:
        self._parts, self._leading, self._stopped = parts, leading, False

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`; each part has the limit of `work`."""
        until = None if seconds is None else time.perf_counter() + seconds
        best = Answer("infeasible")
        for way, boxes in self._parts:
            if self._stopped or (until is not None and time.perf_counter() >= until):
                return Answer("unknown")
            left = None if until is None else until - time.perf_counter()
            answer = way.ask(asked.within([self._no_worse(box, best) for box in boxes]), left, work)
            if answer.status not in ("optimal", "infeasible"):
                return answer
            if best.bound is None or (answer.bound is not None and answer.bound < best.bound):
                best = answer
        return best

    def _no_worse(self, box: Bounds, best: Answer) -> Bounds:
        """The part of a box where the leading objective is no worse than in the best answer."""
        if best.values is None or self._leading is None:
            return box
        k, end = self._leading, best.values[self._leading]
        return tuple(min(end, end if u is None else u) if j == k else u for j, u in enumerate(box))

    def stop(self) -> None:
        """See `Way`."""
        self._stopped = True
        for way, _ in self._parts:
            way.stop()
