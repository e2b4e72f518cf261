"""The task-level CP-SAT model: the reference that all other answers are measured against.

Per task a place (sticky over iterations unless runs may move), per job the iterations that run, per run a start.
s_v >= s_u + p_u (+ delay where the two are on different nodes); cumulative over every place and resource. Special cases
collapse to the classic models: one node is RCPSP with plain intervals, identical machines are one cumulative
(`_places`), one eligible node a task is the job shop with no-overlap.

Completion, on-time and traffic variables are bounded in the direction that objectives push them, and traffic exactly:
at an optimum of any weighted sum of the asked objectives they are what the judge computes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.core.formulation import Formulation, Term
from mlsched.formulations.taskgraph._bounds import Pool, makespan_bound, pools, total_completion_bound
from mlsched.formulations.taskgraph._cp_capacity import Capacity
from mlsched.formulations.taskgraph._cp_objectives import Objectives
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import colour, places, symmetric
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.instances.taskgraph import Timetable

#: 1, or a literal: whether something holds.
Literal = Any
Run = tuple[int, int]


def model(layout: Layout, objectives: Sequence[str], upper: int | None = None) -> Formulation:
    """The model for some objectives; see `TaskModel` for `upper`."""
    return TaskModel(layout, tuple(objectives), upper).formulation()


class TaskModel(Capacity, Objectives):
    """The model for some objectives.

    With one of total_jct or makespan alone, `upper` (a value that some plan attains) narrows the windows to those of
    plans of this value or better, `lower` is a proven bound that is added as a row, and `relaxed` narrows the windows
    of starts. `extra` pools are added as implied rows.
    """

    #: Whether solutions are no plans.
    relaxation = False

    def __init__(
        self,
        layout: Layout,
        objectives: tuple[str, ...],
        upper: int | None = None,
        lower: int | None = None,
        relaxed: Relaxed | None = None,
        extra: Sequence[Pool] = (),
    ) -> None:
        from ortools.sat.python import cp_model

        self.layout, self.objectives, self.upper, self.lower = layout, objectives, upper, lower
        self.relaxed, self.extra = relaxed, extra
        self.cp = cp_model.CpModel()
        self.pools = pools(layout)
        self.places = places(layout, "traffic" in objectives)
        if all(place.whole for place in self.places):
            # Each run takes a node for itself, however little it demands.
            lasting = {k: 1 for k in range(layout.tasks) if layout.duration[k] and layout.allowed[k]}
            if (whole := Pool(layout.nodes, lasting)) not in self.pools:
                self.pools.append(whole)
        self.place_of = [0] * layout.nodes
        for p, place in enumerate(self.places):
            for n in place.nodes:
                self.place_of[n] = p
        self.x: dict[tuple[int, int], Any] = {}
        self.where: dict[Run, dict[int, Literal]] = {}
        self.start: dict[Run, Any] = {}
        self.end: dict[Run, Any] = {}
        self.cuts: dict[tuple[int, int], Literal] = {}
        self.both: dict[tuple[int, int], Any] = {}
        self.completion: dict[int, Any] = {}
        self.last: Any = None
        self.met: dict[int, Any] = {}
        self.on_time: dict[tuple[int, int], Any] = {}
        self.reason = layout.reason or self._clash()
        self.terms: dict[str, Any] = dict.fromkeys(objectives, 0)
        self.constant: dict[str, int] = {}
        if self.reason is None:
            self._horizons()
        if self.reason is None:
            self._counts()
            self._choices()
            self._starts()
            self._order()
            self._capacity()
            self._break_symmetry()
            self._complete()
            self._measure()
        if self.reason is not None:
            self.cp.add_bool_or([])
            self.terms = dict.fromkeys(objectives, 0)

    def _clash(self) -> str | None:
        """Two fixed runs of a whole place on one node at once: a class of nodes would hide it."""
        taken: list[tuple[int, int, int]] = []
        for k, (node, start) in self.layout.fixed.items():
            end = start + self.layout.duration[k]
            if end > start and self.places[self.place_of[node]].whole:
                if any(n == node and s < end and start < e for n, s, e in taken):
                    return f"node {node} holds two fixed runs at once"
                taken.append((node, start, end))
        return None

    def _horizons(self) -> None:
        """until[j]: completion of job j at the latest."""
        layout = self.layout
        end = layout.horizon()
        self.until = [end] * layout.jobs
        if self.upper is None or len(self.objectives) != 1 or not layout.jobs:
            return
        if self.objectives[0] == "makespan":
            # Only plans of value <= upper are wanted; this does not hold for any other objective.
            self.until = [min(end, min(layout.arrival) + self.upper)] * layout.jobs
        elif self.objectives[0] == "total_jct":
            self.until = [min(end, c) for c in layout.latest_completions(self.upper)]
        if any(layout.least_completion(j) > u for j, u in enumerate(self.until)):
            self.reason = "no plan is as good as the bound that was given"

    def _counts(self) -> None:
        for j in range(self.layout.jobs):
            for i in range(self.layout.least[j], self.layout.most[j]):
                self.x[j, i] = self.cp.new_bool_var("")
                if (j, i - 1) in self.x:
                    self.cp.add_implication(self.x[j, i], self.x[j, i - 1])

    def _choices(self) -> None:
        """where[run]: place -> literal; the same object for all runs of a task that stays."""
        layout = self.layout
        known: dict[int, dict[int, Literal]] = {}
        places_of: dict[tuple[int, ...], list[int]] = {}
        only: list[dict[int, Literal]] = [{p: 1} for p in range(len(self.places))]
        for _, i, k in layout.runs():
            if layout.sticky and k in known:
                self.where[k, i] = known[k]
                continue
            nodes = layout.nodes_of(k, i) if layout.fixed else layout.allowed[k]
            if nodes not in places_of:
                places_of[nodes] = list(dict.fromkeys(self.place_of[n] for n in nodes))
            allowed = places_of[nodes]
            if len(allowed) == 1:
                choice: dict[int, Literal] = only[allowed[0]]
            elif len(allowed) == 2:
                first = self.cp.new_bool_var("")
                choice = {allowed[0]: first, allowed[1]: first.negated()}
            else:
                choice = {p: self.cp.new_bool_var("") for p in allowed}
                self.cp.add_exactly_one(choice.values())
            self.where[k, i] = known[k] = choice

    def _starts(self) -> None:
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
                if i < layout.least[j]:
                    self.reason = "no plan is as good as the bound that was given"
                else:
                    self.cp.add(self.x[j, i] == 0)
                latest = head
            start = self.start[run] = new(head, latest, "")
            self.end[run] = start + duration

    def _order(self) -> None:
        """Rule 4: runs of a task follow one another, edges hold, with the delay between different nodes."""
        layout, add, ends = self.layout, self.cp.add, self.end
        for j, i, k in layout.runs():
            x, first = self.x.get((j, i)), layout.first[j]
            begin = self.start[k, i]
            for u, source, delay in layout.sources(k, i):
                if source < first:
                    end, apart = layout.last_end[u], self._away(k, i, layout.home[u]) if delay else 0
                    if end + delay <= layout.head[k][i]:
                        continue
                else:
                    end = ends[u, source]
                    apart = self._apart((u, source), (k, i)) if delay else 0
                    row = add(begin >= end)
                    if x is not None:
                        row.only_enforce_if(x)
                if isinstance(apart, int):
                    if apart:
                        self._if(begin >= end + delay, x)
                else:
                    self._if(begin >= end + delay, x, apart)

    def _if(self, row: Any, *conditions: Any) -> None:
        """A row, under conditions (None: no condition)."""
        # Between constants, a comparison is a bool.
        added = self.cp.add(row) if not isinstance(row, bool) else self.cp.add_bool_and([row])
        literals = [c for c in conditions if c is not None]
        if literals:
            added.only_enforce_if(literals)

    def _apart(self, a: Run, b: Run) -> Literal:
        """Whether two runs are on different nodes: 0, 1 or a literal that says so exactly."""
        one, other = self.where[a], self.where[b]
        if one is other:
            return 0
        if not one.keys() & other.keys():
            return 1
        if len(one) == 1 and len(other) == 1:
            return 0
        if len(other) == 1:
            one, other = other, one
        if len(one) == 1:
            return other[next(iter(one))].negated()
        key = (id(one), id(other)) if id(one) < id(other) else (id(other), id(one))
        if key not in self.cuts:
            cut = self.cp.new_bool_var("")
            for p, here in one.items():
                there = other.get(p)
                self.cp.add_bool_or([here.negated(), cut] if there is None else [here.negated(), there, cut])
                if there is not None:
                    self.cp.add_bool_or([here.negated(), there.negated(), cut.negated()])
            self.cuts[key] = cut
        return self.cuts[key]

    def _away(self, k: int, i: int, node: int) -> Literal:
        """Whether run (k, i) is not on a node; places are single nodes wherever this matters."""
        choice = self.where[k, i]
        p = self.place_of[node]
        if p not in choice:
            return 1
        return 0 if len(choice) == 1 else choice[p].negated()

    def _break_symmetry(self) -> None:
        """Of interchangeable nodes, the c-th is used only after a task before uses the one before it.

        Valid: every plan can be renamed so (`symmetric`), which changes no value. Tasks in the order of their numbers;
        the first iteration of each is looked at, later ones follow or, where runs may move, are left free.
        """
        layout = self.layout
        if any(place.whole for place in self.places) or not layout.sticky:
            return
        present = [k for k in range(layout.tasks) if (k, layout.first[layout.job[k]]) in self.where]
        self.ranks = symmetric(layout)
        for nodes in self.ranks:
            self._in_order(nodes, present)

    def _in_order(self, nodes: Sequence[int], tasks: Sequence[int]) -> None:
        """The c-th of some nodes is used only after a task before uses the one before it."""
        for before, node in itertools.pairwise(nodes):
            earlier: list[Any] = []
            for k in tasks:
                choice = self.where[k, self.layout.first[self.layout.job[k]]]
                # A task that may be on one node of a class may be on all, so these are literals.
                if (literal := choice.get(self.place_of[node])) is not None:
                    self.cp.add_bool_or([*earlier, literal.negated()])
                if (mine := choice.get(self.place_of[before])) is not None:
                    earlier.append(mine)

    ranks: Sequence[tuple[int, ...]] = ()

    def _complete(self) -> None:
        layout, cp = self.layout, self.cp
        if {"total_jct", "deadlines_met"} & set(self.objectives):
            for j in range(layout.jobs):
                self.completion[j] = cp.new_int_var(min(layout.least_completion(j), self.until[j]), self.until[j], "")
                for i in self._ends(j):
                    for k in layout.sinks(j, i):
                        self._if(self.completion[j] >= self.end[k, i], self.x.get((j, i)))
        if "makespan" in self.objectives and layout.jobs:
            least = makespan_bound(layout, self.pools)
            self.last = cp.new_int_var(min(least, max(self.until)), max(self.until), "")
            if least > max(self.until):
                self.reason = "no plan is as good as the bound that was given"
            for j in range(layout.jobs):
                if self.completion:
                    cp.add(self.last >= self.completion[j])
                    continue
                for i in self._ends(j):
                    for k in layout.sinks(j, i):
                        self._if(self.last >= self.end[k, i], self.x.get((j, i)))

    def _ends(self, j: int) -> range:
        """The iterations with which job j may end."""
        layout = self.layout
        return range(max(layout.first[j], layout.least[j] - 1), layout.most[j])

    def _measure(self) -> None:
        from ortools.sat.python import cp_model

        layout, cp = self.layout, self.cp
        for name in self.objectives:
            parts = getattr(self, "_" + name)()
            variables = [v for v, _ in parts]
            self.terms[name] = cp_model.LinearExpr.weighted_sum(variables, [w for _, w in parts]) if parts else 0
        if "total_jct" in self.objectives and layout.jobs:
            least = total_completion_bound(layout, self.pools) - sum(layout.arrival)
            cp.add(self.terms["total_jct"] >= max(least, self.lower or least) + sum(layout.arrival))
        if "makespan" in self.objectives and layout.jobs:
            self._balance()

    def _balance(self) -> None:
        """Implied: what runs on a node lies between the first head and the end (energy and node load)."""
        layout = self.layout
        if len(self.places) == 1:
            return
        for p, place in enumerate(self.places):
            for r in range(len(layout.instance.resources)):
                load: list[tuple[Any, int]] = []
                constant, first = 0, None
                for j, i, k in layout.runs():
                    literal = self.where[k, i].get(p)
                    energy = layout.demand[k][r] * layout.duration[k]
                    if literal is None or not energy or i >= layout.least[j]:
                        continue
                    head = layout.head[k][i]
                    first = head if first is None else min(first, head)
                    if isinstance(literal, int):
                        constant += energy
                    else:
                        load.append((literal, energy))
                room = sum(layout.capacity[n][r] for n in place.nodes)
                if load and first is not None:
                    used = sum(energy * literal for literal, energy in load) + constant
                    self.cp.add(used <= room * self.last - room * first)

    def formulation(self) -> Formulation:
        terms = {name: (Term(1, expression),) for name, expression in self.terms.items()}
        return Formulation(self.cp, terms, self.decode, self.encode, self.constant)

    def decode(self, value_of: Callable[[Any], int]) -> Timetable:
        layout = self.layout
        start: dict[Run, int] = {}
        at: dict[Run, int] = {}
        for j, i, k in layout.runs():
            if (j, i) in self.x and not value_of(self.x[j, i]):
                continue
            begin = self.start[k, i]
            start[k, i] = begin if isinstance(begin, int) else value_of(begin)
            at[k, i] = next(p for p, y in self.where[k, i].items() if isinstance(y, int) or value_of(y))
        return layout.timetable(colour(layout, self.places, at, start), start)

    def start_from(self, plan: Timetable) -> None:
        """Give the search a plan to begin with."""
        for variable, value in self.encode(plan):
            self.cp.add_hint(variable, value)

    def encode(self, plan: Timetable) -> list[tuple[Any, int]]:
        from mlsched.formulations.taskgraph._hint import hint

        return [] if self.reason is not None else hint(self, plan)
