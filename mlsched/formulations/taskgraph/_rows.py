"""Literals "has started by t" and linear rows over them: what models in 0/1 variables alone are made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._cp_model import Literal, Run, TaskModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import Relaxed

#: Weighted literals; a literal may be 0 or 1.
Terms = list[tuple[int, Literal]]


class Rows(TaskModel):
    """Runs have started by a time or not; each model says from when to when one may start.

    A run has started by no time before `_window[run][0]`; then by `_begun[run]`, a literal a time; then, at all times,
    by `_after[run]`: 1, or a literal that is false in plans in which the run never starts or is not looked at.
    `shared` are pools of the layout. An objective is its term plus its constant.
    """

    def __init__(
        self,
        layout: Layout,
        objectives: tuple[str, ...],
        shared: Sequence[Pool],
        upper: int | None = None,
        relaxed: Relaxed | None = None,
    ) -> None:
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


def no(literal: Literal) -> Literal:
    """The literal's negation."""
    return 1 - literal if isinstance(literal, int) else literal.negated()
