"""The one question that every method of enumerating a front asks, and what answers it.

The question is a sub-problem: minimise a weighted sum of the objectives over the solutions whose objective values lie
in one of some boxes. What answers it is any object with the members of `Scalar`, such as those in `solvers/front` for
CP-SAT and HiGHS; a formulation may bring one of its own (`Formulation.assisted`). All objectives are integers and are
minimised: one to be maximised enters negated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

#: "optimal" and "infeasible" are proofs; "feasible" and "unknown" ended at a limit; "failed" is anything else.
Status = Literal["optimal", "feasible", "infeasible", "unknown", "unbounded", "failed"]
#: How a lexicographic minimum is taken: by one weighted sum, or by one objective and then the sum of all.
Stages = Literal["one", "two"]
#: Values of all variables of the model, in its own order (floats only for continuous ones).
Solution = tuple[int | float, ...]
#: A box holds the objective values f with f_k <= box[k] for all k; None is no bound.
Bounds = tuple[int | None, ...]
#: Boxes -> the weight of each objective.
Weigh = Callable[[Sequence[Bounds]], tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a backend says about one sub-problem.

    `values` are the objectives of `solution`, recomputed in integers; `bound` is proved: no solution has a smaller
    weighted sum. `note` says why a status is "failed".
    """

    status: Status
    values: tuple[int, ...] | None = None
    bound: int | None = None
    solution: Solution | None = None
    note: str = ""


class Scalar(Protocol):
    """What answers the sub-problems of one model: minimise sum_k weights[k] f_k with f in one of some boxes.

    low, high: the ends of each objective that follow from the variables' bounds; None where there is none. largest: up
    to this value the backend distinguishes weighted sums that differ by 1. most_boxes: more boxes than these are better
    asked in several sub-problems. stages: whether a lexicographic minimum is better taken in one sub-problem or in two;
    None for one wherever possible. ties: the weights, all above 0, of the second of two; None for 1 each. favourite:
    the objective that is best minimised while the others are bounded; None where there is none. fingerprint: identifies
    model and objectives.
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
        """Solve one sub-problem within `limit` seconds, starting from the solution `hint`.

        boxes: one or more. Where there are several, an objective that one of them bounds must have an end in each, of
        the box itself or of `high`.
        """

    def value_of(self, solution: Solution) -> Callable[[Any], Any]:
        """A function that gives the value of any variable of the caller's model in `solution`."""

    def values_of(self, solution: Solution, variables: Sequence[Any] | None) -> Solution:
        """The values in `solution` of some variables of the caller's model; of all, in its order, where None."""


class Searcher(Scalar, Protocol):
    """A `Scalar` that there may be several of, each for a thread of its own; another thread may end its solve."""

    def stop(self) -> None:
        """End the solve that is under way, from any thread. One that has not begun yet is not prevented."""

    def another(self) -> Searcher:
        """One more for the same question, for another thread."""


class Limited(Searcher, Protocol):
    """A `Searcher` whose solves can be limited, and which completes partial solutions.

    work: the deterministic time that a solve may take, None for no limit. A solve that it ends is "feasible" or
    "unknown".
    """

    work: float | None

    def another(self) -> Limited:
        """One more for the same question, for another thread."""

    def solution_of(self, pairs: Sequence[tuple[Any, int]]) -> Solution | None:
        """A solution in which the given variables of the caller's model have these values; None where there is none."""


class Assistant(Searcher, Protocol):
    """A `Searcher` that holds processes or threads, and must be closed."""

    def close(self) -> None:
        """End them, for all searchers that share them. A later solve starts them again."""
