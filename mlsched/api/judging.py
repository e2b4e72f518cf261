"""Judging of outcomes: every value is recomputed and compared with the bound."""

from __future__ import annotations

from mlsched.core.contract import Instance
from mlsched.core.errors import SolverError
from mlsched.core.formulation import Outcome
from mlsched.core.request import Request, resolve_objective
from mlsched.core.result import Result, relative_gap
from mlsched.core.versions import versions


def refutes(instance: Instance, objective: str, value: float, bound: float, *, exact: bool = False) -> bool:
    """Return whether a plan's value is better than a bound, or with `exact` differs from it, beyond the tolerance."""
    excess = bound - value if instance.objective(objective).sense == "min" else value - bound
    slack = instance.tolerance * max(1, abs(value), abs(bound))
    return not excess <= slack or (exact and abs(excess) > slack)  # NaN is not a bound


def judged(request: Request, outcome: Outcome, seconds: float) -> Result:
    """Return the Result of an outcome, with values from the judge; raise SolverError if they refute the outcome."""
    instance, solver, objective = request.instance, request.solver, request.objective
    goal = resolve_objective(instance, objective)
    values = value = gap = None
    if (outcome.plan is None) != (outcome.status in ("infeasible", "unknown")):
        raise SolverError(f"{solver.name} returned {'no' if outcome.plan is None else 'a'} plan and '{outcome.status}'")
    if outcome.status == "optimal" and outcome.bound is None:
        raise SolverError(f"{solver.name} claims an optimum without a bound")
    if outcome.plan is not None:
        if faults := instance.violations(outcome.plan):
            raise SolverError(f"{solver.name} returned an infeasible plan: {faults[0]}")
        values = instance.evaluate(outcome.plan)
        value = values.get(objective)
    if value is not None and outcome.bound is not None:
        if refutes(instance, objective, value, outcome.bound, exact=outcome.status == "optimal"):
            raise SolverError(
                f"{solver.name}: its bound {outcome.bound} contradicts the judge's {objective} = {value} "
                "of its own plan"
            )
        gap = relative_gap(value, outcome.bound)
    return Result(
        instance_hash=instance.hash,
        problem=instance.problem,
        solver=solver.name,
        objective=objective,
        sense=goal.sense,
        unit=goal.unit,
        primary=instance.primary(objective),
        params=dict(request.params),
        seed=request.limits.seed,
        plan=outcome.plan,
        sort_keys=values,
        sort_key=value,
        sort_bound=outcome.bound,
        gap=gap,
        status=outcome.status,
        stopped_by=outcome.stopped_by if solver.rule is None else None,
        seconds=seconds,
        work=outcome.work,
        versions=versions(),
        evidence="unconfirmed" if solver.rule is None and outcome.status in ("optimal", "infeasible") else None,
        doubt=outcome.doubt,
        values=None if values is None else instance.values(values),
        instance=instance,
    )
