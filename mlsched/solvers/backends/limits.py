"""CP-SAT within limits, for `backends/cp_sat.py` and for the algorithms that start CP-SAT themselves."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.formulation import Limits, StoppedBy

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Name of CP-SAT's deterministic measure in `Outcome.work`, which `Limits.work` limits.
WORK = "deterministic_time"


def until(deadline: Deadline, limits: Limits) -> Limits:
    """Return the limits with the time that remains until the deadline, at least a moment, as solvers require."""
    return dataclasses.replace(limits, seconds=deadline.remaining(MOMENT))


def within(limits: Limits) -> cp_model.CpSolver:
    """Return a solver with these limits."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = limits.threads
    # Ctrl-C must interrupt the program. CP-SAT would end early and return normally.
    solver.parameters.catch_sigint_signal = False
    solver.parameters.random_seed = limits.seed % 2**31
    # Disable a family of presolve rules with which CP-SAT 9.15 certified an optimum 34 % off (google/or-tools issue
    # 5293).
    solver.parameters.presolve_inclusion_work_limit = 0
    if limits.seconds is not None:
        solver.parameters.max_time_in_seconds = limits.seconds
    if limits.work is not None:
        solver.parameters.max_deterministic_time = limits.work
    return solver


#: CP-SAT's strategies for the full problem, the most useful for schedules first. CP-SAT uses one per thread; in its
#: own order, core-guided search is so late that it runs only with many threads.
CORE_FIRST = ("core", "reduced_costs", "default_lp", "quick_restart", "no_lp", "objective_lb_search")


def stopped_by(proved: bool, limits: Limits, work: dict[str, float]) -> StoppedBy:
    """Return why a solve that spent `work` ended."""
    if proved:
        return "proof"
    if limits.work is not None and work[WORK] >= limits.work:
        return "work limit"
    return "time limit" if limits.seconds is not None else "backend"
