"""Linear models for solvers that compute in floats: an objective of several terms is minimised term by term.

A row with half a unit of slack fixes the value of each term before the next. Gaps are set such that "optimal" is exact
to the last integer. A bound is rounded to the integer that it proves. A status that is neither a proof nor a limit is
an error, never "infeasible". `highs.py`, `math_opt.py` and `pyomo_solver.py` provide the solvers.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from typing import Literal, Protocol

from mlsched.core.aliases import Array, Expression
from mlsched.core.contract import Plan, Sense
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.formulation import Formulation, Limits, Outcome, Status, StoppedBy, Term
from mlsched.solvers.backends.pyomo_matrix import LARGEST, Matrix, bounds_of
from mlsched.solvers.backends.second_opinion import Claim, Mixed, proved_twice, with_rows

#: Objectives are integers: an absolute gap below 1 proves the last one.
ABSOLUTE_GAP = 0.999
#: Allowed violation of a row of `fix`, which has half a unit of slack: a true violation is at least half a unit more.
_BEYOND = 0.25
#: Name of the deterministic measure in `Outcome.work` that `Limits.work` limits.
WORK = "nodes"


@dataclasses.dataclass(frozen=True)
class Stage:
    """One solve. ended: "optimal", "infeasible", the limit that ended it, or "doubt" if a second engine disagrees.

    bound: a proved lower bound. doubt: the engines' claims.
    """

    ended: str
    solution: Array | None
    value: int | None
    bound: int | None
    doubt: str | None = None


class Run(Protocol):
    """One formulation in a solver, solved for one term after another."""

    name: str
    work: Counter[str]
    matrix: Matrix
    limits: Limits
    deadline: Deadline

    def solve(self, term: Term, sign: int) -> Stage:
        """Minimise sign * term without its weight, which would only scale it."""

    def fix(self, term: Term, sign: int, value: int) -> None:
        """Restrict sign * term to at most `value` from now on; half a unit absorbs rounding."""

    def costs(self, expression: Expression) -> tuple[Array, float]:
        """Return the dense cost vector and the constant of a linear expression."""

    def decode(self, solution: Array) -> Plan:
        """Return the plan of a vector of column values."""


def minimise_terms(
    run: Run, formulation: Formulation, objective: str, sense: Sense, better_than: int | None = None
) -> Outcome:
    """Optimise an objective, one term after another; with `better_than`, only over plans with a better value."""
    sign = 1 if sense == "min" else -1
    terms = formulation.objectives[objective]
    # Pyomo folds an empty sum into a plain number: such a term is a constant.
    variable = [term for term in terms if not isinstance(term.expression, int)]
    constants = sum(term.weight * term.expression for term in terms if isinstance(term.expression, int))
    total = sign * (formulation.constant.get(objective, 0) + constants)
    plan = None
    rows = _Rows(run, sign)
    for index, term in enumerate(variable or [Term(1, 0)]):
        last = index + 1 >= len(variable)
        if better_than is not None and last:
            # The earlier terms are optimal: a better plan has a better last term.
            room = math.floor((sign * better_than - 1 - total) / term.weight)
            if not variable and room < 0:
                return Outcome("infeasible", None, None, "proof", dict(run.work))
            if variable:
                _refuse_wide(run, term)
                rows.fix(term, room)
        start_time = time.perf_counter()
        stage = run.solve(term, sign)
        rows.hold(stage)
        if stage.ended in ("optimal", "infeasible"):
            stage = _confirm_stage(run, stage, sign * term.expression, rows.fixed, time.perf_counter() - start_time)
        # Until its last term is bounded, a plan need not be better than `better_than`.
        if stage.solution is not None and (better_than is None or last):
            plan = run.decode(stage.solution)
        if stage.ended == "infeasible":
            return Outcome("infeasible", None, None, "proof", dict(run.work))
        if stage.ended == "doubt":
            status: Status = "unknown" if plan is None else "feasible"
            return Outcome(status, plan, None, "backend", dict(run.work), stage.doubt)
        if stage.ended != "optimal":
            # Later terms are >= 0: when minimising, the bound of this term bounds the sum, otherwise only the bound of
            # the last term.
            valid = sign == 1 or last
            bound = sign * (total + term.weight * stage.bound) if valid and stage.bound is not None else None
            reason: StoppedBy = "time limit" if stage.ended == "time limit" else "work limit"
            return Outcome("unknown" if plan is None else "feasible", plan, bound, reason, dict(run.work))
        assert stage.value is not None
        total += term.weight * stage.value
        if not last:
            rows.fix(term, stage.value)
    return Outcome("optimal", plan, sign * total, "proof", dict(run.work))


def _confirm_stage(
    run: Run, stage: Stage, expression: Expression, rows: list[tuple[Array, float]], seconds: float
) -> Stage:
    """Return the stage if another engine confirms a proof for a model with continuous columns; count its work."""
    lower, upper, integer = bounds_of(run.matrix.columns)
    if integer.all():
        return stage
    cost, constant = run.costs(expression)
    rows_of = run.matrix
    model = Mixed(
        cost,
        constant,
        lower,
        upper,
        integer,
        rows_of.starts,
        rows_of.indices,
        rows_of.values,
        rows_of.row_lower,
        rows_of.row_upper,
    )
    ending: Literal["optimal", "infeasible"] = "optimal" if stage.ended == "optimal" else "infeasible"
    first = Claim(run.name, ending, stage.value, stage.bound, stage.solution)
    limits = dataclasses.replace(run.limits, seconds=run.deadline.remaining())
    ruling = proved_twice(with_rows(model, rows), first, limits, seconds)
    run.work[WORK] += ruling.nodes
    if not ruling.doubt and ruling.claim is first:
        return stage
    solution, value = ruling.claim.solution, None if ruling.claim.solution is None else round(ruling.claim.value or 0.0)
    if ruling.doubt:
        return Stage(ruling.out_of or "doubt", solution, value, None, f"not proved: {ruling.doubt}")
    return Stage(ruling.claim.status, solution, value, value)


class _Rows:
    """The rows that bound objectives, and the check that solutions satisfy them.

    OR-Tools' SCIP treats a row parallel to the objective as a cutoff, and may then return, as "optimal", a solution
    beyond it. Judges cannot detect that: the plan is feasible, only not better than required.
    """

    def __init__(self, run: Run, sign: int) -> None:
        self.run, self.sign = run, sign
        #: A cost vector and its largest allowed value.
        self.fixed: list[tuple[Array, float]] = []

    def fix(self, term: Term, value: int) -> None:
        """Restrict the term to at most `value` from now on."""
        self.run.fix(term, self.sign, value)
        cost, constant = self.run.costs(self.sign * term.expression)
        self.fixed.append((cost, value + 0.5 - constant))

    def hold(self, stage: Stage) -> None:
        """Raise BackendError if the solution violates a row."""
        if stage.solution is None:
            return
        if any(cost @ stage.solution > most + _BEYOND for cost, most in self.fixed):
            raise BackendError(f"{self.run.name} returns a solution that breaks a row of the model")


def _refuse_wide(run: Run, term: Term) -> None:
    """Refuse to turn an objective into a row if floats cannot separate its values."""
    widest = abs(run.costs(term.expression)[0]).max(initial=0)
    if widest > LARGEST:
        raise InvalidInput(
            f"a coefficient of {widest:.3g} in the objective is beyond {LARGEST:.0e}: it cannot become a row"
        )
