"""Placement by CP-SAT: the configuration model, with LP bounds in exact integers."""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError
from mlsched.core.fields import ints
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.formulations.placement._cp_sat_master import model
from mlsched.formulations.placement._master import Master
from mlsched.instances.placement import Instance, Plan
from mlsched.solvers.backends.interruptible import interruptible
from mlsched.solvers.backends.limits import WORK, until, within
from mlsched.solvers.placement._from_the_top import MasterAnswer, check_size, prove


@exact_algorithm("cp-sat", problem="placement", objectives=("total_speed",), takes_hint=True, information="oracle")
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Server configurations: LP bounds, reduced-cost fixing; few that remain are assembled, CP-SAT gets more."""
    check_size(instance)
    return prove(instance, limits, hint, solve, assembling=True)


def solve(master: Master, above: int, limits: Limits) -> MasterAnswer:
    """Solve the integer master by CP-SAT; the limits include building its model."""
    from ortools.sat.python import cp_model

    deadline = Deadline(limits.seconds)
    cp, use, _ = model(master, above)
    solver = within(until(deadline, limits))
    status = interruptible(lambda: solver.solve(cp), solver.stop_search)
    work = {WORK: solver.response_proto.deterministic_time, "solves": 1}
    if status == cp_model.MODEL_INVALID:
        raise BackendError(f"cp-sat calls the model invalid: {cp.validate()}")
    if status == cp_model.INFEASIBLE:
        return MasterAnswer("infeasible", None, None, work)
    if status == cp_model.UNKNOWN:
        return MasterAnswer("limit", None, None, work)
    selection = ints(solver.value(v) for v in use)
    ending = "optimal" if status == cp_model.OPTIMAL else "limit"
    return MasterAnswer(ending, selection, round(np.floor(solver.best_objective_bound + 1e-6)), work)  # type: ignore[arg-type]
