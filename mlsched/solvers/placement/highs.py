"""Placement by HiGHS: the same configuration model as a MIP, its proofs confirmed by CP-SAT."""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, Contradiction
from mlsched.core.formulation import Limits, Outcome, safe_bound
from mlsched.core.registry import exact_algorithm
from mlsched.formulations.placement._linear import highs_model
from mlsched.formulations.placement._master import Master
from mlsched.instances.placement import Instance, Plan
from mlsched.solvers.backends.highs import run
from mlsched.solvers.backends.limits import until
from mlsched.solvers.placement import cp_sat
from mlsched.solvers.placement._from_the_top import MasterAnswer, check_size, prove


@exact_algorithm("highs", problem="placement", objectives=("total_speed",), takes_hint=True, information="oracle")
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Server configurations: LP bounds, reduced-cost fixing, HiGHS on what remains; CP-SAT checks."""
    check_size(instance)
    return prove(instance, limits, hint, checked)


def checked(master: Master, above: int, limits: Limits) -> MasterAnswer:
    """Solve the integer master by HiGHS; CP-SAT must confirm the optimum.

    HiGHS starts without a plan: with one it has claimed optimality in a single node, 3.5 % below the optimum.
    """
    deadline = Deadline(limits.seconds)
    answer = solve(master, above, limits)
    if answer.status == "limit":
        return answer
    value = above
    if answer.use is not None:
        assert answer.bound is not None
        value = answer.bound
    second = cp_sat.solve(master, value, until(deadline, limits))
    work = {**answer.work, "confirmations": 1}
    if second.status == "infeasible":
        return MasterAnswer(answer.status, answer.use, answer.bound, work)
    if second.use is not None:
        raise Contradiction(f"highs claims that the optimum is {value}, cp-sat found better")
    return MasterAnswer("limit", answer.use, second.bound, work)


def solve(master: Master, above: int, limits: Limits) -> MasterAnswer:
    """Solve the integer master by HiGHS without confirmation; the limits include building its model."""
    import highspy

    deadline = Deadline(limits.seconds)
    highs = highspy.Highs()
    # Without this reset, a second number of threads in one process ends in kNotset, without any solution.
    highspy.Highs.resetGlobalScheduler(True)
    options = {
        "output_flag": False,
        "threads": limits.threads,
        "random_seed": limits.seed % 2**31,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.999,
        "mip_feasibility_tolerance": 1e-9,
    }
    if limits.work is not None:
        options["mip_max_nodes"] = max(1, round(limits.work))
    for name, option in options.items():
        highs.setOptionValue(name, option)
    lp, _ = highs_model(master)
    configurations, cuts = len(master.table), len(master.cuts.job)
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[i < configurations + cuts] for i in range(lp.num_col_)]
    highs.passModel(lp)
    # Only plans above T: total speed >= above + 1/2, objectives being integers.
    columns = np.arange(configurations, configurations + cuts, dtype=np.int32)
    highs.addRow(above + 0.5, np.inf, cuts, columns, master.cuts.speed.astype(np.float64))
    if limits.seconds is not None:
        highs.setOptionValue("time_limit", until(deadline, limits).seconds)
    run(highs)
    return _read(highs, configurations, limits)


def _read(highs: object, configurations: int, limits: Limits) -> MasterAnswer:
    import highspy

    status, info = highs.getModelStatus(), highs.getInfo()  # type: ignore[attr-defined]
    work = {
        "nodes": float(max(0, info.mip_node_count)),
        "simplex_iterations": float(info.simplex_iteration_count),
        "solves": 1.0,
    }
    if status == highspy.HighsModelStatus.kInfeasible:
        return MasterAnswer("infeasible", None, None, work)
    limit = status in (
        highspy.HighsModelStatus.kTimeLimit,
        highspy.HighsModelStatus.kSolutionLimit,
        highspy.HighsModelStatus.kIterationLimit,
    )
    if not limit and status != highspy.HighsModelStatus.kOptimal:
        raise BackendError(f"highs ended with {status.name}: neither a proof nor a limit")
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if not feasible and not limit:
        raise BackendError("highs reports a proof without a solution")
    use = None
    if feasible:
        use = np.rint(np.asarray(highs.getSolution().col_value)[:configurations]).astype(np.int64)  # type: ignore[attr-defined]
    if not limit:
        return MasterAnswer("optimal", use, round(-info.objective_function_value), work)
    # HiGHS minimises -speed: its lower bound, negated, is an upper bound on the speed.
    lower_bound = safe_bound(info.mip_dual_bound)
    return MasterAnswer("limit", use, None if lower_bound is None else -lower_bound, work)
