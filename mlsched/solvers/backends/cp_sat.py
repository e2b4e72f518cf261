"""CP-SAT: solve a formulation to proven optimality, or until a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.aliases import BackendResult
from mlsched.core.contract import Plan, Sense
from mlsched.core.errors import BackendError
from mlsched.core.formulation import Formulation, Limits, Outcome
from mlsched.solvers.backends.interruptible import interruptible
from mlsched.solvers.backends.known_bugs.models import Feature, features_of
from mlsched.solvers.backends.known_bugs.trust import believed
from mlsched.solvers.backends.limits import WORK, stopped_by, within
from mlsched.solvers.backends.one_of import check_hint

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: See `solvers.BACKENDS`: CP-SAT reads its models directly.
COMPILING = 0.0


def minimise(
    formulation: Formulation,
    objective: str,
    sense: Sense,
    limits: Limits,
    hint: Plan | None,
    better_than: int | None = None,
) -> Outcome:
    """Minimise or maximise one objective of `formulation`; with `better_than`, only over plans with a better value.

    With threads=1 and without a wall-clock limit the answer depends only on the seed. `limits.work` is CP-SAT's
    deterministic time.
    """

    model = formulation.model
    expression = sum(term.weight * term.expression for term in formulation.objectives[objective])
    constant = formulation.constant.get(objective, 0)
    if better_than is not None:
        within_reach = expression < better_than - constant if sense == "min" else expression > better_than - constant
        model.add(within_reach)
    (model.minimize if sense == "min" else model.maximize)(expression)
    model.clear_hints()
    if hint is not None:
        pairs = formulation.encode(hint)
        check_hint(pairs)
        for variable, value in pairs:
            model.add_hint(variable, value)
    solver = within(limits)
    for name, parameters in formulation.parameters.items():
        setattr(solver.parameters, name, parameters)
    status = interruptible(lambda: solver.solve(model), solver.stop_search)
    work = {WORK: solver.response_proto.deterministic_time}
    outcome = _outcome_of_status(solver, status, formulation, constant, limits, work)
    return believed(outcome, "cp-sat", lambda: features(model))


def features(model: Any) -> frozenset[Feature]:
    """Return the features of a model about which CP-SAT may be wrong."""
    ends = [(v.domain[0], v.domain[-1]) for v in model.proto.variables]
    rows = [c.linear for c in model.proto.constraints if c.has_linear()]
    numbers = [float(x) for row in rows for x in (*row.coeffs, *row.domain) if abs(x) < 2**62]
    low, high = [float(a) for a, _ in ends], [float(b) for _, b in ends]
    return features_of(low, high, [True] * len(ends), numbers)


def _outcome_of_status(
    solver: cp_model.CpSolver,
    status: BackendResult,
    formulation: Formulation,
    constant: int,
    limits: Limits,
    work: dict[str, float],
) -> Outcome:
    from ortools.sat.python import cp_model

    if status == cp_model.MODEL_INVALID:
        raise BackendError(f"cp-sat calls the model invalid: {formulation.model.validate()}")
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, None, "proof", work)
    reason = stopped_by(status == cp_model.OPTIMAL, limits, work)
    if status == cp_model.UNKNOWN:
        return Outcome("unknown", None, None, reason, work)
    # best_objective_bound is a double that holds an integer exactly up to 2^53, which instances guarantee.
    bound = round(solver.best_objective_bound) + constant
    plan = formulation.decode(lambda variable: solver.value(variable))
    return Outcome("optimal" if status == cp_model.OPTIMAL else "feasible", plan, bound, reason, work)
