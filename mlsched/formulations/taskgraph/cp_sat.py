"""The task level by CP-SAT: the reference that all other answers are measured against.

total_jct is hard because its bound is weak; it is answered in steps (`_total_jct`). The other objectives go to the
model at once.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation, Limits, Outcome
from mlsched.core.registry import answerer
from mlsched.formulations._cp_solver import WORK, stopped_by, within
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._total_jct import total_jct
from mlsched.instances.taskgraph import Instance, Timetable

OBJECTIVES = ("total_jct", "deadlines_met", "traffic", "accuracy_met", "total_accuracy", "makespan")


def build(instance: Instance, *, objectives: tuple[str, ...]) -> Formulation:
    """The model of several objectives, for fronts."""
    return model(Layout(instance), objectives)


@answerer("cp-sat", problem="taskgraph", backend="direct", objectives=OBJECTIVES, model=("cp-sat", build))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Timetable | None = None) -> Outcome:
    """Where and when each task runs, and how many iterations: CP-SAT, with a linear relaxation for total_jct."""
    started = time.perf_counter()
    if objective == "total_jct":
        return total_jct(instance, limits, hint, started)
    layout = Layout(instance)
    upper = instance.evaluate(hint)["makespan"] if hint is not None and objective == "makespan" else None
    made = model(layout, (objective,), upper)
    if limits.seconds is not None:
        limits = dataclasses.replace(limits, seconds=max(1e-3, limits.seconds - (time.perf_counter() - started)))
    return _solve(made, instance, objective, limits, hint)


def _solve(made: Formulation, instance: Instance, objective: str, limits: Limits, hint: Timetable | None) -> Outcome:
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
