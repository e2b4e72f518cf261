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
    """A model behind scalar sub-problems: minimise sum_k weights[k] f_k subject to f being in one of some boxes.

    `low` and `high` enclose each objective as the variables' bounds do (None: they do not). `largest` is the greatest
    weighted sum the backend can tell apart from its neighbours, `most_boxes` the number of boxes up to which asking
    for them together is worth it, `stages` into how many sub-problems a lexicographic one is better taken (None: as
    few as possible), `ties` gives the weights, all above 0, of the second of two in some boxes (None: all are 1),
    `favourite` is the objective that is better minimised than others are, the others being bounded (None: there is
    none). `fingerprint` identifies model and objectives.
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
        """Solve one sub-problem from a hint (a solution) within `limit` seconds.

        boxes: one or more; several only where each is bounded in every objective that some of them bounds, by itself
        or by `high`.
        """

    def value_of(self, solution: Solution) -> Callable[[Any], Any]:
        """The value of a variable of the caller's model in a solution."""

    def values_of(self, solution: Solution, variables: Sequence[Any] | None) -> Solution:
        """The values of some variables of the caller's model (None: all, in the model's order)."""


class Searcher(Scalar, Protocol):
    """A `Scalar` of which there may be several, on a thread each, and whose solves others may end."""

    def stop(self) -> None:
        """End the solve under way, from any thread; one that has not begun begins none the less."""

    def another(self) -> Searcher:
        """One more for the same question, for another thread."""


class Limited(Searcher, Protocol):
    """A `Searcher` that others may limit and translate plans for.

    `work` is the deterministic time that a solve may take, None for no limit; a solve that it ends is "feasible" or
    "unknown".
    """

    work: float | None

    def another(self) -> Limited:
        """One more for the same question, for another thread."""

    def solution_of(self, pairs: Sequence[tuple[Any, int]]) -> Solution | None:
        """A solution in which some variables of the caller's model have these values; None where there is none."""


class Assistant(Searcher, Protocol):
    """A `Searcher` that holds more than memory."""

    def close(self) -> None:
        """Let go of it, for all that share it; later solves take it anew."""
