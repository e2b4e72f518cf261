"""An exact solver of my own: the complete model, solved by HiGHS or Gurobi within the limits of the call."""

import math

import mlsched
from mlsched.solvers import Limits, Outcome

#: Engine -> its class in `pyomo.contrib.appsi.solvers`, its option for the relative gap, and that for threads.
ENGINES = {"highs": ("Highs", "mip_rel_gap", "threads"), "gurobi": ("Gurobi", "MIPGap", "Threads")}
OBJECTIVES = ("total_score", "victim_count", "max_grace_period")


@mlsched.solver("my-exact", problem="preemption", kind="exact", backend="direct", engine="highs", objectives=OBJECTIVES)
def answer(instance, *, objective, limits: Limits, engine: str = "highs") -> Outcome:
    """Solve the complete model with HiGHS or Gurobi."""
    from pyomo.contrib.appsi import base, solvers

    model = mlsched.model(instance, objective)
    name, gap, threads = ENGINES[engine]
    solver = getattr(solvers, name)()
    getattr(solver, f"{engine}_options").update({gap: 0.0, threads: limits.threads})
    solver.config.time_limit = limits.seconds
    solver.config.load_solution = False
    found = solver.solve(model.pyomo)
    if found.termination_condition == base.TerminationCondition.infeasible:
        return Outcome("infeasible", None, None)
    proved = found.termination_condition == base.TerminationCondition.optimal
    bound = integer_bound(found.best_objective_bound, instance.objective(objective).sense)
    if found.best_feasible_objective is None:
        return Outcome("unknown", None, bound, "time limit")
    found.solution_loader.load_vars()
    result = mlsched.plan_from(model)
    if proved:
        return Outcome("optimal", result.plan, result.sort_key)
    return Outcome("feasible", result.plan, bound, "time limit")


def integer_bound(bound, sense):
    """Round a bound in floats to the integer that it proves; None if nothing is proved."""
    if bound is None or not math.isfinite(bound):
        return None
    slack = 1e-6 * max(1.0, abs(bound))
    return math.ceil(bound - slack) if sense == "min" else math.floor(bound + slack)


if __name__ == "__main__":
    instance = mlsched.generate("preemption", preset="small", seed=1)
    for solver in (answer, "cp-sat", "highs"):
        result = mlsched.solve(instance, solver, objective="total_score", time_limit=60)
        print(result.solver, result.status, result.sort_key, result.sort_bound)
