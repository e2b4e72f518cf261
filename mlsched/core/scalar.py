"""The one question that every method asks: the cheapest solution of a weighted sum in a union of boxes.

A backend is a class with `minimise`. Everything else here (methods, zones, journal, certificate) knows integers only,
in minimisation form: an objective to maximise enters negated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from mlsched.core.errors import InvalidInput

#: "optimal" and "infeasible" are proofs; "feasible" and "unknown" ended at a limit; "failed" is anything else.
Status = Literal["optimal", "feasible", "infeasible", "unknown", "unbounded", "failed"]
#: A lexicographic minimum by one weighted sum, or by one objective and then the sum of all.
Stages = Literal["one", "two"]
#: Values of all variables of the model, in its own order (floats only for continuous ones).
Solution = tuple[int | float, ...]
#: f is in a box when f_k <= box[k] for all k (None: no bound).
Bounds = tuple[int | None, ...]
#: Boxes -> the weight of each objective.
Weigh = Callable[[Sequence[Bounds]], tuple[int, ...]]
#: Objectives of a model stay below this, so that weighted sums fit 64-bit integers and doubles hold each value exactly.
EXACT = 2**53


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


@dataclasses.dataclass(frozen=True)
class Linear:
    """An integer linear expression sum_i coefficient[i] x[index[i]] + constant, in minimisation form."""

    index: Any
    coefficient: Any
    constant: int

    @classmethod
    def of(cls, index: Sequence[int], coefficient: Sequence[int], constant: int, sign: int) -> Linear:
        """Like terms collected; `sign` = -1 turns an objective to maximise into one to minimise."""
        total: dict[int, int] = {}
        for i, c in zip(index, coefficient, strict=True):
            total[i] = total.get(i, 0) + c
        kept = sorted((i, sign * c) for i, c in total.items() if c)
        if any(abs(c) >= EXACT for _, c in kept) or abs(constant) >= EXACT:
            raise InvalidInput("an objective has a coefficient beyond 2^53; scale it down")
        columns = np.array([i for i, _ in kept], dtype=np.int64)
        return cls(columns, np.array([c for _, c in kept], dtype=np.int64), sign * constant)

    def value(self, x: Any) -> int:
        """The exact value for integer values `x` of all variables."""
        return int(self.coefficient @ x[self.index]) + self.constant

    def range(self, low: Any, high: Any) -> tuple[int | None, int | None]:
        """What the variables' bounds (floats, maybe infinite) allow; None where they allow everything."""
        least = np.where(self.coefficient > 0, low[self.index], high[self.index])
        most = np.where(self.coefficient > 0, high[self.index], low[self.index])
        return self._sum(least), self._sum(most)

    def _sum(self, at: Any) -> int | None:
        if not np.isfinite(at).all():
            return None
        return sum(int(c) * int(x) for c, x in zip(self.coefficient, at, strict=True)) + self.constant

    def text(self) -> str:
        """A canonical form, for fingerprints."""
        return f"{self.index.tolist()} {self.coefficient.tolist()} {self.constant}"


def enclose(objectives: Sequence[Linear], low: Any, high: Any) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    """`Scalar.low` and `Scalar.high`, refusing objectives too large to be exact."""
    ranges = [o.range(low, high) for o in objectives]
    for number, (least, most) in enumerate(ranges):
        for end in (least, most):
            if end is not None and abs(end) >= EXACT:
                raise InvalidInput(f"objective {number} can reach {end}: must stay below 2^53; scale it down")
    return tuple(r[0] for r in ranges), tuple(r[1] for r in ranges)


def signs_of(senses: Sequence[str], count: int) -> list[int]:
    """+1 for "min", -1 for "max"; one sense an objective."""
    if isinstance(senses, str) or len(senses) != count:
        raise InvalidInput(f"senses = {senses!r}: must name 'min' or 'max' for each of the {count} objectives")
    for sense in senses:
        if sense not in ("min", "max"):
            raise InvalidInput(f"senses = {sense!r}: must be 'min' or 'max'")
    return [1 if sense == "min" else -1 for sense in senses]


def inside(values: Sequence[int], boxes: Sequence[Bounds]) -> bool:
    """Whether objective values are in one of the boxes."""
    return any(all(u is None or v <= u for v, u in zip(values, box, strict=True)) for box in boxes)


def loosest(boxes: Sequence[Bounds]) -> Bounds:
    """The smallest box that holds all of `boxes`."""
    return tuple(None if None in ends else max(e for e in ends if e is not None) for ends in zip(*boxes, strict=True))


def shown(boxes: Sequence[Bounds]) -> str:
    """The boxes in a message."""
    more = f" and {len(boxes) - 1} boxes more" if len(boxes) > 1 else ""
    return f"{list(boxes[0])}{more}"
