"""Ways to answer a sub-problem of a front. All give solutions of the task-level model, whoever found the plan."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits
from mlsched.core.scalar import Answer, Bounds, Searcher, Solution, inside
from mlsched.formulations._cp_apart import Apart
from mlsched.formulations.taskgraph._boxed import Boxed
from mlsched.formulations.taskgraph._cutting_planes import parameters
from mlsched.formulations.taskgraph._due import DueModel
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances.taskgraph import Timetable

#: How far above the ideal total_jct a plan is looked for at first, as a share of it.
SPARE = 0.15

#: A plan; False: there is none; None: not known.
Found = Timetable | bool | None
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


class _Cutting:
    """Searches by cutting planes, one after the other."""

    def __init__(self, boxed: Boxed, tell: Told) -> None:
        self._boxed, self._tell = boxed, tell
        self._search: Apart | None = None
        self._stopped = False

    def _best(
        self, made: TimeIndexed | DueModel, seconds: float | None, work: float | None, tree: bool = False
    ) -> Found:
        """The model's best plan. `tree`: by a tree of bounds, which suits sums of completions alone."""
        if made.reason is not None:
            return False
        chosen = parameters(Limits(seconds, work, 1, self._boxed.seed))
        chosen.optimize_with_lb_tree_search = tree
        self._search = Apart(made.cp, chosen, lambda _: None)
        if self._stopped:
            return None
        ended = self._search.run()
        if ended.status == "MODEL_INVALID":
            raise SolverError("cp-sat calls a model for cutting planes invalid")
        if ended.status == "INFEASIBLE":
            return False
        return made.plan(ended.solution) if ended.status == "OPTIMAL" else None

    def _timed(self, asked: Asked, upper: int, leading: int | None, until: float | None, work: float | None) -> Found:
        """The best plan of total_jct at most `upper`: first in the leading objective, then in the sum of the others."""
        weights, boxes, at = list(asked.weights), asked.boxes, self._boxed.at
        if leading is not None:
            unit = [int(j == leading) for j in range(len(weights))]
            found = self._best(self._boxed.by_time(unit, boxes, upper, left(until)), left(until), work, leading == at)
            if not isinstance(found, Timetable):
                return found
            best = self._boxed.values(found)[leading]
            boxes, upper = [with_end(box, leading, best) for box in boxes], best if leading == at else upper
            weights[leading] = 0
        return self._best(self._boxed.by_time(weights, boxes, upper, left(until)), left(until), work)

    def _answer(self, asked: Asked, found: Found) -> Answer:
        if isinstance(found, Timetable):
            return self._tell(asked.weights, found)
        return Answer("unknown" if found is None else "infeasible")

    def stop(self) -> None:
        """See `Way`; for good."""
        self._stopped = True
        if self._search is not None:
            self._search.stop()


class ByTime(_Cutting):
    """The time-indexed model for total_jct at most `upper`."""

    def __init__(self, boxed: Boxed, upper: int, leading: int | None, tell: Told) -> None:
        super().__init__(boxed, tell)
        self._upper, self._leading = upper, leading

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`; `work` is for each search."""
        until = None if seconds is None else time.perf_counter() + seconds
        return self._answer(asked, self._timed(asked, self._upper, self._leading, until, work))


class ByDue(_Cutting):
    """What can be due, for the leading objective and bounds of the others; then the least total_jct with that.

    Nothing bounds total_jct at first. The best of the leading objective and the ideals of the others do not depend on
    it and are found at once; with them a plan of small total_jct, which is looked for where it is small and then where
    it is larger, bounds that of better plans.
    """

    def __init__(self, boxed: Boxed, ideal: Sequence[int | None], leading: int | None, tell: Told) -> None:
        super().__init__(boxed, tell)
        self._ideal, self._leading = ideal, leading

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`; `work` is for each search."""
        until = None if seconds is None else time.perf_counter() + seconds
        boxes, at, k = list(asked.boxes), self._boxed.at, self._leading
        if at < 0 or not asked.weights[at]:
            found = self._best(self._boxed.by_due(asked.weights, boxes), seconds, work)
            return self._answer(asked, found)
        low = list(self._ideal)
        first = low[at]
        if k is None or k == at or first is None:
            return Answer("unknown")
        for j in (k, *(j for j, w in enumerate(asked.weights) if w and j not in (k, at))):
            unit = [int(i == j) for i in range(len(low))]
            found = self._best(self._boxed.by_due(unit, boxes), left(until), work)
            if not isinstance(found, Timetable):
                return self._answer(asked, found)
            low[j] = best = self._boxed.values(found)[j]
            if j == k:
                boxes = [with_end(box, k, best) for box in boxes]
        return self._least(asked.within(boxes), low, first, until, work)

    def _least(
        self, asked: Asked, low: Sequence[int | None], first: int, until: float | None, work: float | None
    ) -> Answer:
        """The least weighted sum, from total_jct little above `first` on."""
        upper, best = first + max(1, round(SPARE * first)), None
        while self._boxed.narrow(upper):
            # The leading objective is the same in all these plans.
            found = self._timed(asked, upper, None, until, work)
            if found is None:
                break
            best = found if isinstance(found, Timetable) else best
            # Of better plans all have been looked at but those of more total_jct, up to this.
            needed = first + 2 * (upper - first)
            if best is not None:
                better = self._boxed.upper(asked.weights, asked.boxes, low, best, better=1)
                if better is not None and better <= upper:
                    return self._answer(asked, best)
                needed = better or needed
            upper = needed
        return Answer("unknown")


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
            answer = way.ask(asked.within([self._no_worse(box, best) for box in boxes]), left(until), work)
            if answer.status not in ("optimal", "infeasible"):
                return answer
            if best.bound is None or (answer.bound is not None and answer.bound < best.bound):
                best = answer
        return best

    def _no_worse(self, box: Bounds, best: Answer) -> Bounds:
        """The part of a box where the leading objective is no worse than in the best answer."""
        if best.values is None or self._leading is None:
            return box
        return with_end(box, self._leading, best.values[self._leading])

    def stop(self) -> None:
        """See `Way`."""
        self._stopped = True
        for way, _ in self._parts:
            way.stop()


def with_end(box: Bounds, k: int, end: int) -> Bounds:
    """The part of a box where objective k is at most `end`."""
    return tuple(min(end, end if u is None else u) if j == k else u for j, u in enumerate(box))


def left(until: float | None) -> float | None:
    """Seconds until a time, at least a moment."""
    return None if until is None else max(1e-3, until - time.perf_counter())
