"""One task-level model by CP-SAT, as it is."""

from __future__ import annotations

from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation, Limits, Outcome
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.backends.limits import WORK, stopped_by, within


def solve(made: Formulation, instance: Instance, objective: str, limits: Limits, hint: Timetable | None) -> Outcome:
    """One model by CP-SAT within limits, from a hint."""
    from ortools.sat.python import cp_model

    cp, sense = made.model, instance.objective(objective).sense
    expression = sum(term.weight * term.expression for term in made.objectives[objective])
    if sense == "min":
        cp.minimize(expression)
    else:
        cp.maximize(expression)
    if hint is not None:
        for variable, value in made.encode(hint):
            cp.add_hint(variable, value)
    solver = within(limits)
    status = solver.solve(cp)
    work = {WORK: float(solver.response_proto.deterministic_time)}
    if status == cp_model.MODEL_INVALID:
        raise SolverError(f"cp-sat calls the model invalid: {cp.validate()}")
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, None, "proof", work)
    stopped = stopped_by(status == cp_model.OPTIMAL, limits, work)
    constant = made.constant.get(objective, 0)
    if status == cp_model.UNKNOWN:
        # A bound without a solution is not reported: CP-SAT's response holds 0 where it has none.
        return Outcome("unknown" if hint is None else "feasible", hint, None, stopped, work)
    # best_objective_bound is a double that holds an integer exactly up to 2^53, which instances guarantee.
    bound = round(solver.best_objective_bound) + constant
    plan: Any = made.decode(lambda variable: int(solver.value(variable)))
    return Outcome("optimal" if status == cp_model.OPTIMAL else "feasible", plan, bound, stopped, work)
