"""Call of an exact solver: its warm start, its search, and the plan and bound if it stops early."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from mlsched.api.calls import call_solver
from mlsched.api.guard import is_foreign
from mlsched.api.judging import refutes
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput, SolverError, with_article
from mlsched.core.formulation import Outcome
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.request import Request

#: Share of the time limit for one search for a start, and the share that always remains for the solver.
START_SHARE, SOLVE_SHARE = 0.3, 0.01
#: Statuses of an exact solver that stopped before it proved the best value.
UNPROVED = ("feasible", "unknown")


def solve_exactly(request: Request, call: Callable[[Request], Outcome], hint: Plan | str | None = None) -> Outcome:
    """Call an exact solver from the best known plan.

    mlsched's own solvers return an outcome at least as good as that plan. A foreign solver is always called, and its
    own plan is the answer: the known plan is only offered as its start, and compared with its bound.

    Args:
        request: The solver, its settings and the instance.
        call: Runs the solver, in this process or in another one.
        hint: A plan to start from, "none" for a cold start, or None for the warm-start rules.

    Returns:
        The outcome: the solver's own plan if it is foreign, otherwise the better of its plan and the start.

    Raises:
        InvalidInput: The hint is not a feasible plan.
        SolverError: The start is better than the solver's bound.
        BackendError: The backend failed, and a plan is not known.
    """
    values, foreign = Values(request), is_foreign(request.solver)
    warm_request = start_within(request, hint, values)
    if not foreign and (outcome := _at_trivial_bound(warm_request, values)) is not None:
        return outcome
    cold = request.optimises and hint != "none" and not request.solver.starts_warm(request.instance, request.objective)
    start = warm_request.start
    try:
        outcome = call(warm_request)
    except BackendError as error:
        if foreign:
            raise
        if cold:
            start = _unsearched_start(request, start, values)
        outcome = _without_backend(request, start, error)
    else:
        if cold and outcome.status in UNPROVED and (not foreign or outcome.bound is not None):
            start = _unsearched_start(request, start, values)
        if outcome.status in UNPROVED:
            _check_bound(request, start, outcome, values)
    return with_incumbent(request, None if foreign else start, outcome, values)


class Values:
    """The values of the plans of one call, and its trivial bound; each is computed once."""

    def __init__(self, request: Request) -> None:
        self._instance, self._objective = request.instance, request.objective
        self._known: dict[int, tuple[Plan, int]] = {}  # a plan that is kept keeps its id
        self._rules: dict[int, str] = {}

    def name_rule(self, plan: Plan, rule: str) -> None:
        """Record the rule that returned a plan."""
        self._rules.setdefault(id(plan), rule)
        self.of(plan)

    def source(self, plan: Plan) -> str:
        """Describe the source of a start: its rule, or the caller's hint."""
        return f"the plan of {self._rules[id(plan)]}" if id(plan) in self._rules else "the hint"

    def of(self, plan: Plan) -> int:
        """Return the value of a plan; InvalidInput if the plan is malformed."""
        if id(plan) not in self._known:
            self._known[id(plan)] = plan, self._instance.evaluate(plan)[self._objective]
        return self._known[id(plan)][1]

    def best(self, plans: list[Plan]) -> Plan | None:
        """Return the best plan, the first of equal ones; None for an empty list."""
        best = min if self._instance.objective(self._objective).sense == "min" else max
        return best(plans, key=self.of, default=None)

    @functools.cached_property
    def bound(self) -> int | None:
        """Return the problem's trivial bound (`trivial_bound`)."""
        return trivial_bound(self._instance, self._objective)


# -- before the search ------------------------------------------------------------------------------------------------


def start_within(request: Request, hint: Plan | str | None = None, values: Values | None = None) -> Request:
    """Return the request with its warm start, and with the time that remains after finding it.

    The start is the better of a given plan and the best plan of the warm-start rules, which wins a tie. values: of the
    call, where the plans' values are kept.
    """
    values = values or Values(request)
    limits, deadline = request.limits, Deadline(request.limits.seconds)
    solver, instance, start = request.solver, request.instance, check_hint(request.instance, hint)
    if hint != "none" and solver.answers(instance.called) and solver.starts_warm(instance, request.objective):
        start = values.best(_rule_plans(request, values, searching=True) + ([] if start is None else [start]))
    if limits.seconds is not None and solver.takes_hint:
        limits = dataclasses.replace(limits, seconds=deadline.remaining(SOLVE_SHARE * limits.seconds))
    return dataclasses.replace(request, start=start, limits=limits)


def check_hint(instance: Instance, hint: Plan | str | None) -> Plan | None:
    """Return the plan of a hint, None for "none" and None; raise InvalidInput for anything else."""
    if isinstance(hint, Plan):
        if faults := instance.violations(hint):
            raise InvalidInput(f"hint: is infeasible: {faults[0]}")
        return hint
    if hint is not None and not (isinstance(hint, str) and hint == "none"):
        text = repr(hint) if isinstance(hint, str) else with_article(type(hint).__name__)
        raise InvalidInput(f"hint: {text}, expected a plan, None (the problem's own rule) or 'none'")
    return None


def _unsearched_start(request: Request, start: Plan | None, values: Values) -> Plan | None:
    """Return the best of a plan, if any, and of the plans of the warm-start rules that do not search."""
    return values.best(_rule_plans(request, values, searching=False) + ([] if start is None else [start]))


def _rule_plans(request: Request, values: Values, *, searching: bool) -> list[Plan]:
    """Return the plans of the warm-start rules, with `searching` also of rules that search for a share of the limit.

    The time of rules without a search is unlimited. On a very large instance, one may exceed the limit of the call; the
    remaining rules are then skipped.
    """
    plans, deadline, limits = list[Plan](), Deadline(request.limits.seconds), request.limits
    bound = _known_bound(request, values)
    seconds = None if limits.seconds is None else START_SHARE * limits.seconds
    for rule in registry().available(request.instance.problem):
        if not rule.warm_start or (rule.searches and not searching):
            continue
        if plans and deadline.passed():
            break
        params = resolve(rule.name, rule.parameters, rule.as_start(request.instance) if rule.as_start else {})
        own = dataclasses.replace(limits, seconds=seconds, work=None, threads=1)
        plan = call_solver(Request(rule, request.objective, params, own, instance=request.instance)).plan
        if plan is None:
            continue
        plans.append(plan)
        values.name_rule(plan, rule.name)
        if bound is not None and values.of(plan) == bound:
            break
    return plans


def _at_trivial_bound(request: Request, values: Values) -> Outcome | None:
    """Return the warm start as the optimum if it reaches the problem's trivial bound; otherwise None."""
    bound = None if request.start is None else _known_bound(request, values)
    if request.start is None or bound is None or values.of(request.start) != bound:
        return None
    return Outcome("optimal", request.start, bound, "proof")


def _known_bound(request: Request, values: Values) -> int | None:
    """Return the problem's trivial bound, which ends a search; None for a solver that always searches.

    A solver without a start always searches, so that brute force stays an independent witness of the bound.
    """
    if not request.optimises or request.solver.restricted or not request.solver.takes_hint:
        return None
    return values.bound


# -- after the search -------------------------------------------------------------------------------------------------


def _check_bound(request: Request, start: Plan | None, outcome: Outcome, values: Values) -> None:
    """Raise SolverError if the start is better than the bound of a solver; a restricted model has no bound."""
    solver, objective = request.solver, request.objective
    consistent = (outcome.plan is None) == (outcome.status == "unknown")  # the judge reports an inconsistent outcome
    if start is None or outcome.bound is None or not consistent or not request.optimises or solver.restricted:
        return
    if refutes(request.instance, objective, values.of(start), outcome.bound):
        raise SolverError(
            f"{solver.name}: its bound {outcome.bound} contradicts the judge's {objective} = {values.of(start)} "
            f"of {values.source(start)}"
        )


def with_incumbent(request: Request, start: Plan | None, outcome: Outcome, values: Values) -> Outcome:
    """Return the outcome of a solver that a limit ended, with the better of its own plan and `start`.

    Its bound is at least as tight as the problem's trivial bound (`Problem.trivial_bound`): CP-SAT, stopped early,
    reports a bound from the ranges of its variables. A plan that reaches the bound is optimal. A restricted model
    covers only some plans, so its bound is void; if it proves the best of them, that is its answer.
    """
    if not request.optimises or outcome.status not in UNPROVED:
        return outcome
    if (outcome.plan is None) != (outcome.status == "unknown"):
        return outcome  # the judge reports an inconsistent outcome
    restricted = request.solver.restricted
    if restricted and outcome.stopped_by == "proof":
        return outcome
    try:
        plan = values.best([candidate for candidate in (outcome.plan, start) if candidate is not None])
        value = None if plan is None else values.of(plan)
    except InvalidInput:  # the judge reports the fault of a malformed plan
        return outcome
    bound = outcome.bound
    if not restricted:
        bound = _tighter(request, bound, values.bound)
        if plan is not None and value == bound:
            return Outcome("optimal", plan, bound, "proof", outcome.work)
    return dataclasses.replace(outcome, status="unknown" if plan is None else "feasible", plan=plan, bound=bound)


def _without_backend(request: Request, start: Plan | None, error: BackendError) -> Outcome:
    """Return the start as the outcome of a solver whose backend failed; raise the error without a start."""
    if start is None or request.solver.kind != "exact":
        raise error
    return Outcome("feasible", start, None, "backend", doubt=f"the plan is where it started: {error}")


def trivial_bound(instance: Instance, objective: str) -> int | None:
    """Return a bound on the optimum that follows from the problem's statement; None if the problem lacks one."""
    problem = registry().problem(instance.problem)
    return problem.trivial_bound(instance, objective) if type(instance) is problem.instance_type else None


def _tighter(request: Request, own: int | float | None, trivial: int | None) -> int | float | None:
    """Return the tighter of two bounds, the solver's own if they are equal."""
    if own is None or trivial is None:
        return trivial if own is None else own
    return trivial if request.instance.objective(request.objective).better(own, trivial) else own
