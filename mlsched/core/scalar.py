"""Interface between the methods that enumerate a front and the solvers of their sub-problems.

A sub-problem minimises a weighted sum of the objectives over the solutions whose objective values lie in at least one
of some boxes. Any object with the members of `Scalar` solves it, such as those for CP-SAT and HiGHS in `solvers/front`;
a formulation may bring its own (`Formulation.assisted`). All objectives are integers and are minimised; an objective to
be maximised enters negated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

#: "optimal" and "infeasible" are proofs; "feasible" and "unknown" ended at a limit; "failed" is anything else.
Status = Literal["optimal", "feasible", "infeasible", "unknown", "unbounded", "failed"]
#: How a lexicographic minimum is computed: by one weighted sum, or by one objective and then the sum of all.
Stages = Literal["one", "two"]
#: Values of all variables of the model in its own order (floats only for continuous variables).
Solution = tuple[int | float, ...]
#: A box contains the objective values f with f_k <= box[k] for all k; None is unbounded.
Bounds = tuple[int | None, ...]
#: Boxes -> weight of each objective.
Weigh = Callable[[Sequence[Bounds]], tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class Answer:
    """A backend's answer to one sub-problem.

    Attributes:
        status: Status of the solve.
        values: Objective values of `solution`, recomputed in integers.
        bound: Proven lower bound on the weighted sum.
        solution: Values of the variables.
        note: Reason for the status "failed".
    """

    status: Status
    values: tuple[int, ...] | None = None
    bound: int | None = None
    solution: Solution | None = None
    note: str = ""


class Scalar(Protocol):
    """Solver of the sub-problems of one model: minimise sum_k weights[k] f_k with f in one of some boxes.

    Attributes:
        name: Name of the solver.
        low: Lower end of each objective, from the variables' bounds; None if unbounded.
        high: Upper end of each objective.
        largest: Up to this value, the backend distinguishes weighted sums that differ by 1.
        most_boxes: Beyond this number of boxes, several sub-problems are faster than one.
        stages: Whether a lexicographic minimum is computed in one sub-problem or in two; None prefers one.
        ties: Weights, all above 0, of the second of two sub-problems; None for 1 each.
        favourite: Objective that is preferably minimised while the others are bounded; None for any.
        fingerprint: Identifies model and objectives.
    """

    name: str
    low: tuple[int | None, ...]
    high: tuple[int | None, ...]
    largest: int
    most_boxes: int
    stages: Stages | None
    ties: Weigh | None
    favourite: int | None
    fingerprint: str

    def minimise(
        self, weights: Sequence[int], boxes: Sequence[Bounds], hint: Solution | None, limit: float | None
    ) -> Answer:
        """Solve one sub-problem.

        Args:
            weights: Weight of each objective.
            boxes: One or more boxes. With several, an objective that one of them bounds must have an end in each, from
                the box itself or from `high`.
            hint: Solution to start from.
            limit: Seconds.
        """

    def value_of(self, solution: Solution) -> Callable[[Any], Any]:
        """Return a function from a variable of the caller's model to its value in `solution`."""

    def values_of(self, solution: Solution, variables: Sequence[Any] | None) -> Solution:
        """Return the values in `solution` of some variables of the caller's model; None selects all, in order."""


class Searcher(Scalar, Protocol):
    """`Scalar` with copies, one per thread, whose solves can be ended from another thread."""

    def stop(self) -> None:
        """End the current solve, from any thread; a solve that has not begun is not prevented."""

    def another(self) -> Searcher:
        """Return another searcher of the same model, for another thread."""


class Limited(Searcher, Protocol):
    """`Searcher` with a work limit that also completes partial solutions.

    Attributes:
        work: Deterministic time limit of a solve, None for unlimited. A solve that reaches it is "feasible" or
            "unknown".
    """

    work: float | None

    def another(self) -> Limited:
        """Return another searcher of the same model, for another thread."""

    def solution_of(self, pairs: Sequence[tuple[Any, int]]) -> Solution | None:
        """Return a solution in which the given variables of the caller's model have these values, or None."""


class Assistant(Searcher, Protocol):
    """`Searcher` that uses processes or threads and must be closed."""

    def close(self) -> None:
        """End the processes for all searchers that share them; a later solve restarts them."""
