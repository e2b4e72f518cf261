"""Ways to answer a sub-problem of a front. All give solutions of the task-level model, whoever found the plan."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from mlsched.core.formulation import Limits
from mlsched.core.scalar import Answer, Bounds, Limited, Solution, inside
from mlsched.formulations.taskgraph._due import DueModel
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.taskgraph.fronts.boxed import Boxed, Most
from mlsched.solvers.taskgraph.one_objective import search
from mlsched.solvers.taskgraph.proofs.cutting_planes import Cut, Found
from mlsched.solvers.taskgraph.proofs.values import Steps

#: By how much total_jct may exceed its bound, as a share of that, so that what is looked for is what makes up for it.
SPARE = 0.3
#: Deterministic time of a search after which those that follow are taken to be hard.
HARD = 1.2

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

    def __init__(self, search: Limited) -> None:
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

    `leading` is the objective of which a unit outweighs whatever the others may be, if there is one; `low` bounds the
    objectives of all plans in the boxes that will be asked for.
    """

    def __init__(self, boxed: Boxed, leading: int | None, tell: Told, low: Sequence[int | None]) -> None:
        self._boxed, self._leading, self._tell = boxed, leading, tell
        self._search: Cut | None = None
        self._stopped = False
        #: No plan in the boxes has less total_jct; whatever is proved on the way stays for the next turn.
        self._least = self._low = max(boxed.least, low[boxed.at] or 0) if boxed.at >= 0 else 0
        self._early_plan: Timetable | None = None
        #: Whether searches take long, as far as is known.
        self._hard = False
        #: Deterministic time of the last search.
        self._work = 0.0

    def _cut(self, made: TimeIndexed | DueModel, seconds: float | None, work: float | None) -> Cut:
        return Cut(made, Limits(seconds, work, 1, self._boxed.seed), self._boxed.helpers)

    def _best(self, made: TimeIndexed | DueModel, seconds: float | None, work: float | None) -> Found:
        """The model's best plan."""
        cut = self._search = self._cut(made, seconds, work)
        found = None if self._stopped else cut.run()
        self._work = cut.work
        self._hard |= found is None or cut.work > HARD
        return found

    def _answer(self, asked: Asked, found: Found) -> Answer:
        if isinstance(found, Timetable):
            return self._tell(asked.weights, found)
        return Answer("unknown" if found is None else "infeasible")

    def stop(self) -> None:
        """See `Way`; for good."""
        self._stopped = True
        if self._search is not None:
            self._search.stop()

    def _ties(self, boxes: Sequence[Bounds]) -> list[int]:
        """How plans of equal total_jct are compared when nothing else is asked for."""
        return [0 if j == self._boxed.at else weight for j, weight in enumerate(self._boxed.ties(boxes))]

    def _earliest(
        self,
        boxes: Sequence[Bounds],
        then: Sequence[int],
        until: float | None,
        work: float | None,
        upper: int | None = None,
        most: Most | None = None,
    ) -> Found:
        """The best plan, by the weighted sum `then`, of those of least total_jct, which is at most `upper`.

        At the bound on total_jct the best plan is looked for, and beyond it any. None as well where windows would be
        too wide.
        """
        boxed, anything, steps = self._boxed, [0] * len(then), Steps()
        while (value := self._next(steps.size, upper)) is not None:
            made = boxed.by_time(then if value == self._least else anything, boxes, value, most, self._hard)
            found = self._best(made, left(until), work)
            if found is None or (found is not False and value == self._least):
                return found
            if isinstance(found, Timetable):
                self._early_plan = found
            else:
                self._least = value + 1
                steps.refuted(value, self._work)
        if self._early_plan is None or self._least < self._early:
            return False if upper is not None and self._least > upper else None
        if not any(then):
            return self._early_plan
        return self._best(boxed.by_time(then, boxes, self._least, most, self._hard), left(until), work)

    def _next(self, step: int, upper: int | None) -> int | None:
        """The total_jct to ask for next: some above the bound, or halfway to the plan that is known; None: none."""
        value = self._least + step - 1
        if self._early_plan is not None:
            value = min(value, (self._least + self._early - 1) // 2)
        value = value if upper is None else min(value, upper)
        value = value if self._boxed.narrow(value) is not None else self._least
        return value if value >= self._least and self._boxed.narrow(value) is not None else None

    @property
    def _early(self) -> int:
        """The total_jct of the plan that has the least so far."""
        assert self._early_plan is not None
        return self._boxed.values(self._early_plan)[self._boxed.at]


class ByTime(_Cutting):
    """The time-indexed model for total_jct at most `upper`.

    A plan of least total_jct has the least sum of the others as well, even if that is not asked for.
    """

    def __init__(self, boxed: Boxed, leading: int | None, tell: Told, low: Sequence[int | None], upper: int) -> None:
        super().__init__(boxed, leading, tell, low)
        self._upper = upper

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`; `work` is for each search: first of the leading objective, then of the sum of the others."""
        until = None if seconds is None else time.perf_counter() + seconds
        weights, boxes, k = list(asked.weights), asked.boxes, self._leading
        rest = [0 if j == k else weight for j, weight in enumerate(weights)]
        if k is not None and k == self._boxed.at:
            then = rest if any(rest) else self._ties(boxes)
            if any(rest) or asked.values is None:
                return self._answer(asked, self._earliest(boxes, then, until, work, self._upper))
            found = self._earliest(boxes, then, until, work, asked.values[k] - 1)
            known = Answer("optimal", asked.values, weights[k] * asked.values[k], asked.hint)
            return known if found is False else self._answer(asked, found)
        if self._low == self._upper:
            # All plans in the boxes have that total_jct.
            rest = [0 if j == self._boxed.at else weight for j, weight in enumerate(rest)]
        # With counts: mostly this is about ties at a total_jct near the least, which is hard.
        if k is not None:
            first = [int(j == k) for j in range(len(weights))]
            made = self._boxed.by_time(first, boxes, self._upper, hard=True)
            found = self._best(made, left(until), work)
            if not isinstance(found, Timetable) or not any(rest):
                return self._answer(asked, found)
            boxes = [with_end(box, k, self._boxed.values(found)[k]) for box in boxes]
        made = self._boxed.by_time(rest, boxes, self._upper, hard=True)
        return self._answer(asked, self._best(made, left(until), work))


class ByDue(_Cutting):
    """What can be due, for all but total_jct, whose bound the other searches lack; then the least total_jct with that.

    The best of the leading objective, and of the weighted sum of the others with that, do not depend on total_jct. The
    least total_jct with both is looked for from its bound on. What could be better still has less of it. A plan of
    least total_jct has the least sum of the others as well, even if that is not asked for.
    """

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
        if k == at:
            then = others if any(others) else self._ties(asked.boxes)
            return self._answer(asked, self._soonest(asked, then, until, work))
        # Without weights: whether there is a plan at all.
        found = self._due(asked, others, until, work)
        if not isinstance(found, Timetable):
            return self._answer(asked, found)
        least = total(others, self._boxed.values(found))
        spare = weights[at] * max(1, round(SPARE * self._low))
        found = self._earliest(asked.boxes, others, until, work, most=Most(others, least + spare))
        if not isinstance(found, Timetable):
            return Answer("unknown")
        values = self._boxed.values(found)
        if total(others, values) == least and weights[at] * (values[at] - self._low) <= spare:
            # Others could add up to more than `most` of the searches only for what no total_jct makes up for.
            return self._answer(asked, found)
        return self._better(asked, found, least + fixed, until, work)

    def _due(self, asked: Asked, weights: Sequence[int], until: float | None, work: float | None) -> Found:
        return self._best(self._boxed.by_due(weights, asked.boxes), left(until), work)

    def _soonest(self, asked: Asked, then: Sequence[int], until: float | None, work: float | None) -> Found:
        """The least total_jct, and with that the least weighted sum of the others."""
        if asked.values is None:
            found = self._due(asked, [0] * len(then), until, work)
            if not isinstance(found, Timetable):
                return found
        return self._earliest(asked.boxes, then, until, work)

    def _better(self, asked: Asked, known: Timetable, least: int, until: float | None, work: float | None) -> Answer:
        """The best plan; without total_jct none has a smaller weighted sum than `least`."""
        value = total(asked.weights, self._boxed.values(known))
        upper = (value - 1 - least) // asked.weights[self._boxed.at]
        if self._boxed.narrow(upper) is None:
            return Answer("unknown")
        most = Most(asked.weights, value - 1)
        made = self._boxed.by_time(asked.weights, asked.boxes, upper, most, self._hard)
        found = self._best(made, left(until), work)
        return self._answer(asked, known if found is False else found)


class Unbounded:
    """The least total_jct of all plans, by all that serves it when it is the only question."""

    def __init__(self, boxed: Boxed, tell: Told, threads: int) -> None:
        self._boxed, self._tell, self._threads, self._stopped = boxed, tell, threads, threading.Event()

    def ask(self, asked: Asked, seconds: float | None, work: float | None) -> Answer:
        """See `Way`."""
        limits = Limits(seconds, work, self._threads, self._boxed.seed)
        instance, started = self._boxed.layout.instance, time.perf_counter()
        found = search(instance, "total_jct", limits, asked.plan, started, self._stopped)
        if found.status == "optimal" and isinstance(found.plan, Timetable):
            return self._tell(asked.weights, found.plan)
        return Answer("infeasible" if found.status == "infeasible" else "unknown")

    def stop(self) -> None:
        """See `Way`; for good, and with one thread when the search ends by itself."""
        self._stopped.set()


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
