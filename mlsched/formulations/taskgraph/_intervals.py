"""The task-level CP-SAT model with an interval per run: the reference for all other answers.

Per task a place (the same over iterations unless runs may move), per job the iterations that run, per run a start.
s_v >= s_u + p_u (+ delay if the two are on different nodes); cumulative over every place and resource. Special cases
collapse to the classic models: one node is RCPSP with plain intervals, identical machines are one cumulative
(`_places`), one eligible node per task is the job shop with no-overlap.

Completion and on-time variables are bounded in the direction in which objectives push them, and traffic exactly. At
an optimum of any weighted sum of the objectives they equal the judge's values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsched.core.aliases import Expression, Variable
from mlsched.core.formulation import Formulation, Term
from mlsched.formulations.taskgraph._choices import Choices, Literal, Run
from mlsched.formulations.taskgraph._cumulatives import add_capacities
from mlsched.formulations.taskgraph._encoding import encode
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._objectives import Objectives, Parts
from mlsched.formulations.taskgraph._places import colour, places, single_places
from mlsched.formulations.taskgraph._pools import Pool, makespan_bound, pools, total_completion_bound
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.instances.taskgraph import Timetable

#: Reason of infeasibility for a model restricted to plans of a value or better.
NONE_AS_GOOD = "no plan is as good as the bound that was given"


def model(layout: Layout, objectives: Sequence[str], upper: int | None = None) -> Formulation:
    """Return the model for some objectives; see `IntervalModel` for `upper`."""
    return IntervalModel(layout, tuple(objectives), upper).formulation()


class IntervalModel:
    """The model for some objectives.

    With only total_jct or only makespan, `upper` (a value that some plan attains) narrows the windows to plans of
    this value or better, and `relaxed` narrows the windows of starts.
    `named`: the caller breaks the symmetry of nodes, or it must stay. `single`: each node is a place for itself.
    `phases`: groups of constraints, with the number of the first constraint. `reason`: the cause of infeasibility, if
    it is evident.
    """

    def __init__(
        self,
        layout: Layout,
        objectives: tuple[str, ...],
        upper: int | None = None,
        relaxed: Relaxed | None = None,
        named: bool = False,
        single: bool = False,
    ) -> None:
        from ortools.sat.python import cp_model

        self.layout, self.objectives, self.upper, self.relaxed = layout, objectives, upper, relaxed
        self.cp = cp_model.CpModel()
        self.phases: list[tuple[str, int]] = []
        group = single_places(layout) if single else places(layout, "traffic" in objectives)
        self.pools = pools(layout)
        if all(place.whole for place in group):
            # Each run takes a node for itself, however little it demands.
            lasting = {k: 1 for k in range(layout.tasks) if layout.duration[k] and layout.allowed[k]}
            if (whole := Pool(layout.nodes, lasting)) not in self.pools:
                self.pools.append(whole)
        self.start: dict[Run, Expression] = {}
        self.end: dict[Run, Expression] = {}
        self.completion: dict[int, Expression] = {}
        self.last: Expression = None
        self.met: dict[int, Expression] = {}
        self.terms: dict[str, Expression] = dict.fromkeys(objectives, 0)
        self.constant: dict[str, int] = {}
        self.until = self._latest_completions()
        self._begin_phase("place")
        self.choices = Choices(layout, self.cp, group)
        self.measures = Objectives(self)
        self.reason = layout.reason or self._clash_of_fixed_runs()
        if self.reason is None and any(layout.earliest_completion(j) > u for j, u in enumerate(self.until)):
            self.reason = NONE_AS_GOOD
        if self.reason is None:
            self._begin_phase("window")
            self._add_starts()
            self._begin_phase("order")
            self._add_order()
            self._begin_phase("capacity")
            self.held = add_capacities(self.choices, self.start, self.end)
            if not named:
                self.choices.break_symmetry()
            self._begin_phase("completed")
            self._add_completions()
            self._begin_phase("measure")
            self._add_objectives()
        if self.reason is not None:
            self.cp.add_bool_or([])
            self.terms = dict.fromkeys(objectives, 0)

    def _begin_phase(self, name: str) -> None:
        """Start a group of constraints."""
        self.phases.append((name, len(self.cp.proto.constraints)))

    # -- windows -------------------------------------------------------------------------------------------------------

    def _clash_of_fixed_runs(self) -> str | None:
        """Return an error if two fixed runs are on one node at once, which a class of nodes would hide."""
        picks: list[tuple[int, int, int]] = []
        for k, (node, start) in self.layout.fixed.items():
            end = start + self.layout.duration[k]
            if end > start and self.choices.places[self.choices.place_of[node]].whole:
                if any(n == node and s < end and start < e for n, s, e in picks):
                    return f"node {node} holds two fixed runs at once"
                picks.append((node, start, end))
        return None

    def _latest_completions(self) -> list[int]:
        """Return the latest completion of each job in the plans of interest."""
        layout = self.layout
        end = layout.horizon()
        if self.upper is None or not layout.jobs:
            return [end] * layout.jobs
        # Only plans of value <= upper matter; this is invalid for any other objective.
        if self.objectives == ("makespan",):
            return [min(end, min(layout.arrival) + self.upper)] * layout.jobs
        if self.objectives == ("total_jct",):
            return [min(end, c) for c in layout.latest_completions(self.upper)]
        return [end] * layout.jobs

    def _add_starts(self) -> None:
        layout, new = self.layout, self.cp.new_int_var
        for j, i, k in layout.runs():
            run, duration = (k, i), layout.duration[k]
            if layout.fixed and layout.is_fixed(k, i):
                self.start[run] = layout.fixed[k][1]
                self.end[run] = layout.fixed[k][1] + duration
                continue
            head, latest = layout.head[k][i], self.until[j] - layout.tail[k][i] - duration
            if self.relaxed is not None:
                head = max(head, self.relaxed.earliest.get(run, head))
                latest = min(latest, self.relaxed.latest.get(run, latest))
            if head > latest:
                if i < layout.mandatory[j]:
                    self.reason = NONE_AS_GOOD
                else:
                    self.cp.add(self.choices.runs[j, i] == 0)
                latest = head
            start = self.start[run] = new(head, latest, "")
            self.end[run] = start + duration

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _add_order(self) -> None:
        """Add rule 4: runs of a task follow one another, and edges apply, with the delay between different nodes."""
        layout, add, ends, choices = self.layout, self.cp.add, self.end, self.choices
        for j, i, k in layout.runs():
            x, first = choices.runs.get((j, i)), layout.finished[j]
            begin = self.start[k, i]
            for u, source, delay in layout.sources(k, i):
                if source < first:
                    end, apart = layout.last_end[u], choices.away((k, i), layout.home[u]) if delay else 0
                    if end + delay <= layout.head[k][i]:
                        continue
                else:
                    end = ends[u, source]
                    apart = choices.apart((u, source), (k, i)) if delay else 0
                    row = add(begin >= end)
                    if x is not None:
                        row.only_enforce_if(x)
                if isinstance(apart, int):
                    if apart:
                        self.add_if(begin >= end + delay, x)
                else:
                    self.add_if(begin >= end + delay, x, apart)

    def add_if(self, row: Expression, *conditions: Any) -> None:
        """Add a row, under conditions (None: unconditional)."""
        # Between constants, a comparison is a bool.
        addition = self.cp.add(row) if not isinstance(row, bool) else self.cp.add_bool_and([row])
        literals = [c for c in conditions if c is not None]
        if literals:
            addition.only_enforce_if(literals)

    def _add_completions(self) -> None:
        """Add completions of jobs, and of all of them, as far as objectives need them."""
        layout, cp = self.layout, self.cp
        if {"total_jct", "deadlines_met"} & set(self.objectives):
            for j in range(layout.jobs):
                self.completion[j] = cp.new_int_var(layout.earliest_completion(j), self.until[j], "")
                self._after_sinks(self.completion[j], j)
        if "makespan" in self.objectives and layout.jobs:
            lower = makespan_bound(layout, self.pools)
            if lower > max(self.until):
                self.reason = NONE_AS_GOOD
            self.last = cp.new_int_var(min(lower, max(self.until)), max(self.until), "")
            for j in range(layout.jobs):
                if self.completion:
                    cp.add(self.last >= self.completion[j])
                else:
                    self._after_sinks(self.last, j)

    def _after_sinks(self, variable: Expression, j: int) -> None:
        """Bound a variable from below by the end of job j."""
        for i in ends(self.layout, j):
            for k in self.layout.sinks(j, i):
                self.add_if(variable >= self.end[k, i], self.choices.runs.get((j, i)))

    def _add_objectives(self) -> None:
        layout = self.layout
        self.terms, self.constant = self.measures.sums(self.objectives)
        if "total_jct" in self.objectives and layout.jobs:
            self.cp.add(self.terms["total_jct"] >= total_completion_bound(layout, self.pools))

    # -- objectives (see `_objectives.Timing`) -------------------------------------------------------------------------

    def timed_objectives(self) -> Mapping[str, Callable[[], Parts]]:
        """Return the timed objectives (see `Timing`)."""
        return {"total_jct": self._total_jct, "makespan": self._makespan, "deadlines_met": self._deadlines_met}

    def _total_jct(self) -> Parts:
        return [(c, 1) for c in self.completion.values()], -sum(self.layout.arrival)

    def _makespan(self) -> Parts:
        return [] if self.last is None else [(self.last, 1)], -min(self.layout.arrival, default=0)

    def _deadlines_met(self) -> Parts:
        layout = self.layout
        for j in range(layout.jobs):
            if layout.earliest_completion(j) <= layout.deadline[j]:
                self.met[j] = self.cp.new_bool_var("")
                self.cp.add(self.completion[j] <= layout.deadline[j]).only_enforce_if(self.met[j])
        return [(v, 1) for v in self.met.values()], 0

    def punctual(self, j: int, i: int, before: Literal) -> Literal:
        """Return a literal that implies `before`, and that iteration i of job j runs and ends by the deadline."""
        literal = self.cp.new_bool_var("")
        for k in self.layout.sinks(j, i):
            if not self.layout.is_fixed(k, i):  # the end of a fixed run was compared before
                self.cp.add(self.end[k, i] <= self.layout.deadline[j]).only_enforce_if(literal)
        for other in (self.choices.running(j, i), before):
            if not isinstance(other, int):
                self.cp.add_implication(literal, other)
        return literal

    # -- plans ---------------------------------------------------------------------------------------------------------

    def formulation(self) -> Formulation:
        """Return the model in the form for front methods and backends."""
        terms = {name: (Term(1, expression),) for name, expression in self.terms.items()}
        return Formulation(self.cp, terms, self.decode, self.encode, self.constant)

    def decode(self, value_of: Callable[[Variable], int]) -> Timetable:
        """Return the plan of a solution."""
        layout, choices = self.layout, self.choices
        start: dict[Run, int] = {}
        at: dict[Run, int] = {}
        for j, i, k in layout.runs():
            if (j, i) in choices.runs and not value_of(choices.runs[j, i]):
                continue
            begin = self.start[k, i]
            start[k, i] = begin if isinstance(begin, int) else value_of(begin)
            at[k, i] = next(p for p, y in choices.where[k, i].items() if isinstance(y, int) or value_of(y))
        return layout.timetable(colour(layout, choices.places, at, start), start, self.held.labels(at, value_of))

    def encode(self, plan: Timetable) -> list[tuple[Variable, int]]:
        """Return a plan as values of all variables, each once; [] if the model is infeasible."""
        return [] if self.reason is not None else encode(self, plan)


def ends(layout: Layout, j: int) -> range:
    """Return the iterations with which job j may end."""
    return range(max(layout.finished[j], layout.mandatory[j] - 1), layout.maximum[j])
