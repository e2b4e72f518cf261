"""total_jct or makespan in linear rows over 0/1 variables alone: "has started by t", "is on node n".

CP-SAT learns cutting planes from conflicts when all rows are linear and their variables Boolean (`use_pb_resolution`).
That is what gangs that have to be packed into nodes need: clauses alone must go through who sits where, one by one,
where a row that counts shows at once that they do not fit. Small windows of starts are what it takes, so an incumbent
and the linear relaxation come first.

Rows must have no enforcement literals, which cutting planes know nothing of.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._cp_model import Literal, Run, TaskModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.instances.taskgraph import Timetable

#: Weighted literals; a literal may be 0 or 1.
Terms = list[tuple[int, Literal]]


class TimeIndexed(TaskModel):
    """Plans of value `upper` or better in one objective; every place must be a single node.

    `shared` are pools of the layout, the overall ones among them. An objective is its term plus its constant.
    """

    def __init__(
        self, layout: Layout, upper: int, relaxed: Relaxed | None, shared: Sequence[Pool], objective: str = "total_jct"
    ) -> None:
        self._shared = shared
        self._window: dict[Run, tuple[int, int]] = {}
        self._begun: dict[Run, list[Literal]] = {}
        self._done: list[list[Literal]] = []
        self._ended = 0
        self._here: dict[tuple[Run, int, int], Literal] = {}
        mandatory = copy.copy(layout)
        # No job completes later without its optional iterations.
        mandatory.most = [min(least, most) for least, most in zip(layout.least, layout.most, strict=True)]
        super().__init__(mandatory, (objective,), upper, relaxed=relaxed)

    # -- literals and rows ---------------------------------------------------------------------------------------------

    def _started(self, run: Run, t: int) -> Literal:
        """Whether a run has started by t."""
        low, known = self._window[run][0], self._begun[run]
        return 0 if t < low else 1 if t - low >= len(known) else known[t - low]

    def _at_least(self, terms: Iterable[tuple[int, Literal]], least: int) -> None:
        """sum of weight * literal >= least, unless it always holds."""
        weights: dict[int, int] = {}
        literals: dict[int, Any] = {}
        for weight, literal in terms:
            if isinstance(literal, int):
                least -= weight * literal
            else:
                literals[literal.index] = literal
                weights[literal.index] = weights.get(literal.index, 0) + weight
        if least <= sum(w for w in weights.values() if w < 0):
            return
        from ortools.sat.python import cp_model

        row = cp_model.LinearExpr.weighted_sum(list(literals.values()), list(weights.values()))
        self.cp.add_linear_constraint(row, least, cp_model.INT32_MAX)

    def _clause(self, *literals: Literal) -> None:
        if not any(isinstance(literal, int) and literal for literal in literals):
            self.cp.add_bool_or([literal for literal in literals if not isinstance(literal, int)])

    # -- parts of the model --------------------------------------------------------------------------------------------

    def _starts(self) -> None:
        layout = self.layout
        for j, i, k in layout.runs():
            run, low = (k, i), layout.head[k][i]
            high = self.until[j] - layout.tail[k][i] - layout.duration[k]
            if layout.fixed and layout.is_fixed(k, i):
                low = high = layout.fixed[k][1]
            elif self.relaxed is not None:
                low = max(low, self.relaxed.earliest.get(run, low))
                high = min(high, self.relaxed.latest.get(run, high))
            if low > high:
                self.reason, high = "no plan is as good as the bound that was given", low
            self._window[run] = low, high
            self._begun[run] = begun = [self.cp.new_bool_var("") for _ in range(low, high)]
            self._rising(begun)
            # A run that has started by one time more starts one time earlier.
            self.start[run] = high - sum(begun)

    def _rising(self, literals: Sequence[Literal]) -> None:
        for before, after in itertools.pairwise(literals):
            self._clause(_no(before), after)

    def _order(self) -> None:
        layout = self.layout
        for _, i, k in layout.runs():
            low, high = self._window[k, i]
            for u, source, delay in layout.sources(k, i):
                if source < layout.first[layout.job[k]]:
                    # Not before the transfer from home has ended, unless there is none.
                    if delay:
                        over = self._started((k, i), layout.last_end[u] + delay - 1)
                        self._clause(_no(over), _no(self._away(k, i, layout.home[u])))
                    continue
                apart = self._apart((u, source), (k, i)) if delay else 0
                for t in range(low, high + 1):
                    begun = _no(self._started((k, i), t))
                    self._clause(begun, self._started((u, source), t - layout.duration[u]))
                    if delay and not (isinstance(apart, int) and not apart):
                        sent = self._started((u, source), t - layout.duration[u] - delay)
                        self._clause(begun, _no(apart), sent)

    def _active(self, run: Run, t: int) -> Terms:
        """Literals whose weighted sum is 1 while the run is under way, or none where it cannot be."""
        begun, ended = self._started(run, t), self._started(run, t - self.layout.duration[run[0]])
        if isinstance(begun, int) and (not begun or ended is begun):
            return []
        if isinstance(ended, int) and ended:
            return []
        return [(1, begun), (-1, ended)]

    def _capacity(self) -> None:
        layout = self.layout
        lasting = [(k, i) for _, i, k in layout.runs() if layout.duration[k]]
        for t in range(min(layout.arrival), max(self.until)):
            active = {run: terms for run in lasting if (terms := self._active(run, t))}
            for n in range(layout.nodes):
                self._node(n, t, active)
            self._somewhere(t, active)
            for pool in self._shared:
                self._room([(pool.demand[run[0]], terms) for run, terms in active.items() if run[0] in pool.demand],
                           pool.capacity)  # fmt: skip

    def _node(self, n: int, t: int, active: dict[Run, Terms]) -> None:
        """The capacities of a node at a time."""
        layout = self.layout
        may = [run for run in active if n in self.where[run]]
        tasks = {run[0] for run in may}
        for r, room in enumerate(layout.capacity[n]):
            # A task's runs follow one another.
            if sum(layout.demand[k][r] for k in tasks) > room:
                used = [run for run in may if layout.demand[run[0]][r]]
                self._room([(layout.demand[run[0]][r], self._on(run, n, t, active[run])) for run in used], room)

    def _room(self, used: Sequence[tuple[int, Terms]], room: int) -> None:
        """The demands of what is under way fit."""
        if used:
            unit = math.gcd(*(q for q, _ in used))
            self._at_least([(-q // unit * w, v) for q, terms in used for w, v in terms], -(room // unit))

    def _on(self, run: Run, n: int, t: int, active: Terms) -> Terms:
        """1 at least while the run is under way on node n."""
        choice = self.where[run][n]
        if isinstance(choice, int):
            return active
        if (run, n, t) not in self._here:
            here = self._here[run, n, t] = self.cp.new_bool_var("")
            self._clause(_no(here), choice)
            self._at_least([(1, here), (-1, choice), *((-w, v) for w, v in active)], -1)
        return [(1, self._here[run, n, t])]

    def _somewhere(self, t: int, active: dict[Run, Terms]) -> None:
        """Implied: what is under way is so on one of its nodes."""
        for run, terms in active.items():
            here = [self._here.get((run, n, t)) for n in self.where[run]]
            if all(v is not None for v in here):
                self._at_least([*((1, v) for v in here), *((-w, v) for w, v in terms)], 0)

    def _horizons(self) -> None:
        super()._horizons()
        self._least = [self.layout.least_completion(j) for j in range(self.layout.jobs)]
        if self.relaxed is not None:
            for j, (low, high) in self.relaxed.completion.items():
                self._least[j], self.until[j] = max(self._least[j], low), min(self.until[j], high)
        if any(low > high for low, high in zip(self._least, self.until, strict=True)):
            self.reason = "no plan is as good as the bound that was given"

    def _complete(self) -> None:
        """Done by t: each job for total_jct, all of them for makespan."""
        layout, every = self.layout, list(range(self.layout.jobs))
        groups = [[j] for j in every] if self.objectives == ("total_jct",) else [every]
        for group in groups:
            least = max(self._least[j] for j in group)
            done = [self.cp.new_bool_var("") for _ in range(least, max(self.until[j] for j in group))]
            self._rising(done)
            self._done.append(done)
            self._ended += least + len(done)
            for j, t in itertools.product(group, range(least, least + len(done))):
                for i in self._ends(j):
                    for k in layout.sinks(j, i):
                        self._clause(_no(done[t - least]), self._started((k, i), t - layout.duration[k]))

    def _measure(self) -> None:
        (objective,) = self.objectives
        self.terms[objective] = self._ended - sum(v for done in self._done for v in done)
        arrival = self.layout.arrival
        self.constant[objective] = -sum(arrival) if objective == "total_jct" else -min(arrival)

    def plan(self, solution: Sequence[int]) -> Timetable:
        """The plan of a solution, a value a variable."""

        def value(literal: Literal) -> int:
            if isinstance(literal, int):
                return literal
            index: int = literal.index
            return solution[index] if index >= 0 else 1 - solution[-index - 1]

        start = {run: self._window[run][1] - sum(map(value, begun)) for run, begun in self._begun.items()}
        node = {run: next(p for p, y in choice.items() if value(y)) for run, choice in self.where.items()}
        return self.layout.timetable({run: self.places[p].nodes[0] for run, p in node.items()}, start)


def size(layout: Layout, upper: int, objective: str = "total_jct") -> int:
    """How many variables the model would have, about; 0 where classes of nodes are one place."""
    if any(place.whole for place in places(layout, traffic=False)):
        return 0
    least = [layout.least_completion(j) for j in range(layout.jobs)]
    until = [min(layout.arrival, default=0) + upper] * layout.jobs
    if objective == "total_jct":
        until = layout.latest_completions(upper)
    total = sum(high - low for low, high in zip(least, until, strict=True))
    for j, i, k in layout.runs():
        width = until[j] - layout.tail[k][i] - layout.duration[k] - layout.head[k][i]
        total += width + (width + layout.duration[k]) * len(layout.nodes_of(k, i))
    return total


def _no(literal: Literal) -> Literal:
    return 1 - literal if isinstance(literal, int) else literal.negated()
