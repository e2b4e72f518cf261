"""SCIP, and OR-Tools' own HiGHS: the solvers inside the OR-Tools wheel, for the models that HiGHS also accepts.

They come without a further dependency. SCIP is an independent engine. The other is HiGHS in another wrapper and
version. `staged.py` explains how an objective of several terms is minimised.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.core.aliases import BackendModel, BackendParameters, BackendResult, Data
from mlsched.core.contract import Plan, Sense
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError
from mlsched.core.fields import BoolArray, FloatArray
from mlsched.core.formulation import Formulation, Limits, Outcome, Term, safe_bound
from mlsched.core.interrupts import within_stopping
from mlsched.solvers.backends.interruptible import interruptible
from mlsched.solvers.backends.known_bugs.trust import believed
from mlsched.solvers.backends.one_of import check_hint
from mlsched.solvers.backends.pyomo_matrix import bounds_of, compile_model
from mlsched.solvers.backends.scip_process import Apart
from mlsched.solvers.backends.staged import ABSOLUTE_GAP, WORK, Stage, minimise_terms

#: The user's name of a solver -> its name in MathOpt.
NAMES = {"scip": "GSCIP", "ortools-highs": "HIGHS"}
#: See `solvers.BACKENDS`: 0.8 to 3.0 on models of 1,400 to 30,000 variables.
COMPILING = 2.5


def minimise(
    formulation: Formulation,
    objective: str,
    sense: Sense,
    limits: Limits,
    hint: Plan | None,
    better_than: int | None = None,
    *,
    solver: str = "scip",
) -> Outcome:
    """Minimise or maximise one objective of `formulation`, term by term.

    `limits.work` limits branch-and-bound nodes. With `better_than`, only plans with a better value count; "infeasible"
    then means that such a plan does not exist.
    """
    run = _Run(formulation, limits, hint, solver)
    outcome = minimise_terms(run, formulation, objective, sense, better_than)
    return believed(outcome, solver, run.matrix.features)


class _Run:
    """One formulation in a MathOpt solver, solved for one term after another."""

    def __init__(self, formulation: Formulation, limits: Limits, hint: Plan | None, solver: str) -> None:
        from ortools.math_opt.python import mathopt

        self.formulation, self.limits, self.name, self.mathopt = formulation, limits, solver, mathopt
        self.deadline = Deadline(limits.seconds)
        self.work: Counter[str] = Counter()
        self.matrix = compile_model(formulation.model)
        self.model, self.columns = model_of(self.matrix, *bounds_of(self.matrix.columns))
        self.hints = [] if hint is None else [self._solution_hints(hint)]

    def _solution_hints(self, hint: Plan) -> Any:
        pairs = self.formulation.encode(hint)
        check_hint(pairs)
        values = {self.columns[self.matrix.position[id(v)]]: float(value) for v, value in pairs}
        return self.mathopt.SolutionHint(variable_values=values)

    def costs(self, expression: Any) -> tuple[FloatArray, float]:
        """Return the dense cost vector and the constant of a linear expression."""
        return self.matrix.costs(expression)

    def solve(self, term: Term, sign: int) -> Stage:
        """Minimise sign * term without its weight, which would only scale it."""
        cost, constant = self.costs(sign * term.expression)
        self.model.minimize(self._linear_expression(cost) + constant)
        remaining = dataclasses.replace(self.limits, seconds=self.deadline.remaining())
        result = solve(self.model, self.name, remaining, hints=self.hints)
        self.work[WORK] += max(0, result.solve_stats.node_count)
        self.work["simplex_iterations"] += max(0, result.solve_stats.simplex_iterations)
        return self._read_stage(result)

    def _read_stage(self, result: BackendResult) -> Stage:
        reasons, why = self.mathopt.TerminationReason, result.termination
        proof = {reasons.OPTIMAL: "optimal", reasons.INFEASIBLE: "infeasible"}
        if why.reason in proof:
            ending = proof[why.reason]
        elif why.reason in (reasons.FEASIBLE, reasons.NO_SOLUTION_FOUND):
            limits = (self.mathopt.Limit.TIME, self.mathopt.Limit.INTERRUPTED)
            ending = "time limit" if why.limit in limits else "work limit"
        else:
            raise BackendError(f"{self.name} ended with {why.reason.name}: neither a proof nor a limit ({why.detail})")
        if not result.has_primal_feasible_solution():
            if ending == "optimal":
                raise BackendError(f"{self.name} reports a proof without a solution")
            return Stage(ending, None, None, safe_bound(why.objective_bounds.dual_bound))
        values = result.variable_values()
        solution = np.array([values[column] for column in self.columns])
        value = round(result.objective_value())
        return Stage(
            ending, solution, value, value if ending == "optimal" else safe_bound(why.objective_bounds.dual_bound)
        )

    def fix(self, term: Term, sign: int, value: int) -> None:
        """Restrict sign * term to at most `value` from now on; half a unit absorbs rounding."""
        cost, constant = self.costs(sign * term.expression)
        self.model.add_linear_constraint(self._linear_expression(cost) <= value + 0.5 - constant)

    def _linear_expression(self, cost: FloatArray) -> Any:
        return self.mathopt.LinearSum(float(cost[i]) * self.columns[i] for i in np.flatnonzero(cost).tolist())

    def decode(self, solution: FloatArray) -> Plan:
        """Return the plan of a vector of column values."""
        return self.formulation.decode(lambda variable: round(solution[self.matrix.position[id(variable)]]))


def solve(
    model: BackendModel, name: str, limits: Limits, *, hints: Sequence[Any] = (), gap: float = ABSOLUTE_GAP
) -> BackendResult:
    """Solve a model with one MathOpt solver, within limits and up to an absolute gap; return MathOpt's result."""
    from ortools.math_opt.python import mathopt
    from ortools.util.python.solve_interrupter import SolveInterrupter  # type: ignore[import-untyped]

    allocation: Data = {"absolute_gap_tolerance": gap, "relative_gap_tolerance": 0.0}
    allocation["random_seed"] = limits.seed % 2**31
    if name == "scip":
        # OR-Tools sets HiGHS' threads for the complete process.
        allocation["threads"] = limits.threads
        allocation["gscip"] = _scip_parameters()
    if limits.seconds is not None:
        allocation["time_limit"] = datetime.timedelta(seconds=max(0.001, limits.seconds))
    if limits.work is not None:
        allocation["node_limit"] = max(1, round(limits.work))
    parameters = mathopt.SolveParameters(**allocation)
    # OR-Tools 9.15 raises RuntimeError for models and parameters that a MathOpt solver refuses, and AttributeError if
    # it cannot create one.
    try:
        if name == "scip" and within_stopping():
            apart = Apart(model, parameters, [hint.variable_values for hint in hints])
            return interruptible(apart.run, apart.stop)
        interrupter = None if name == "scip" else SolveInterrupter()

        def search() -> BackendResult:
            return mathopt.solve(
                model,
                mathopt.SolverType[NAMES[name]],
                params=parameters,
                model_params=mathopt.ModelSolveParameters(solution_hints=list(hints)),
                interrupter=interrupter,
            )

        # In Python, outside the command line, Ctrl-C waits for SCIP: starting a separate process takes half a second.
        return search() if interrupter is None else interruptible(search, interrupter.interrupt)
    except (RuntimeError, AttributeError) as error:
        raise BackendError(f"{name}: OR-Tools refuses the model: {error.__context__ or error}") from None


def model_of(matrix: Any, low: FloatArray, high: FloatArray, integer: BoolArray) -> tuple[Any, list[Any]]:
    """Return a MathOpt model with the rows of a matrix and columns with these bounds and types, and its variables."""
    from ortools.math_opt.python import mathopt

    model = mathopt.Model()
    columns = [
        model.add_variable(lb=a, ub=b, is_integer=whole)
        for a, b, whole in zip(low.tolist(), high.tolist(), integer.tolist(), strict=True)
    ]
    rows = [
        model.add_linear_constraint(lb=a, ub=b)
        for a, b in zip(matrix.row_lower.tolist(), matrix.row_upper.tolist(), strict=True)
    ]
    starts, indices, values = matrix.starts.tolist(), matrix.indices.tolist(), matrix.values.tolist()
    for j, column in enumerate(columns):
        for k in range(starts[j], starts[j + 1]):
            rows[indices[k]].set_coefficient(column, values[k])
    return model, columns


def _scip_parameters() -> BackendParameters:
    """Return SCIP's parameters with the tolerance of HiGHS: SCIP's 1e-6 is too large for large coefficients."""
    from ortools.math_opt.solvers.gscip import gscip_pb2

    return gscip_pb2.GScipParameters(real_params={"numerics/feastol": 1e-9})


__all__ = ["NAMES", "WORK", "minimise", "model_of", "solve"]
