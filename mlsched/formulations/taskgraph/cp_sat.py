"""The task level by CP-SAT: the reference that all other answers are measured against.

total_jct is hard because its bound is weak. It is answered in steps that share the limits: combinatorial bounds; an
incumbent by serial schedule generation; the linear relaxation (`_relaxation`), whose bound becomes a row and whose
reduced costs narrow the windows; then CP-SAT from the incumbent, on plans at least as good. The other objectives go to
the model at once.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Formulation, Limits, Outcome
from mlsched.core.registry import answerer
from mlsched.formulations._cp_solver import WORK, stopped_by, within
from mlsched.formulations.taskgraph._bounds import packed, pools, total_completion_bound
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import Relaxed, relax
from mlsched.formulations.taskgraph._schedule import search
from mlsched.instances.taskgraph import Instance, Timetable

OBJECTIVES = ("total_jct", "deadlines_met", "traffic", "accuracy_met", "total_accuracy", "makespan")
#: Schedules that are generated for an incumbent, a run of the instance each, and the share of the time they may take.
DECODINGS, DECODING_SHARE = 60, 0.1
#: Share of the time that the linear relaxation may take.
RELAXATION_SHARE = 0.3


def build(instance: Instance, *, objectives: tuple[str, ...]) -> Formulation:
    """The model of several objectives, for fronts."""
    return model(Layout(instance), objectives)


@answerer("cp-sat", problem="taskgraph", backend="direct", objectives=OBJECTIVES, model=("cp-sat", build))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Timetable | None = None) -> Outcome:
    """Where and when each task runs, and how many iterations: CP-SAT, with a linear relaxation for total_jct."""
    started = time.perf_counter()
    layout = Layout(instance)
    if objective == "total_jct":
        return _total_jct(layout, limits, hint, started)
    upper = instance.evaluate(hint)["makespan"] if hint is not None and objective == "makespan" else None
    return solve(model(layout, (objective,), upper), instance, objective, _left(limits, started), hint)


def _total_jct(layout: Layout, limits: Limits, hint: Timetable | None, started: float) -> Outcome:
    instance = layout.instance
    shared = pools(layout) + packed(layout)
    known = len(shared)
    least = total_completion_bound(layout, shared)
    bound = least - sum(layout.arrival)
    best, work = hint, {}
    upper = None if best is None else _value(instance, best)
    if upper is None or bound < upper:
        runs = sum((layout.least[j] - layout.first[j]) * len(layout.tasks_of[j]) for j in range(layout.jobs))
        until = None if limits.seconds is None else started + DECODING_SHARE * limits.seconds
        found, decodings = search(layout, DECODINGS * runs, limits.seed, until, least)
        work["decodings"] = float(decodings)
        if found is not None and (upper is None or _value(instance, found) < upper):
            best, upper = found, _value(instance, found)
    if layout.reason is None and upper is not None and bound < upper:
        relaxed = _relaxed(layout, shared, upper, limits, started)
        if relaxed is not None:
            bound = max(bound, min(relaxed.bound, upper))
    else:
        relaxed = None
    if upper is not None and bound >= upper:
        return Outcome("optimal", best, upper, "proof", work)
    made = model(layout, ("total_jct",), upper, bound if layout.reason is None else None, relaxed, shared[known:])
    outcome = solve(made, instance, "total_jct", _left(limits, started), best)
    return _combined(outcome, best, upper, bound, {**work, **outcome.work})


def _combined(
    outcome: Outcome, best: Timetable | None, upper: int | None, bound: int, work: dict[str, float]
) -> Outcome:
    """CP-SAT's outcome together with what was known before it."""
    if outcome.status == "infeasible":
        if upper is not None:
            raise SolverError(f"cp-sat finds no plan of total_jct {upper}, which a plan attains")
        return dataclasses.replace(outcome, work=work)
    if outcome.status == "optimal":
        return dataclasses.replace(outcome, work=work)
    plan = best if outcome.plan is None else outcome.plan
    known = bound if outcome.bound is None else max(bound, round(outcome.bound))
    return Outcome("unknown" if plan is None else "feasible", plan, known, outcome.stopped_by, work)


def _relaxed(layout: Layout, shared: list[Any], upper: int, limits: Limits, started: float) -> Relaxed | None:
    seconds = None
    if limits.seconds is not None:
        left = limits.seconds - (time.perf_counter() - started)
        seconds = max(0.01, min(RELAXATION_SHARE * limits.seconds, left))
    return relax(layout, shared, upper, seconds, limits.threads)


def _value(instance: Instance, plan: Timetable) -> int:
    return instance.evaluate(plan)["total_jct"]


def _left(limits: Limits, started: float) -> Limits:
    """What is left of the limits."""
    if limits.seconds is None:
        return limits
    return dataclasses.replace(limits, seconds=max(0.001, limits.seconds - (time.perf_counter() - started)))


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
