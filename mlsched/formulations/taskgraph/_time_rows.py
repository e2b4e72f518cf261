"""Rows over "has started by t" and "is on node n": order, capacity and their links, in 0/1 variables alone.

None of these rows has enforcement literals, which cutting planes and linear relaxations know nothing of. Places must be
single nodes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._cp_model import Literal, Run, TaskModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import Relaxed

#: Weighted literals; a literal may be 0 or 1.
Terms = list[tuple[int, Literal]]


class TimeRows(TaskModel):
    """What models in such rows share; each says from when to when a run may start.

    A run has started by no time before `_window[run][0]`; then by `_begun[run]`, a literal a time; then, at all times,
    by `_after[run]`: 1, or a literal that is false in plans in which the run never starts or is not looked at.
    `shared` are pools of the layout. An objective is its term plus its constant.
    """

    def __init__(
        self, layout: Layout, objectives: tuple[str, ...], shared: Sequence[Pool], upper: int | None = None,
        relaxed: Relaxed | None = None,
    ) -> None:  # fmt: skip
        self._shared = shared
        self._window: dict[Run, tuple[int, int]] = {}
        self._begun: dict[Run, list[Literal]] = {}
        self._after: dict[Run, Literal] = {}
        self._here: dict[tuple[Run, int, int], Literal] = {}
        super().__init__(layout, objectives, upper, relaxed=relaxed)

    def _measure(self) -> None:
        from ortools.sat.python import cp_model

        for name in self.objectives:
            parts = getattr(self, "_" + name)()
            self.terms[name] = cp_model.LinearExpr.weighted_sum([v for v, _ in parts], [w for _, w in parts])

    # -- literals and rows ---------------------------------------------------------------------------------------------

    def _started(self, run: Run, t: int) -> Literal:
        """Whether a run has started by t."""
        low, known = self._window[run][0], self._begun[run]
        return 0 if t < low else known[t - low] if t - low < len(known) else self._after[run]

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

    def _rising(self, literals: Sequence[Literal]) -> None:
        for before, after in itertools.pairwise(literals):
            self._clause(no(before), after)

    # -- order ---------------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Rule 4: what a run waits for has ended when it starts, transfers between nodes included."""
        layout = self.layout
        for _, i, k in layout.runs():
            low, high = self._window[k, i]
            for u, source, delay in layout.sources(k, i):
                if source < layout.first[layout.job[k]]:
                    # Not before the transfer from home has ended, unless there is none.
                    if delay:
                        over = self._started((k, i), layout.last_end[u] + delay - 1)
                        self._clause(no(over), no(self._away(k, i, layout.home[u])))
                    continue
                apart = self._apart((u, source), (k, i)) if delay else 0
                for t in range(low, high + 1):
                    begun = no(self._started((k, i), t))
                    self._clause(begun, self._started((u, source), t - layout.duration[u]))
                    if delay and not (isinstance(apart, int) and not apart):
                        sent = self._started((u, source), t - layout.duration[u] - delay)
                        self._clause(begun, no(apart), sent)

    # -- capacity ------------------------------------------------------------------------------------------------------

    def _active(self, run: Run, t: int) -> Terms:
        """Literals whose weighted sum is 1 while the run is under way, or none where it cannot be."""
        begun, ended = self._started(run, t), self._started(run, t - self.layout.duration[run[0]])
        if isinstance(begun, int):
            if not begun or (isinstance(ended, int) and ended):
                return []
        elif not isinstance(ended, int) and begun.index == ended.index:
            return []
        return [(1, begun), (-1, ended)]

    def _in_room(self, first: int, end: int) -> None:
        """Rule 5 from time `first` to before `end`: on each node, and of all nodes together in every shared pool."""
        layout = self.layout
        lasting = [(k, i) for _, i, k in layout.runs() if layout.duration[k]]
        for t in range(first, end):
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
            self._clause(no(here), choice)
            self._at_least([(1, here), (-1, choice), *((-w, v) for w, v in active)], -1)
        return [(1, self._here[run, n, t])]

    def _somewhere(self, t: int, active: dict[Run, Terms]) -> None:
        """Implied: what is under way is so on one of its nodes."""
        for run, terms in active.items():
            here = [self._here.get((run, n, t)) for n in self.where[run]]
            if all(v is not None for v in here):
                self._at_least([*((1, v) for v in here), *((-w, v) for w, v in terms)], 0)


def no(literal: Literal) -> Literal:
    """The literal's negation."""
    return 1 - literal if isinstance(literal, int) else literal.negated()
