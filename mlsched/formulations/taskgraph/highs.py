"""The task level as a time-indexed MIP in Pyomo, for HiGHS or any other Pyomo solver.

Binary start[k, i, n, t]: run (k, i) starts on node n at time t. All rows are tight in the sense of Pritsker, Watters
and Wolfe (1969), but their number grows with the horizon: this is the cross-check of `cp-sat` on small instances, not
its rival. It shares the layout (runs, nodes, earliest starts) with `cp-sat`, and the placement of overdue runs.

Columns are for times that can matter to the objectives. With only total_jct or only makespan, best plans end at the
latest as the value of a list schedule, or of a better known plan, allows (by the judge). With deadlines, and accuracies
by the deadline, a run that ends after its job's deadline is only *late*, on some node. Late runs can always follow, one
by one, after all others, and successors of a late run are late too. So they need neither time nor room in the model,
and `decode` puts them there. If the GPUs of a node are individual, columns include the GPU of a run (`_gpu_columns`).
Traffic and final accuracies do not depend on time, so all their runs are late. Fronts with total_jct or makespan need
every time up to the layout's horizon, as complete models do.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.core.aliases import Expression, Variable
from mlsched.core.contract import objective_entry
from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, Term
from mlsched.core.models import FAST, Size
from mlsched.core.registry import model_builder
from mlsched.formulations.taskgraph._decoder import Decoder, compacted
from mlsched.formulations.taskgraph._encoding import runs_of
from mlsched.formulations.taskgraph._gpu_columns import GpuColumns, roomy_plans
from mlsched.formulations.taskgraph._groups import ROWS
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable

#: Objective -> the times that matter to it: of all runs, up to deadlines (always, or if accuracies count by the
#: deadline), or none.
TIMES = {
    "total_jct": "all",
    "deadlines_met": "deadlines",
    "traffic": "none",
    "accuracy_met": "accuracies",
    "total_accuracy": "accuracies",
    "makespan": "all",
}
#: Most binary variables; at four times as many, writing the model took 40 s.
MOST_COLUMNS = 10_000


@model_builder("highs", problem="taskgraph", backend="highs", objectives=tuple(TIMES), prunes=True)
def build(
    instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS, at_worst: int | None = None
) -> Formulation:
    """The time-indexed MIP of every run, for small instances; the cross-check of cp-sat."""
    return model(Layout.of(instance), objectives, Deadline(limits.seconds), at_worst)


def accuracies(
    instance: Instance, counted: Sequence[tuple[int, Sequence[Expression]]]
) -> tuple[Expression, Expression]:
    """Return total_accuracy and accuracy_met; by job: iterations that certainly count, and variables for others."""
    total: Expression = 0
    success: Expression = 0
    for table, required, (sure, more) in zip(
        instance.accuracy.tolist(), instance.required.tolist(), counted, strict=True
    ):
        level = table[sure : sure + len(more) + 1]
        total += level[0] + sum((b - a) * v for (a, b), v in zip(itertools.pairwise(level), more, strict=True))
        success += next((v for v, a in zip([1, *more], level, strict=True) if a >= required), 0)
    return total, success


def model(
    layout: Layout,
    objectives: Sequence[str],
    deadline: Deadline | None = None,
    at_worst: int | None = None,
    size: Size = FAST,
) -> Formulation:
    """Return the model of this module's docstring; raises OutOfTime if the deadline comes before it is complete.

    at_worst: with one objective, plans of a worse value may be missing, and plans worse than a list schedule. A
    complete model has all plans that end by the layout's horizon.
    """
    return _Mip(layout, tuple(objectives), deadline or Deadline(), at_worst, size).formulation()


def good_plan(layout: Layout, objective: str) -> Timetable | None:
    """Return the best of four list schedules in total_jct or makespan; None if the runs under way admit no plan."""
    if layout.gpus_apart:
        plans = roomy_plans(layout)
    else:
        decoder = Decoder(layout)
        plans = [decoder.plan(decoder.decode(order)) for order in decoder.orders()]
    feasible = [plan for plan in plans if not layout.instance.violations(plan)]
    return min(feasible, key=lambda plan: layout.instance.evaluate(plan)[objective], default=None)


class _Mip:
    def __init__(
        self,
        layout: Layout,
        objectives: tuple[str, ...],
        deadline: Deadline,
        at_worst: int | None = None,
        size: Size = FAST,
    ) -> None:
        import pyomo.environ as pyo

        self.layout, self.objectives, self.deadline, self.at_worst = layout, objectives, deadline, at_worst
        self.complete = size.complete
        self.may_be_late, self.until = self._time_windows()
        #: Times in the model end before this; a run that "starts" then is late.
        self.end = max([layout.instance.now, *self.until, *map(layout.earliest_completion, range(layout.jobs))]) + 1
        self.mip = pyo.ConcreteModel()
        for group in ROWS:
            setattr(self.mip, group.name, pyo.Constraint(pyo.Any))
        self.keys: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.gpus: GpuColumns | None = None
        self.terms: dict[str, Any] = dict.fromkeys(objectives, 0)
        self.constant: dict[str, int] = {}
        if layout.reason is not None:
            self._make_infeasible()
            return
        for j, i, k in layout.runs():
            self.keys[k, i] = self._slots_of_run(j, i, k)
        if layout.gpus_apart:
            self.gpus = GpuColumns(layout, self.keys, self.end)
        columns = sum(map(len, self.keys.values())) + (len(self.gpus.columns) if self.gpus else 0)
        size.check(columns)
        if size.most is None and columns > MOST_COLUMNS:
            raise TooLarge(f"highs: {columns} binary variables are more than {MOST_COLUMNS}: use cp-sat")
        self.mip.start = pyo.Var(
            [(k, i, n, t) for (k, i), slots in self.keys.items() for n, t in slots], domain=pyo.Binary
        )
        self.mip.run = pyo.Var(
            [(j, i) for j in range(layout.jobs) for i in range(layout.mandatory[j], layout.maximum[j])],
            domain=pyo.Binary,
        )
        self._add_presence()
        self._add_order()
        self._add_capacity()
        if self.gpus:
            self.gpus.add(self.mip, self._add_row)
        self._add_objectives()

    def _time_windows(self) -> tuple[bool, list[int]]:
        """Return if runs may be late, and the time by which each job's other runs end."""
        layout, horizon = self.layout, self.layout.horizon()
        if self.complete:
            return False, [horizon] * layout.jobs
        matter = {objective_entry(TIMES, name, "TIMES of formulations/taskgraph/highs.py") for name in self.objectives}
        if "all" in matter:
            alone = len(self.objectives) == 1 and layout.reason is None
            return False, self._latest_ends(horizon) if alone else [horizon] * layout.jobs
        by_deadline = "deadlines" in matter or ("accuracies" in matter and layout.instance.accuracy_at == "deadline")
        return True, [min(layout.deadline[j], horizon) if by_deadline else -1 for j in range(layout.jobs)]

    def _latest_ends(self, horizon: int) -> list[int]:
        """Return the end of each job in every plan that is good enough; valid for this one objective only."""
        (objective,) = self.objectives
        layout = self.layout
        plan = good_plan(layout, objective)
        if plan is None:  # the fixed runs are infeasible, and so will be the model
            return [horizon] * layout.jobs
        value = int(layout.instance.evaluate(plan)[objective])
        if self.at_worst is not None:
            value = min(value, self.at_worst)
        latest = {
            "total_jct": lambda: layout.latest_completions(value),
            "makespan": lambda: [value + min(layout.arrival, default=0)] * layout.jobs,
        }
        return [min(horizon, time) for time in latest[objective]()]

    def _slots_of_run(self, j: int, i: int, k: int) -> list[tuple[int, int]]:
        layout = self.layout
        if layout.is_fixed(k, i):
            return [layout.fixed[k]]
        tail = 0 if self.may_be_late else layout.tail[k][i]
        last = self.until[j] - tail - layout.duration[k]
        late = [(n, self.end) for n in layout.nodes_of(k, i)] if self.may_be_late else []
        return [(n, t) for n in layout.nodes_of(k, i) for t in range(layout.head[k][i], last + 1)] + late

    def _lateness(self, j: int, i: int, k: int) -> Expression:
        """Return an expression that is 1 if run (k, i) of job j ends after the job's deadline, else 0."""
        by = self.layout.deadline[j] - self.layout.duration[k]
        return sum(self.mip.start[k, i, n, t] for n, t in self.keys[k, i] if t > by or t == self.end)

    def _iteration_runs(self, j: int, i: int) -> Expression:
        return 1 if i < self.layout.mandatory[j] else self.mip.run[j, i]

    def _started_by(self, k: int, i: int, until: int, node: int | None = None) -> Expression:
        """Return an expression that is 1 if run (k, i) has started by time `until` (on `node`, if given), else 0."""
        return sum(self.mip.start[k, i, n, t] for n, t in self.keys[k, i] if t <= until and (node is None or n == node))

    def _add_row(self, row: Any, group: str, *index: Any) -> None:
        """Add a row of a group; comparisons of constants are either true, or make the model infeasible."""
        self.deadline.check()
        if row is False:
            self._make_infeasible()
        elif row is not True:
            getattr(self.mip, group)[index] = row

    def _make_infeasible(self) -> None:
        """Make the model infeasible."""
        import pyomo.environ as pyo

        if not hasattr(self.mip, "none"):
            self.mip.none = pyo.Var(domain=pyo.Binary)
            self.mip.infeasible[()] = self.mip.none >= 2

    def _add_presence(self) -> None:
        """Add rows: each run starts once, in a running iteration; its task keeps its node unless it may move."""
        layout, far = self.layout, self.end
        for j, i, k in layout.runs():
            self._add_row(self._started_by(k, i, far) == self._iteration_runs(j, i), "once", k, i)
            if layout.sticky and i > layout.finished[j]:
                for n in layout.nodes_of(k, i):
                    row = self._started_by(k, i, far, n) <= self._started_by(k, i - 1, far, n)
                    self._add_row(row, "stays", k, i, n)
        for j in range(layout.jobs):
            for i in range(layout.mandatory[j] + 1, layout.maximum[j]):
                self._add_row(self.mip.run[j, i] <= self.mip.run[j, i - 1], "prefix", j, i)

    def _add_order(self) -> None:
        """Add rows: v has started on n by t only if u has ended by then: by t - delay if on another node."""
        layout = self.layout
        for j, i, k in layout.runs():
            for u, source, delay in layout.sources(k, i):
                for n in layout.nodes_of(k, i):
                    if source < layout.finished[j]:
                        ready = layout.last_end[u] + (delay if layout.home[u] != n else 0)
                        early = self._started_by(k, i, min(ready, self.end) - 1, n)
                        if not isinstance(early, int):
                            self._add_row(early <= 0, "ready", u, k, i, n)
                        continue
                    for t in sorted({t for m, t in self.keys[k, i] if m == n and t < self.end}):
                        end_literals = sum(
                            self.mip.start[u, source, m, b]
                            for m, b in self.keys[u, source]
                            if b + layout.duration[u] + (delay if m != n else 0) <= t
                        )
                        self._add_row(self._started_by(k, i, t, n) <= end_literals, "order", u, source, k, i, n, t)

    def _add_capacity(self) -> None:
        layout = self.layout
        use: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for (k, i), slots in self.deadline.over(self.keys.items()):
            for n, t in slots:
                for at in range(t, t + layout.duration[k]) if t < self.end else ():
                    use.setdefault((n, at), []).append((k, i, t))
        for (n, at), running in use.items():
            for r, room in enumerate(layout.capacity[n]):
                if sum(layout.demand[k][r] for k in {k for k, _, _ in running}) > room:
                    usage = sum(layout.demand[k][r] * self.mip.start[k, i, n, t] for k, i, t in running)
                    self._add_row(usage <= room, "capacity", n, r, at)

    def _add_objectives(self) -> None:
        measures = {
            "total_jct": self._total_jct,
            "deadlines_met": self._deadlines_met,
            "traffic": self._traffic,
            "accuracy_met": lambda: self._accuracies[1],
            "total_accuracy": lambda: self._accuracies[0],
            "makespan": self._makespan,
        }
        for name in self.objectives:
            self.terms[name] = measures[name]()

    @functools.cached_property
    def _completions(self) -> list[Any]:
        """Return a variable per job that is at least its completion."""
        import pyomo.environ as pyo

        layout, mip = self.layout, self.mip
        earliest = [layout.earliest_completion(j) for j in range(layout.jobs)]
        mip.completion = pyo.Var(range(layout.jobs), domain=pyo.Integers, bounds=lambda _, j: (earliest[j], self.end))
        for j in range(layout.jobs):
            for i in range(max(layout.finished[j], layout.mandatory[j] - 1), layout.maximum[j]):
                for k in layout.tasks_of[j]:
                    # An absent run counts 0; completions are at least 0.
                    end = sum((t + layout.duration[k]) * mip.start[k, i, n, t] for n, t in self.keys[k, i])
                    self._add_row(mip.completion[j] >= end, "completed", k, i)
        return [mip.completion[j] for j in range(layout.jobs)]

    def _total_jct(self) -> Expression:
        self.constant["total_jct"] = -sum(self.layout.arrival)
        return sum(self._completions)

    def _makespan(self) -> Any:
        import pyomo.environ as pyo

        layout, mip = self.layout, self.mip
        if not layout.jobs:
            return 0
        earliest = max(layout.earliest_completion(j) for j in range(layout.jobs))
        mip.last = pyo.Var(domain=pyo.Integers, bounds=(earliest, self.end))
        for j, completion in enumerate(self._completions):
            self._add_row(mip.last >= completion, "all_completed", j)
        self.constant["makespan"] = -min(layout.arrival)
        return mip.last

    def _deadlines_met(self) -> Any:
        import pyomo.environ as pyo

        layout, mip = self.layout, self.mip
        mip.met = pyo.Var(range(layout.jobs), domain=pyo.Binary)
        for j in range(layout.jobs):
            if layout.earliest_completion(j) > layout.deadline[j]:
                self._add_row(mip.met[j] <= 0, "met_late", j)
            for i in layout.iterations(j):
                for k in layout.tasks_of[j]:
                    self._add_row(mip.met[j] + self._lateness(j, i, k) <= 1, "met_in_time", k, i)
        return sum(mip.met.values())

    @functools.cached_property
    def _accuracies(self) -> tuple[Any, Any]:
        """Return `accuracies`. counts[j, i]: iteration i of job j runs, and ends by the deadline if required."""
        import pyomo.environ as pyo

        layout, mip, options_given = self.layout, self.mip, self.layout.instance
        final = options_given.accuracy_at == "final"
        steps = []
        for j in range(layout.jobs):
            if final or int(options_given.on_time[j]) == layout.finished[j]:
                steps += [(j, i) for i in layout.iterations(j)]
        mip.counts = pyo.Var(steps, domain=pyo.Binary)
        for j, i in steps:
            self._add_row(mip.counts[j, i] <= self._iteration_runs(j, i), "counts_run", j, i)
            if (j, i - 1) in mip.counts:
                self._add_row(mip.counts[j, i] <= mip.counts[j, i - 1], "counts_prefix", j, i)
            if not final:
                for k in layout.tasks_of[j]:
                    self._add_row(mip.counts[j, i] + self._lateness(j, i, k) <= 1, "counts_in_time", k, i)
        columns = [
            (
                layout.finished[j] if final else int(options_given.on_time[j]),
                [mip.counts[j, i] for i in layout.iterations(j) if (j, i) in mip.counts],
            )
            for j in range(layout.jobs)
        ]
        return accuracies(options_given, columns)

    def _traffic(self) -> Any:
        import pyomo.environ as pyo

        layout, mip, far = self.layout, self.mip, self.end
        volume = []
        for j, i, k in layout.runs():
            for number, arc in enumerate(layout.into[k]):
                source = i - arc.lag
                if arc.volume and (source >= layout.finished[j] or layout.finished[j]):
                    volume.append((k, i, number))
        mip.sent = pyo.Var(volume, domain=pyo.Binary)
        for k, i, number in volume:
            arc = layout.into[k][number]
            source = i - arc.lag
            for n in layout.nodes_of(k, i):
                there: Any = int(layout.home[arc.u] == n)
                if source >= layout.finished[layout.job[k]]:
                    there = self._started_by(arc.u, source, far, n)
                row = mip.sent[k, i, number] >= self._started_by(k, i, far, n) - there
                self._add_row(row, "sent_between", k, i, number, n)
        return sum(layout.into[k][number].volume * mip.sent[k, i, number] for k, i, number in volume)

    def formulation(self) -> Formulation:
        terms = {name: (Term(1, expression),) for name, expression in self.terms.items()}
        return Formulation(self.mip, terms, self.decode, self.encode, self.constant)

    def decode(self, value_of: Callable[[Variable], int]) -> Timetable:
        selection = [
            (k, i, n, t)
            for (k, i), slots in self.keys.items()
            for n, t in slots
            if value_of(self.mip.start[k, i, n, t])
        ]
        start = {(k, i): t for k, i, _, t in selection if t < self.end}
        node = {(k, i): n for k, i, n, _ in selection}
        if self.gpus:
            return self.gpus.timetable(node, start, lambda column: value_of(self.mip.gpu[column]))
        if self.complete:
            return self.layout.timetable(node, start)
        return compacted(self.layout, node, start)

    def encode(self, plan: Timetable) -> list[tuple[Variable, int]]:
        runs = runs_of(plan)
        pairs = []
        for (k, i), slots in self.keys.items():
            at = runs.get((k, i))
            if at is not None and at not in slots:
                at = at[0], self.end
            pairs += [(self.mip.start[k, i, n, t], int(at == (n, t))) for n, t in slots]
        if self.gpus:
            labels = zip(plan.task.tolist(), plan.iteration.tolist(), plan.gpu.tolist(), strict=True)
            pairs += self.gpus.encode(runs, {(k, i): gpu for k, i, gpu in labels}, self.mip.gpu)
        return pairs
