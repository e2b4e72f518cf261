"""Deadlines in linear rows over 0/1 variables, for objectives that ignore later times.

total_accuracy, accuracy_met, deadlines_met and traffic depend on the runs, their nodes, and which of them end by
their job's deadline. So a run has started by some time up to its last on-time start, or is overdue. The starts of
overdue runs do not matter, and there is always room for them one after the other at the end. CP-SAT learns cutting
planes on such a model (see `_time_indexed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlsched.formulations.taskgraph._choices import Choices, Literal
from mlsched.formulations.taskgraph._decoder import compacted
from mlsched.formulations.taskgraph._intervals import ends
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._objectives import Objectives, Parts
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._rows import Rows, no, valued
from mlsched.formulations.taskgraph._started import Started
from mlsched.formulations.taskgraph._time_rows import TimeRows
from mlsched.instances.taskgraph import Timetable

#: Objectives that the model supports.
TIMELESS = {"total_accuracy", "accuracy_met", "deadlines_met", "traffic"}
#: Most variables of the model.
MOST = 25_000


class DueModel:
    """Runs that start in time to end by their deadlines, and nodes of all runs. Parameters: see `TimeIndexed`."""

    reason: str | None = None

    def __init__(self, layout: Layout, objectives: tuple[str, ...], shared: Sequence[Pool]) -> None:
        from ortools.sat.python import cp_model

        self.layout, self.objectives = layout, objectives
        self.cp = cp_model.CpModel()
        self._rows = Rows(self.cp)
        self.choices = Choices(layout, self.cp, places(layout, "traffic" in objectives))
        self._started = Started(self.choices, self._rows)
        self._due = _capped_deadlines(layout)
        self._add_starts()
        rows = TimeRows(self.choices, self._rows, self._started, None)
        rows.add_order()
        rows.add_capacity(min(layout.arrival, default=0), max(self._due, default=0), shared)
        self.choices.break_symmetry()
        self.terms, self.constant = Objectives(self).sums(objectives)

    def _add_starts(self) -> None:
        layout = self.layout
        for j, i, k in layout.runs():
            run, first, last = (k, i), layout.head[k][i], self._due[j] - layout.duration[k]
            if layout.fixed and layout.is_fixed(k, i):
                start = layout.fixed[k][1]
                self._started.add(run, (start, start), 0, 1)
                continue
            times = max(0, last - first + 1)
            self._started.add(run, (first, max(first, last)), times, self.choices.running(j, i))
            # A run that has not started by its last on-time start stays overdue.
            self._started.after[run] = self._started.begun[run][-1] if times else 0

    # -- objectives (see `_objectives.Timing`) -------------------------------------------------------------------------

    def timed_objectives(self) -> Mapping[str, Callable[[], Parts]]:
        """Return the timed objectives (see `Timing`)."""
        return {"deadlines_met": self._deadlines_met}

    def punctual(self, j: int, i: int, before: Literal) -> Literal:
        """Return a literal that implies `before`, and that iteration i of job j runs and ends by the deadline."""
        runs = [(k, i) for k in self.layout.tasks_of[j]]
        return self._started.punctual(runs, self.layout.deadline[j], self.choices.running(j, i), before)

    def _deadlines_met(self) -> Parts:
        layout, success = self.layout, []
        for j, deadline in enumerate(layout.deadline):
            if layout.earliest_completion(j) > deadline:
                continue
            success.append(self.cp.new_bool_var(""))
            for i in ends(layout, j):
                absent = no(self.choices.running(j, i))
                for k in layout.sinks(j, i):
                    if layout.fixed and layout.is_fixed(k, i):
                        punctual: Literal = int(layout.fixed[k][1] + layout.duration[k] <= deadline)
                    else:
                        punctual = self._started.ended((k, i), deadline)
                    self._rows.clause(no(success[-1]), absent, punctual)
        return [(v, 1) for v in success], 0

    # -- plans ---------------------------------------------------------------------------------------------------------

    def plan(self, solution: Sequence[int]) -> Timetable:
        """Return the plan of a solution; overdue runs follow all others and end by the layout's horizon."""
        value = valued(solution)
        present = [(k, i) for j, i, k in self.layout.runs() if value(self.choices.running(j, i))]
        node = {run: self.choices.node_of(run, value) for run in present}
        on_time = [run for run in present if value(self._started.after[run])]
        return compacted(self.layout, node, {run: self._started.start_of(run, value) for run in on_time})


def _capped_deadlines(layout: Layout) -> list[int]:
    """Return the deadlines, capped at the horizon by which some best plan ends."""
    end = layout.horizon()
    return [min(deadline, end) for deadline in layout.deadline]


def worth(layout: Layout, objectives: Sequence[str]) -> bool:
    """Return if the model supports some objectives, and is not too large."""
    if (
        not objectives
        or set(objectives) - TIMELESS
        or layout.reason is not None
        or not layout.jobs
        or layout.gpus_apart
    ):
        return False
    if any(place.whole for place in places(layout, "traffic" in objectives)):
        return False
    total, due = 0, _capped_deadlines(layout)
    for j, i, k in layout.runs():
        width = max(0, due[j] - layout.duration[k] - layout.head[k][i] + 1)
        total += width + (width + layout.duration[k]) * len(layout.nodes_of(k, i))
    return total <= MOST
