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
from mlsched.formulations.taskgraph._boxed import Boxed, Most
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
    """Searches by cutting planes, one after the other.

    `leading` is the objective of which a unit outweighs whatever the others may be, if there is one.
    """

    def __init__(self, boxed: Boxed, leading: int | None, tell: Told) -> None:
        self._boxed, self._leading, self._tell = boxed, leading, tell
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

    def __init__(self, boxed: Boxed, leading: int | None, tell: Told, upper: int) -> None:
        super().__init__(boxed, leading, tell)
        self._upper = upper

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`; `work` is for each search: first of the leading objective, then of the sum of the others."""
        until = None if seconds is None else time.perf_counter() + seconds
        weights, boxes, upper, k = list(asked.weights), asked.boxes, self._upper, self._leading
        if k is not None:
            made = self._boxed.by_time([int(j == k) for j in range(len(weights))], boxes, upper, left(until))
            found = self._best(made, left(until), work, tree=k == self._boxed.at)
            if not isinstance(found, Timetable):
                return self._answer(asked, found)
            best = self._boxed.values(found)[k]
            boxes, upper = [with_end(box, k, best) for box in boxes], best if k == self._boxed.at else upper
            weights[k] = 0
            if not any(weights):
                return self._answer(asked, found)
        made = self._boxed.by_time(weights, boxes, upper, left(until))
        return self._answer(asked, self._best(made, left(until), work))


class ByDue(_Cutting):
    """What can be due, for all but total_jct, whose bound the other searches lack; then the least total_jct with that.

    The best of the leading objective, and of the weighted sum of the others with that, do not depend on total_jct. The
    least total_jct with both is looked for where it is small and then where it is larger. What could be better still
    has less of it.
    """

    def __init__(self, boxed: Boxed, leading: int | None, tell: Told, ideal: Sequence[int | None]) -> None:
        super().__init__(boxed, leading, tell)
        self._ideal = ideal

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`; `work` is for each search."""
        until = None if seconds is None else time.perf_counter() + seconds
        weights, at, k = list(asked.weights), self._boxed.at, self._leading
        if at < 0 or not weights[at]:
            found = self._due(asked, weights, until, work)
            if isinstance(found, Timetable) and not inside(self._boxed.values(found), asked.boxes):
                # A bound on total_jct too large for windows, and too small for this plan.
                found = None
            return self._answer(asked, found)
        others, fixed = [0 if j in (k, at) else w for j, w in enumerate(weights)], 0
        if k is not None and k != at:
            found = self._due(asked, [int(j == k) for j in range(len(weights))], until, work)
            if not isinstance(found, Timetable):
                return self._answer(asked, found)
            best = self._boxed.values(found)[k]
            asked, fixed = asked.within([with_end(box, k, best) for box in asked.boxes]), weights[k] * best
        # Without weights: whether there is a plan at all.
        found = self._due(asked, others, until, work)
        if not isinstance(found, Timetable):
            return self._answer(asked, found)
        if k == at:
            return self._answer(asked, self._soonest(asked, None, others, until, work))
        least = total(others, self._boxed.values(found))
        found = self._soonest(asked, Most(others, least), None, until, work)
        if not isinstance(found, Timetable):
            return Answer("unknown")
        return self._better(asked, found, least + fixed, until, work)

    def _due(self, asked: Asked, weights: Sequence[int], until: float | None, work: float | None) -> Found:
        return self._best(self._boxed.by_due(weights, asked.boxes), left(until), work)

    def _soonest(
        self, asked: Asked, most: Most | None, then: Sequence[int] | None, until: float | None, work: float | None
    ) -> Found:
        """The least total_jct of a plan that there is, and with that the least of a weighted sum."""
        at = self._boxed.at
        first, unit = self._ideal[at] or 0, [int(j == at) for j in range(len(asked.weights))]
        spare = max(1, round(SPARE * first))
        while self._boxed.narrow(first + spare):
            made = self._boxed.by_time(unit, asked.boxes, first + spare, left(until), most)
            found = self._best(made, left(until), work, tree=True)
            if isinstance(found, Timetable) and then is not None:
                soonest = self._boxed.values(found)[at]
                found = self._best(self._boxed.by_time(then, asked.boxes, soonest, left(until)), left(until), work)
            if found is not False:
                return found
            spare *= 2
        return None

    def _better(
        self, asked: Asked, known: Timetable, least: int, until: float | None, work: float | None
    ) -> Answer:  # fmt: skip
        """The best plan; without total_jct none has a smaller weighted sum than `least`."""
        value = total(asked.weights, self._boxed.values(known))
        upper = (value - 1 - least) // asked.weights[self._boxed.at]
        if self._boxed.narrow(upper) is None:
            return Answer("unknown")
        made = self._boxed.by_time(asked.weights, asked.boxes, upper, left(until), Most(asked.weights, value - 1))
        found = self._best(made, left(until), work)
        return self._answer(asked, known if found is False else found)


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


def total(weights: Sequence[int], values: Sequence[int]) -> int:
    """The weighted sum of objectives."""
    return sum(w * v for w, v in zip(weights, values, strict=True))


def with_end(box: Bounds, k: int, end: int) -> Bounds:
    """The part of a box where objective k is at most `end`."""
    return tuple(min(end, end if u is None else u) if j == k else u for j, u in enumerate(box))


def left(until: float | None) -> float | None:
    """Seconds until a time, at least a moment."""
    return None if until is None else max(1e-3, until - time.perf_counter())
