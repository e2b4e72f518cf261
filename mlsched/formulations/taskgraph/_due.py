"""What can be done by the deadlines, in linear rows over 0/1 variables: for objectives that know no later time.

total_accuracy, accuracy_met, deadlines_met and traffic depend on which runs there are, on which nodes, and which of
them end by their job's deadline. So a run has started by some time up to its last punctual start, or is late; when late
runs start does not matter, and there is always room for them one after the other at the end. CP-SAT learns cutting
planes on such a model (see `_time_indexed`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from mlsched.formulations.taskgraph._cp_model import Run
from mlsched.formulations.taskgraph._decoder import Decoder
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._rows import no
from mlsched.formulations.taskgraph._time_indexed import valued
from mlsched.formulations.taskgraph._time_rows import TimeRows
from mlsched.instances.taskgraph import Timetable

#: The objectives that the model knows.
TIMELESS = {"total_accuracy", "accuracy_met", "deadlines_met", "traffic"}
#: Variables up to which it is made.
MOST = 25_000


class DueModel(TimeRows):
    """Runs that start in time to end by their deadlines, and nodes of all runs."""

    #: Its objectives are not the bounded one; see `Counts`.
    counting = False

    def _starts(self) -> None:
        layout, due = self.layout, _deadlines(self.layout)
        for j, i, k in layout.runs():
            run, x = (k, i), self.x.get((j, i), 1)
            low, high = layout.head[k][i], due[j] - layout.duration[k]
            if layout.fixed and layout.is_fixed(k, i):
                start = layout.fixed[k][1]
                self._window[run], self._begun[run], self._after[run] = (start, start), [], 1
                continue
            begun = [self.cp.new_bool_var("") for _ in range(low, high + 1)]
            self._window[run], self._begun[run] = (low, max(low, high)), begun
            self._after[run] = begun[-1] if begun else 0
            self._rising([*begun, x])

    def _capacity(self) -> None:
        self._in_room(min(self.layout.arrival, default=0), max(_deadlines(self.layout), default=0))

    def _complete(self) -> None:
        """Times of completion do not matter here."""

    # -- objectives ----------------------------------------------------------------------------------------------------

    def _punctual(self, j: int, i: int) -> Any:
        layout, literal = self.layout, self.cp.new_bool_var("")
        for k in layout.tasks_of[j]:
            if not layout.is_fixed(k, i):  # its end is constant and was compared before
                self._clause(no(literal), self._started((k, i), layout.deadline[j] - layout.duration[k]))
        for before in (self.x.get((j, i), 1), self.on_time.get((j, i - 1), 1)):
            self._clause(no(literal), before)
        return literal

    def _deadlines_met(self) -> list[tuple[Any, int]]:
        layout = self.layout
        for j, deadline in enumerate(layout.deadline):
            if layout.least_completion(j) > deadline:
                continue
            self.met[j] = met = self.cp.new_bool_var("")
            for i in self._ends(j):
                absent = no(self.x.get((j, i), 1))
                for k in layout.sinks(j, i):
                    fixed = layout.fixed and layout.is_fixed(k, i)
                    punctual = (
                        int(layout.fixed[k][1] + layout.duration[k] <= deadline)
                        if fixed
                        else self._started((k, i), deadline - layout.duration[k])
                    )
                    self._clause(no(met), absent, punctual)
        self.constant["deadlines_met"] = 0
        return [(v, 1) for v in self.met.values()]

    # -- plans ---------------------------------------------------------------------------------------------------------

    def plan(self, solution: Sequence[int]) -> Timetable:
        """A plan of a solution: the runs in the order of their starts, late ones last, each as early as it can.

        A plan in which no run can start earlier ends by the layout's horizon.
        """
        layout, value = self.layout, valued(solution)
        present = [(j, i, k) for j, i, k in layout.runs() if value(self.x.get((j, i), 1))]
        node = {
            (k, i): self.places[next(p for p, y in self.where[k, i].items() if value(y))].nodes[0]
            for _, i, k in present
        }
        start: dict[Run, int] = {}
        for _, i, k in present:
            if value(self._after[k, i]):
                begun = sum(map(value, self._begun[k, i]))
                start[k, i] = self._window[k, i][1] + (1 - begun if self._begun[k, i] else 0)
        end = max((t + layout.duration[k] for (k, _), t in start.items()), default=0)
        exact = copy.copy(layout)
        exact.least = [
            max([i + 1 for job, i, _ in present if job == j], default=layout.first[j]) for j in range(layout.jobs)
        ]
        decoder = Decoder(exact)
        # Late runs come after all others, in the decoder's own order.
        return decoder.plan(decoder.compact({run: (n, start.get(run, end)) for run, n in node.items()}))


def _deadlines(layout: Layout) -> list[int]:
    """The deadlines, or the horizon by which some best plan ends: many are as good as none."""
    end = layout.horizon()
    return [min(deadline, end) for deadline in layout.deadline]


def worth(layout: Layout, objectives: Sequence[str]) -> bool:
    """Whether the model answers for some objectives, and is not too large."""
    if not objectives or set(objectives) - TIMELESS or layout.reason is not None or not layout.jobs:
        return False
    if any(place.whole for place in places(layout, "traffic" in objectives)):
        return False
    total, due = 0, _deadlines(layout)
    for j, i, k in layout.runs():
        width = max(0, due[j] - layout.duration[k] - layout.head[k][i] + 1)
        total += width + (width + layout.duration[k]) * len(layout.nodes_of(k, i))
    return total <= MOST
