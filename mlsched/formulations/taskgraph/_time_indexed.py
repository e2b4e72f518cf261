"""The task-level model in linear rows over 0/1 variables alone: "has started by t", "is on node n", "is complete by t".

CP-SAT learns cutting planes from conflicts when all rows are linear and their variables Boolean (`use_pb_resolution`).
That is what gangs that have to be packed into nodes need: clauses alone must go through who sits where, one by one,
where a row that counts shows at once that they do not fit. Small windows of starts are what it takes, so an incumbent
and the linear relaxation come first.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._cp_model import Literal
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.formulations.taskgraph._rows import no
from mlsched.formulations.taskgraph._time_rows import TimeRows
from mlsched.instances.taskgraph import Timetable


class TimeIndexed(TimeRows):
    """Plans of value `upper` or better in total_jct or makespan (`bounded`); every place must be a single node.

    `objectives` are those that are measured, by default the bounded one alone, for which optional iterations are left
    out. `relaxed` narrows windows to those of plans of total_jct at most `upper`; `shared` are pools of the layout, the
    overall ones among them. An objective is its term plus its constant.
    """

    def __init__(
        self,
        layout: Layout,
        upper: int,
        relaxed: Relaxed | None,
        shared: Sequence[Pool],
        bounded: str = "total_jct",
        objectives: tuple[str, ...] | None = None,
        counting: bool | None = None,
    ) -> None:
        self._bounded = bounded
        #: "Complete by t" from the first time at which that can be, a list a job and one of all jobs together.
        self._done: dict[int | None, tuple[int, list[Literal]]] = {}
        if counting is not None:
            self.counting = counting
        if objectives is None:
            # No job completes later without its optional iterations.
            layout = copy.copy(layout)
            layout.most = [min(least, most) for least, most in zip(layout.least, layout.most, strict=True)]
        super().__init__(layout, objectives or (bounded,), shared, upper, relaxed)

    def _horizons(self) -> None:
        layout, end = self.layout, self.layout.horizon()
        assert self.upper is not None
        if self._bounded == "makespan":
            until = [min(layout.arrival, default=0) + self.upper] * layout.jobs
        else:
            until = layout.latest_completions(self.upper)
        self.until = [min(end, c) for c in until]
        self._least = [layout.least_completion(j) for j in range(layout.jobs)]
        if self.relaxed is not None:
            for j, (low, high) in self.relaxed.completion.items():
                self._least[j], self.until[j] = max(self._least[j], low), min(self.until[j], high)
        if any(low > high for low, high in zip(self._least, self.until, strict=True)):
            self.reason = "no plan is as good as the bound that was given"

    def _starts(self) -> None:
        layout = self.layout
        for j, i, k in layout.runs():
            run, low, x = (k, i), layout.head[k][i], self.x.get((j, i), 1)
            high = self.until[j] - layout.tail[k][i] - layout.duration[k]
            if layout.fixed and layout.is_fixed(k, i):
                low = high = layout.fixed[k][1]
            elif self.relaxed is not None:
                low = max(low, self.relaxed.earliest.get(run, low))
                high = min(high, self.relaxed.latest.get(run, high))
            if low > high:
                high = low
                if isinstance(x, int):
                    self.reason = "no plan is as good as the bound that was given"
                else:
                    self._clause(no(x))
            self._window[run], self._after[run] = (low, high), x
            self._begun[run] = [self.cp.new_bool_var("") for _ in range(low, high)]
            self._rising([*self._begun[run], x])

    def _capacity(self) -> None:
        self._in_room(min(self.layout.arrival, default=0), max(self.until, default=0))

    def _complete(self) -> None:
        asked, every = set(self.objectives), list(range(self.layout.jobs))
        if {"total_jct", "deadlines_met"} & asked or self._bounded == "total_jct":
            for j in every:
                self._done[j] = self._completed([j])
        if "makespan" in asked and every:
            self._done[None] = self._completed(every)

    def _completed(self, jobs: Sequence[int]) -> tuple[int, list[Literal]]:
        """A time and, from it on, whether all of some jobs are complete by then; at the end of the list they are."""
        layout = self.layout
        first = max(self._least[j] for j in jobs)
        done = [self.cp.new_bool_var("") for _ in range(first, max(self.until[j] for j in jobs))]
        self._rising(done)
        for j, (n, literal) in itertools.product(jobs, enumerate(done)):
            for i in self._ends(j):
                absent = no(self.x.get((j, i), 1))
                for ended in self._ended([(k, i) for k in layout.sinks(j, i)], first + n):
                    self._clause(no(literal), absent, ended)
        return first, done

    # -- objectives ----------------------------------------------------------------------------------------------------

    def _total_jct(self) -> list[tuple[Any, int]]:
        done = [self._done[j] for j in range(self.layout.jobs)]
        self.constant["total_jct"] = sum(first + len(known) for first, known in done) - sum(self.layout.arrival)
        return [(v, -1) for _, known in done for v in known]

    def _makespan(self) -> list[tuple[Any, int]]:
        first, done = self._done.get(None, (0, []))
        self.constant["makespan"] = first + len(done) - min(self.layout.arrival, default=0)
        return [(v, -1) for v in done]

    def _deadlines_met(self) -> list[tuple[Any, int]]:
        constant, parts = 0, []
        for j, deadline in enumerate(self.layout.deadline):
            first, done = self._done[j]
            if deadline >= first + len(done):
                constant += 1
            elif deadline >= first:
                parts.append((done[deadline - first], 1))
        self.constant["deadlines_met"] = constant
        return parts

    def _punctual(self, j: int, i: int) -> Any:
        layout, literal = self.layout, self.cp.new_bool_var("")
        for k in layout.sinks(j, i):
            if not layout.is_fixed(k, i):  # its end is constant and was compared before
                self._clause(no(literal), self._started((k, i), layout.deadline[j] - layout.duration[k]))
        for before in (self.x.get((j, i), 1), self.on_time.get((j, i - 1), 1)):
            self._clause(no(literal), before)
        return literal

    # -- plans ---------------------------------------------------------------------------------------------------------

    def plan(self, solution: Sequence[int]) -> Timetable:
        """The plan of a solution, a value a variable."""
        value = valued(solution)
        runs = [run for run, x in self._after.items() if value(x)]
        start = {run: self._window[run][1] - sum(map(value, self._begun[run])) for run in runs}
        node = {run: next(p for p, y in self.where[run].items() if value(y)) for run in runs}
        return self.layout.timetable({run: self.places[p].nodes[0] for run, p in node.items()}, start)


def valued(solution: Sequence[int]) -> Callable[[Literal], int]:
    """The value of a literal in a solution."""

    def value(literal: Literal) -> int:
        if isinstance(literal, int):
            return literal
        index: int = literal.index
        return solution[index] if index >= 0 else 1 - solution[-index - 1]

    return value


def size(layout: Layout, upper: int, bounded: str = "total_jct") -> int:
    """How many variables the model would have, about; 0 where classes of nodes are one place."""
    if any(place.whole for place in places(layout, traffic=False)):
        return 0
    least = [layout.least_completion(j) for j in range(layout.jobs)]
    until = [min(layout.arrival, default=0) + upper] * layout.jobs
    if bounded == "total_jct":
        until = layout.latest_completions(upper)
    total = sum(high - low for low, high in zip(least, until, strict=True))
    for j, i, k in layout.runs():
        width = until[j] - layout.tail[k][i] - layout.duration[k] - layout.head[k][i]
        total += width + (width + layout.duration[k]) * len(layout.nodes_of(k, i))
    return total
