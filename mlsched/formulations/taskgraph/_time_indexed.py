"""The task level in linear rows over only 0/1 variables: "has started by t", "is on node n", "is complete by t".

CP-SAT learns cutting planes from conflicts when all rows are linear and their variables Boolean
(`use_pb_resolution`). Gangs that have to be packed into nodes need this: clauses enumerate the placements one by one,
but a row that counts shows at once that the gangs do not fit. The method needs small windows of starts, so the model
is built for a value that plans must attain.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence

from mlsched.formulations.taskgraph._choices import Choices, Literal
from mlsched.formulations.taskgraph._counts import Counts
from mlsched.formulations.taskgraph._intervals import NONE_AS_GOOD, ends
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._objectives import Objectives, Parts
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.formulations.taskgraph._rows import Rows, no, valued
from mlsched.formulations.taskgraph._started import Started
from mlsched.formulations.taskgraph._time_rows import TimeRows
from mlsched.instances.taskgraph import Timetable


class TimeIndexed:
    """Plans of total_jct at most `upper`; every place must be a single node.

    `objectives` are the measured objectives, by default total_jct, for which optional iterations are left out.
    `relaxed` narrows windows to plans of total_jct at most `upper`; `shared` are pools of the layout, including the
    overall pools. `counting`: see `_counts`. `named`: the caller breaks the symmetry of nodes. An objective is its
    term plus its constant. `reason`: the cause of infeasibility, if it is evident.
    """

    def __init__(
        self,
        layout: Layout,
        upper: int,
        relaxed: Relaxed | None,
        shared: Sequence[Pool],
        objectives: tuple[str, ...] | None = None,
        counting: bool = True,
        named: bool = False,
    ) -> None:
        from ortools.sat.python import cp_model

        if objectives is None:
            # Without its optional iterations, a job completes at the same time or earlier.
            survivors = [min(mandatory, most) for mandatory, most in zip(layout.mandatory, layout.maximum, strict=True)]
            layout = dataclasses.replace(layout, maximum=survivors)
        self.layout, self.upper = layout, upper
        self.objectives = objectives or ("total_jct",)
        self.cp = cp_model.CpModel()
        #: "Complete by t" from the first possible time, a list per job and a list for all jobs together.
        self._done: dict[int | None, tuple[int, list[Literal]]] = {}
        self.reason = layout.reason
        self._limit_completions(relaxed)
        if self.reason is not None:
            return
        self._rows = Rows(self.cp)
        self.choices = Choices(layout, self.cp, places(layout, "traffic" in self.objectives))
        self._started = Started(self.choices, self._rows)
        self._add_starts(relaxed)
        self.counts = Counts(self._started, self._rows) if counting else None
        rows = TimeRows(self.choices, self._rows, self._started, self.counts)
        rows.add_order()
        rows.add_capacity(min(layout.arrival, default=0), max(self.until, default=0), shared)
        if not named:
            self.choices.break_symmetry()
        self._all_ended = self._started.all_ended if self.counts is None else self.counts.all_ended
        self._add_completions()
        self.terms, self.constant = Objectives(self).sums(self.objectives)

    def _limit_completions(self, relaxed: Relaxed | None) -> None:
        layout, end = self.layout, self.layout.horizon()
        self.until = [min(end, c) for c in layout.latest_completions(self.upper)]
        self._earliest = [layout.earliest_completion(j) for j in range(layout.jobs)]
        if relaxed is not None:
            for j, (first, last) in relaxed.completion.items():
                self._earliest[j], self.until[j] = max(self._earliest[j], first), min(self.until[j], last)
            # A job completes by the total minus the minimum of the others, which prices have raised.
            spare = self.upper + sum(layout.arrival) - sum(self._earliest)
            self.until = [min(u, c + spare) for u, c in zip(self.until, self._earliest, strict=True)]
        if any(first > last for first, last in zip(self._earliest, self.until, strict=True)):
            self.reason = self.reason or NONE_AS_GOOD

    def _add_starts(self, relaxed: Relaxed | None) -> None:
        layout = self.layout
        for j, i, k in layout.runs():
            run, first, runs = (k, i), layout.head[k][i], self.choices.running(j, i)
            last = self.until[j] - layout.tail[k][i] - layout.duration[k]
            if layout.fixed and layout.is_fixed(k, i):
                first = last = layout.fixed[k][1]
            elif relaxed is not None:
                first = max(first, relaxed.earliest.get(run, first))
                last = min(last, relaxed.latest.get(run, last))
            if first > last:
                last = first
                if isinstance(runs, int):
                    self.reason = NONE_AS_GOOD
                else:
                    self._rows.clause(no(runs))
            self._started.add(run, (first, last), last - first, runs)

    def _add_completions(self) -> None:
        every = list(range(self.layout.jobs))
        for j in every:
            self._done[j] = self._completion_literals([j])
        if "makespan" in self.objectives and every:
            self._done[None] = self._completion_literals(every)

    def _completion_literals(self, jobs: Sequence[int]) -> tuple[int, list[Literal]]:
        """Return a time and, from it on, literals that all of some jobs are complete; the last literal is true."""
        first = max(self._earliest[j] for j in jobs)
        finish = [self.cp.new_bool_var("") for _ in range(first, max(self.until[j] for j in jobs))]
        self._rows.rising(finish)
        for j, (n, literal) in itertools.product(jobs, enumerate(finish)):
            for i in ends(self.layout, j):
                absent = no(self.choices.running(j, i))
                for end_literals in self._all_ended([(k, i) for k in self.layout.sinks(j, i)], first + n):
                    self._rows.clause(no(literal), absent, end_literals)
        return first, finish

    # -- objectives (see `_objectives.Timing`) -------------------------------------------------------------------------

    def timed_objectives(self) -> Mapping[str, Callable[[], Parts]]:
        """Return the timed objectives (see `Timing`)."""
        return {"total_jct": self._total_jct, "makespan": self._makespan, "deadlines_met": self._deadlines_met}

    def _total_jct(self) -> Parts:
        finish = [self._done[j] for j in range(self.layout.jobs)]
        constant = sum(first + len(present) for first, present in finish) - sum(self.layout.arrival)
        return [(v, -1) for _, present in finish for v in present], constant

    def _makespan(self) -> Parts:
        first, finish = self._done.get(None, (0, []))
        return [(v, -1) for v in finish], first + len(finish) - min(self.layout.arrival, default=0)

    def _deadlines_met(self) -> Parts:
        constant, parts = 0, []
        for j, deadline in enumerate(self.layout.deadline):
            first, finish = self._done[j]
            if deadline >= first + len(finish):
                constant += 1
            elif deadline >= first:
                parts.append((finish[deadline - first], 1))
        return parts, constant

    def punctual(self, j: int, i: int, before: Literal) -> Literal:
        """Return a literal that implies `before`, and that iteration i of job j runs and ends by the deadline."""
        runs = [(k, i) for k in self.layout.sinks(j, i)]
        return self._started.punctual(runs, self.layout.deadline[j], self.choices.running(j, i), before)

    # -- plans ---------------------------------------------------------------------------------------------------------

    def plan(self, solution: Sequence[int]) -> Timetable:
        """Return the plan of a solution, a value per variable."""
        value, start_task = valued(solution), self._started
        node = {run: self.choices.node_of(run, value) for run, runs in start_task.after.items() if value(runs)}
        return self.layout.timetable(node, {run: start_task.start_of(run, value) for run in node})


def size(layout: Layout, upper: int) -> int:
    """Estimate the number of variables of the model."""
    until = layout.latest_completions(upper)
    total = sum(last - layout.earliest_completion(j) for j, last in enumerate(until))
    for j, i, k in layout.runs():
        width = until[j] - layout.tail[k][i] - layout.duration[k] - layout.head[k][i]
        total += width + (width + layout.duration[k]) * len(layout.nodes_of(k, i))
    return total
