"""Formulations of a problem, and outcomes of solvers.

`formulations/<problem>/` builds a `Formulation` (or a `OneOf`, a disjunction). A backend in `solvers/backends/` runs it
within `Limits` and returns an `Outcome`. A formulation never starts a solver, and a backend never knows the meaning of
variables. An algorithm in `solvers/<problem>/` may know both: it reads the instance, builds models as needed, and
returns an `Outcome` as well.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mlsched.core.aliases import BackendModel, Expression, Variable
from mlsched.core.brief import short_repr
from mlsched.core.contract import Plan

if TYPE_CHECKING:
    from mlsched.core.scalar import Assistant, Limited

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
#: Reason for the end of a search: a proof, the wall clock, the deterministic work limit, a failed backend, or Ctrl-C.
StoppedBy = Literal["proof", "time limit", "work limit", "backend", "interrupt"]
#: Relative tolerance within which a float bound counts as the integer below it.
TOLERANCE = 1e-6


def safe_bound(dual: float) -> int | None:
    """Return the integer lower bound that a float dual bound of a minimisation proves, or None."""
    return math.ceil(dual - TOLERANCE * max(1.0, abs(dual))) if math.isfinite(dual) else None


@dataclasses.dataclass(frozen=True)
class Term:
    """`weight * expression`; an objective is the sum of its terms, the most important first.

    The weighted sum orders plans exactly as the lexicographic order of the expressions. A backend in exact arithmetic
    minimises the sum. A backend in floats minimises term after term, so that a large weight does not hide a small
    expression behind rounding.
    """

    weight: int
    expression: Expression


@dataclasses.dataclass(frozen=True)
class Formulation:
    """One model with its objectives as expressions; none is set on the model yet.

    Attributes:
        model: Model of the backend's library.
        objectives: Objective -> its terms.
        decode: `decode(value_of)` returns the plan of a solution.
        encode: `encode(plan)` returns (variable, value) pairs of a warm start; each variable occurs at most once.
        constant: Objective -> constant added to its terms.
        parameters: Parameters of CP-SAT with which it solves this model well; other backends have none.
        assisted: `assisted(make, threads, seed)` returns a specialised solver for the sub-problems of a front. It may
            call `make(formulation, threads, parameters)` for a searcher of another model on the same backend.
    """

    model: BackendModel
    objectives: Mapping[str, tuple[Term, ...]]
    decode: Callable[[Callable[[Variable], int]], Plan]
    encode: Callable[[Any], list[tuple[Variable, int]]]
    constant: dict[str, int] = dataclasses.field(default_factory=dict)
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    assisted: Callable[[Callable[[Formulation, int, Mapping[str, Any]], Limited], int, int], Assistant] | None = None

    def __repr__(self) -> str:
        return short_repr(self, f"{type(self.model).__module__.partition('.')[0]} {type(self.model).__name__}")


@dataclasses.dataclass(frozen=True)
class Part:
    """Branch of a disjunction: a cheap bound on its plans, and a function that builds its model."""

    bound: int
    build: Callable[[], Formulation]


@dataclasses.dataclass(frozen=True)
class OneOf:
    """Disjunction: the best plan is the best of the parts and of `fallback`, a plan without a model."""

    parts: Sequence[Part]
    fallback: Plan | None = None


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of a solver: wall seconds, the backend's deterministic `work` (None for unlimited), and threads."""

    seconds: float | None = None
    work: float | None = None
    threads: int = 1
    seed: int = 0


#: Unlimited time and work.
NO_LIMITS = Limits()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Outcome of a solver: a plan or None, a bound on the optimum or None, and why it stopped.

    Attributes:
        status: Status of the search.
        plan: Best plan, or None.
        bound: Bound on the optimum, or None.
        stopped_by: Reason for the end of the search.
        work: Work by unit, in machine-independent measures (CP-SAT's deterministic time, HiGHS' simplex iterations and
            nodes, plans examined by brute force).
        doubt: Why a backend's proof is not accepted, or how the backend failed.
    """

    status: Status
    plan: Plan | None
    bound: int | float | None
    stopped_by: StoppedBy = "proof"
    work: dict[str, float] = dataclasses.field(default_factory=dict)
    doubt: str | None = None
