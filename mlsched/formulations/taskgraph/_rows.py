"""Linear rows over literals: the building blocks of models with only 0/1 variables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from mlsched.core.aliases import BackendModel, Expression
from mlsched.formulations.taskgraph._choices import Literal

#: Weighted literals; a literal may be 0 or 1.
Terms = list[tuple[int, Literal]]


class Rows:
    """Builder of rows without enforcement literals, which cutting planes and linear relaxations ignore."""

    def __init__(self, cp: BackendModel) -> None:
        self.cp = cp

    def at_least(self, terms: Iterable[tuple[int, Literal]], bound: int) -> None:
        """Add sum of weight * literal >= bound, unless it is always true."""
        weights: dict[int, int] = {}
        literals: dict[int, Expression] = {}
        for weight, literal in terms:
            if isinstance(literal, int):
                bound -= weight * literal
            else:
                literals[literal.index] = literal
                weights[literal.index] = weights.get(literal.index, 0) + weight
        if bound <= sum(w for w in weights.values() if w < 0):
            return
        from ortools.sat.python import cp_model

        row = cp_model.LinearExpr.weighted_sum(list(literals.values()), list(weights.values()))
        self.cp.add_linear_constraint(row, bound, cp_model.INT32_MAX)

    def clause(self, *literals: Literal) -> None:
        """Require at least one true literal."""
        if not any(isinstance(literal, int) and literal for literal in literals):
            self.cp.add_bool_or([literal for literal in literals if not isinstance(literal, int)])

    def rising(self, literals: Sequence[Literal]) -> None:
        """Let each literal imply the next."""
        for before, after in itertools.pairwise(literals):
            self.clause(no(before), after)


def no(literal: Literal) -> Literal:
    """Return the literal's negation."""
    return 1 - literal if isinstance(literal, int) else literal.negated()


def valued(solution: Sequence[int]) -> Callable[[Literal], int]:
    """Return the value function of literals or variables in a solution, which has a value per variable."""

    def value(literal: Literal) -> int:
        if isinstance(literal, int):
            return literal
        index: int = literal.index
        return solution[index] if index >= 0 else 1 - solution[-index - 1]

    return value
