"""CP-SAT: run a formulation to proven optimality, or to its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Plan, Sense
from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation, Limits, Outcome, StoppedBy
from mlsched.solvers._minimise import check_hint

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Name of the deterministic measure in `Outcome.work`.
WORK = "deterministic_time"


def minimise(formulation: Formulation, objective: str, sense: Sense, limits: Limits, hint: Plan | None) -> Outcome:
    """Optimise one objective of `formulation`.

    With threads=1 and no wall-clock limit the answer depends on the seed alone; `limits.work` is CP-SAT's
    deterministic time.
    """
    from ortools.sat.python import cp_model

    model = formulation.model
    expression = sum(term.weight * term.expression for term in formulation.objectives[objective])
    _set_objective(model, expression, sense)
    model.clear_hints()
    if hint is not None:
        pairs = formulation.encode(hint)
        check_hint(pairs)
        for variable, value in pairs:
            model.add_hint(variable, value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = limits.threads
    # Ctrl-C must interrupt the program, not end this solve early and pass for a result.
    solver.parameters.catch_sigint_signal = False
    solver.parameters.random_seed = limits.seed % 2**31
    if limits.seconds is not None:
        solver.parameters.max_time_in_seconds = limits.seconds
    if limits.work is not None:
        solver.parameters.max_deterministic_time = limits.work
    status = solver.solve(model)
    constant = formulation.constant.get(objective, 0)
    work = {WORK: solver.response_proto.deterministic_time}
    return _outcome(solver, status, formulation, constant, limits, work)


def _set_objective(model: Any, expression: Any, sense: Sense) -> None:
    if sense == "min":
        model.minimize(expression)
    else:
        model.maximize(expression)


def _outcome(
    solver: cp_model.CpSolver,
    status: Any,
    formulation: Formulation,
    constant: int,
    limits: Limits,
    work: dict[str, float],
) -> Outcome:
    from ortools.sat.python import cp_model

    if status == cp_model.MODEL_INVALID:
        raise SolverError(f"cp-sat calls the model invalid: {formulation.model.validate()}")
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, None, "proof", work)
    stopped: StoppedBy = "proof"
    if status != cp_model.OPTIMAL:
        spent = limits.work is not None and work[WORK] >= limits.work
        stopped = "work limit" if spent else "time limit" if limits.seconds is not None else "backend"
    if status == cp_model.UNKNOWN:
        return Outcome("unknown", None, None, stopped, work)
    # best_objective_bound is a double that holds an integer exactly up to 2^53, which instances guarantee.
    bound = round(solver.best_objective_bound) + constant
    plan = formulation.decode(lambda variable: solver.value(variable))
    return Outcome("optimal" if status == cp_model.OPTIMAL else "feasible", plan, bound, stopped, work)
