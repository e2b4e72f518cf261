"""A question as mathematics, and what a solver says about it.

`formulations/<problem>/` builds a `Formulation` (or a `OneOf`, a disjunction of them). A backend in `solvers/backends/`
runs it within `Limits` and returns an `Outcome`. A formulation never starts a solver, and a backend never knows what
the variables mean. An algorithm in `solvers/<problem>/` may know both: it reads the instance, builds models as it needs
them, and returns an `Outcome` as well.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mlsched.core.brief import brief
from mlsched.core.contract import Plan

if TYPE_CHECKING:
    from mlsched.core.scalar import Assistant, Limited

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
#: Why the search ended: a proof, the wall clock, the deterministic work limit, a backend that gave up, or Ctrl-C.
StoppedBy = Literal["proof", "time limit", "work limit", "backend", "interrupt"]
#: Relative slack within which a float bound counts as the integer below it.
TOLERANCE = 1e-6


def safe_bound(dual: float) -> int | None:
    """The integer lower bound that a float dual bound of a minimisation proves, None where there is none."""
    return math.ceil(dual - TOLERANCE * max(1.0, abs(dual))) if math.isfinite(dual) else None


@dataclasses.dataclass(frozen=True)
class Term:
    """`weight * expression`; an objective is the sum of its terms, the most important first.

    The weights are such that the weighted sum orders plans exactly as the lexicographic order of the expressions does.
    A backend in exact arithmetic minimises the sum; one in floats minimises term after term, so that a big weight
    cannot drown a small expression in rounding.
    """

    weight: int
    expression: Any


@dataclasses.dataclass(frozen=True)
class Formulation:
    """One model with its objectives as expressions, none of them set on the model yet.

    decode(value_of): the plan of a solution, whose values `value_of` gives. encode(plan): the (variable, value) pairs
    of a warm start; it need not name every variable, and names none twice. constant[name]: added to the terms of that
    objective.

    assisted(make, threads, seed): what answers the sub-problems of a front, where the model alone does not do it well.
    It may call `make(formulation, threads, parameters)` for a searcher of another model on the same backend.

    parameters: of CP-SAT, with which it solves this model well; other backends have none.
    """

    model: Any
    objectives: Mapping[str, tuple[Term, ...]]
    decode: Callable[[Callable[[Any], int]], Plan]
    encode: Callable[[Any], list[tuple[Any, int]]]
    constant: dict[str, int] = dataclasses.field(default_factory=dict)
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    assisted: Callable[[Callable[[Formulation, int, Mapping[str, Any]], Limited], int, int], Assistant] | None = None

    def __repr__(self) -> str:
        return brief(self, f"{type(self.model).__module__.partition('.')[0]} {type(self.model).__name__}")


@dataclasses.dataclass(frozen=True)
class Part:
    """One branch of a disjunction. bound: no plan of it is better, as is cheaply proved. build: makes its model."""

    bound: int
    build: Callable[[], Formulation]


@dataclasses.dataclass(frozen=True)
class OneOf:
    """A disjunction: the best plan is the best of the parts and of `fallback`, a plan that needs no model, if any."""

    parts: Sequence[Part]
    fallback: Plan | None = None


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a solver may use: wall seconds and the backend's deterministic `work` (None for no limit), and threads."""

    seconds: float | None = None
    work: float | None = None
    threads: int = 1
    seed: int = 0


#: As much time and work as it takes.
NO_LIMITS = Limits()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a solver returns: a plan or None, a bound on the optimum or None, and why it stopped.

    work: what it used, by unit, in measures that are the same on every machine (CP-SAT's deterministic time, HiGHS'
    simplex iterations and nodes, plans examined by brute force). doubt: why a proof of the backend's is not taken for
    one, or how the backend failed.
    """

    status: Status
    plan: Plan | None
    bound: int | float | None
    stopped_by: StoppedBy = "proof"
    work: dict[str, float] = dataclasses.field(default_factory=dict)
    doubt: str | None = None
