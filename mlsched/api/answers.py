"""Answering one instance: the path from a name or a function to a judged Result."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from mlsched import solvers
from mlsched.api.adapters import adapted, native
from mlsched.api.confirm import confirmed
from mlsched.api.functions import function_of, is_function
from mlsched.api.guard import guarded
from mlsched.api.isolation import Isolated, check_memory_limit, isolated_answer
from mlsched.api.known import ended_early, in_spite_of, keep_known
from mlsched.core.contract import Information, Instance, Objective, Plan, Question
from mlsched.core.deadline import Deadline
from mlsched.core.errors import AnswererError, InvalidInput, MlschedError, SolverError
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.interrupts import interrupts
from mlsched.core.params import check_seed, one_of, resolve
from mlsched.core.registry import Answerer, registry
from mlsched.core.result import Result, relative_gap
from mlsched.core.versions import versions

#: What `solve` and `simulate` accept as an answerer: a registered name with parameters, or anyone's function, also by
#: its name ("my_rules:rule").
AnyAnswerer = str | Callable[..., Any]
#: Share of the time limit that one search for a start may take, and the share that is left to the solve in any case.
START_SHARE, LEAST_LEFT = 0.3, 0.01


def resolve_answerer(problem: str, solver: AnyAnswerer, params: Mapping[str, Any]) -> tuple[Answerer, dict[str, Any]]:
    """A registered answerer by name, or anyone's function wrapped as one, with its parameters filled in.

    A function says by an attribute `information` what it must know ("observed" where it has none), and by an attribute
    `asks` which form of question it answers: with `rule.asks = "decision"`, the clock runs a rule of snapshots over a
    horizon (where it has none, it is asked the instance itself).
    """
    if isinstance(solver, str) and is_function(solver):
        solver, given = function_of(solver)
        params = {**given, **params}
    if isinstance(solver, str):
        found, values = registry().answerer(problem, solver)
        return guarded(found), resolve(found.name, found.parameters, {**values, **params})
    if not callable(solver):
        raise InvalidInput(f"solver = {solver!r}: must be a name or a function answer(instance, *, rng) -> plan")
    declared = getattr(solver, "__mlsched__", None)
    if declared:
        return guarded(declared[0]), resolve(declared[0].name, declared[0].parameters, params)
    name = getattr(solver, "__name__", type(solver).__name__)
    information: Any = getattr(solver, "information", "observed")
    one_of(f"{name}.information", information, get_args(Information))
    asks: Any = getattr(solver, "asks", None)
    if asks is not None:
        one_of(f"{name}.asks", asks, get_args(Question))
    rule = functools.partial(solver, **params) if params else solver
    return guarded(Answerer(name, problem, "heuristic", rule, information=information, asks=asks)), {}


def solve(
    instance: Instance,
    solver: AnyAnswerer,
    *,
    objective: str | None = None,
    time_limit: float | None = None,
    work_limit: float | None = None,
    seed: int = 0,
    threads: int = 1,
    hint: Plan | str | None = None,
    isolate: bool = False,
    memory_limit: int | None = None,
    confirm: bool = False,
    **params: Any,
) -> Result:
    """Answer `instance` and let the judge recompute the answer.

    solver: a registered name, with parameters if need be ("fitgpp:s=8"), or a function `answer(instance, *, rng)`.
    objective: one of the instance's; the first by default. time_limit: wall seconds, for exact answerers (finding a
    start included) and searches; work_limit: the backend's deterministic measure (reproducible, unlike seconds).
    hint: a plan to start from, added to those of the problem's warm-start rules; "none" starts cold. An exact answer is
    never worse than the best of them, and has a bound, however short the limit, and also where its backend fails
    (`Result.doubt` then says how). isolate: ask the
    answerer in a process of its own, which is ended at time_limit (one that knows of the limit gets a tenth and half a
    second more) and may take memory_limit bytes. confirm: where the answerer proves an optimum, another engine is asked
    whether anything is better, within the time that the answer took (or a second, where that is more): `Result.backing`
    then is "agreed". Further keywords are the answerer's parameters.

    Raises InvalidInput for a wrong call, AnswererError when the answer breaks the contract (infeasible plan, refuted
    bound), Contradiction when two engines disagree (their answers are then in a file), RuleFailure when there is none
    or the answerer tampered with the question, SolverError when a backend fails.
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance = {type(instance).__name__}: must be an instance; see mlsched.generate and load")
    answerer, values = resolve_answerer(instance.problem, solver, params)
    objective = aim(instance, objective).name
    if answerer.kind == "exact" and answerer.backend and objective not in answerer.objectives:
        raise InvalidInput(f"{answerer.name} cannot optimise {objective}; it can {', '.join(answerer.objectives)}")
    limits = make_limits(time_limit, work_limit, seed, threads)
    check_memory_limit(memory_limit, isolate)
    with contextlib.ExitStack() as stack:
        process = None
        if isolate:
            process = stack.enter_context(Isolated(answerer, "solve", objective, values, memory_limit=memory_limit))
        started = time.perf_counter()
        start, left = start_within(instance, answerer, objective, limits, hint)
        try:
            if process is None:
                outcome = answer_once(answerer, instance, objective, left, start, values)
            else:
                outcome = isolated_answer(process, answerer, instance, left, start)
        except SolverError as error:
            outcome = in_spite_of(error, answerer, start)
    if hint != "none" and not answerer.takes_hint and ended_early(instance, answerer, outcome):
        # One that cannot start from a plan has not been given any: what the rules say is still known.
        plans = _starts(instance, objective, limits, searching=False)
        start = _best(instance, objective, plans + ([] if start is None else [start]))
    outcome = keep_known(instance, answerer, objective, start, outcome)
    seconds = time.perf_counter() - started
    result = judged(instance, answerer, objective, values, limits.seed, outcome, seconds)
    return confirmed(instance, answerer, values, result, limits) if confirm else result


def aim(instance: Instance, objective: str | None) -> Objective:
    """The objective of that name, or the first one.

    A question may have no objective of its own (a snapshot); the problem's objectives are then what is aimed at.
    """
    judges = type(instance) if instance.objectives else registry().problem(instance.problem).instance_type
    return judges.objectives[0] if objective is None else judges.objective(objective)


def make_limits(time_limit: float | None, work_limit: float | None, seed: int, threads: int) -> Limits:
    for name, value in (("time_limit", time_limit), ("work_limit", work_limit)):
        if value is not None and not (isinstance(value, (int, float)) and value > 0):
            raise InvalidInput(f"{name} = {value!r}: must be above 0")
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInput(f"threads = {threads!r}: must be an integer >= 1")
    return Limits(time_limit, work_limit, threads, check_seed(seed))


def start_within(
    instance: Instance, answerer: Answerer, objective: str, limits: Limits, hint: Plan | str | None = None
) -> tuple[Plan | None, Limits]:
    """The plan an exact backend starts from, and what finding it leaves of the time limit."""
    deadline = Deadline(limits.seconds)
    plan = _hint(instance, answerer, objective, hint, limits)
    if limits.seconds is None or not answerer.takes_hint:
        return plan, limits
    return plan, dataclasses.replace(limits, seconds=deadline.remaining(LEAST_LEFT * limits.seconds))


def _hint(
    instance: Instance, answerer: Answerer, objective: str, hint: Plan | str | None, limits: Limits
) -> Plan | None:
    """The plan an exact backend starts from: the best of the hint and of what the problem's warm-start rules say.

    A hint that is no better than what they say changes nothing: the answer is the one without it.
    """
    if isinstance(hint, str) and hint != "none":
        raise InvalidInput(f"hint = {hint!r}: must be a plan, None (the problem's own rule) or 'none'")
    if isinstance(hint, Plan):
        if wrong := instance.violations(hint):
            raise InvalidInput(f"hint: is infeasible: {wrong[0]}")
    elif hint is not None and not isinstance(hint, str):
        raise InvalidInput(f"hint = a {type(hint).__name__}: must be a plan, None (the problem's own rule) or 'none'")
    given = hint if isinstance(hint, Plan) else None
    if hint == "none" or not answerer.takes_hint or not native(answerer, instance.asks):
        return given
    plans = _starts(instance, objective, limits, searching=True)
    return _best(instance, objective, plans + ([] if given is None else [given]))


def _starts(instance: Instance, objective: str, limits: Limits, *, searching: bool) -> list[Plan]:
    """What the problem's warm-start rules say. searching: also those that search, for a share of the time limit."""
    plans = []
    seconds = None if limits.seconds is None else START_SHARE * limits.seconds
    for rule in registry().available(instance.problem):
        if rule.warm_start and (searching or not rule.takes_limits):
            values, own = resolve(rule.name, rule.parameters, {}), Limits(seconds=seconds, seed=limits.seed)
            plan = answer_once(rule, instance, objective, own, None, values).plan
            plans += [plan] if plan is not None else []
    return plans


def _best(instance: Instance, objective: str, plans: list[Plan]) -> Plan | None:
    """The best plan, of equal ones the first."""
    best = min if instance.objective(objective).sense == "min" else max
    return best(plans, key=lambda p: instance.evaluate(p)[objective], default=None)


def answer_once(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, values: dict[str, Any]
) -> Outcome:
    """Call an answerer of any kind; what it raises that is not ours becomes an AnswererError.

    That includes what would end the program (`sys.exit`), unless it was the user who asked for it.
    """
    with interrupts() as came:
        try:
            return _answer(answerer, instance, objective, limits, hint, values)
        except MlschedError:
            raise
        except BaseException as error:
            if came():
                raise
            raise AnswererError(f"{answerer.name} raised {type(error).__name__}: {error}") from error


def _answer(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, values: dict[str, Any]
) -> Outcome:
    if not native(answerer, instance.asks):
        plan = adapted(answerer, instance, objective, limits, values)
        return Outcome("unknown" if plan is None else "feasible", plan, None)
    if answerer.backend is not None:
        outcome = solvers.run(answerer, instance, objective, limits, hint, values)
        if not isinstance(outcome, Outcome):
            raise AnswererError(f"{answerer.name} returned a {type(outcome).__name__}: must be an Outcome")
        return outcome
    rng, more = np.random.default_rng(limits.seed), {"limits": limits} if answerer.takes_limits else {}
    if answerer.stateful:
        plan, _ = answerer.function(answerer.shown(instance), memory=None, rng=rng, **more, **values)
    else:
        plan = answerer.function(answerer.shown(instance), rng=rng, **more, **values)
    if plan is None:
        raise AnswererError(f"{answerer.name} returned no plan; a rule must return a {instance.plan_type.kind}")
    return Outcome("feasible", plan, None)


def judged(
    instance: Instance,
    answerer: Answerer,
    objective: str,
    params: dict[str, Any],
    seed: int,
    outcome: Outcome,
    seconds: float,
) -> Result:
    """The Result of an outcome, every value recomputed by the judge and the bound held against it."""
    values = value = gap = None
    if (outcome.plan is None) != (outcome.status in ("infeasible", "unknown")):
        raise AnswererError(
            f"{answerer.name} returned {'no' if outcome.plan is None else 'a'} plan and '{outcome.status}'"
        )
    if outcome.status == "optimal" and outcome.bound is None:
        raise AnswererError(f"{answerer.name} claims an optimum without a bound")
    if outcome.plan is not None:
        if wrong := instance.violations(outcome.plan):
            raise AnswererError(f"{answerer.name} returned an infeasible plan: {wrong[0]}")
        values = instance.evaluate(outcome.plan)
        value = values.get(objective)
    goal = aim(instance, objective)
    if value is not None and outcome.bound is not None:
        minimise = goal.sense == "min"
        too_good = outcome.bound - value if minimise else value - outcome.bound
        slack = instance.tolerance * max(1, abs(value), abs(outcome.bound))
        if not too_good <= slack or (outcome.status == "optimal" and abs(too_good) > slack):
            raise AnswererError(
                f"{answerer.name}: its bound {outcome.bound} contradicts the judge's {objective} = {value}"
            )
        gap = relative_gap(value, outcome.bound)
    return Result(
        instance_hash=instance.hash,
        problem=instance.problem,
        answerer=answerer.name,
        objective=objective,
        sense=goal.sense,
        unit=goal.unit,
        rank=instance.rank(objective),
        params=params,
        seed=seed,
        plan=outcome.plan,
        values=values,
        value=value,
        bound=outcome.bound,
        gap=gap,
        status=outcome.status,
        stopped_by=outcome.stopped_by if answerer.backend else None,
        seconds=seconds,
        work=outcome.work,
        versions=versions(),
        backing="claimed" if answerer.backend and outcome.status in ("optimal", "infeasible") else None,
        doubt=outcome.doubt,
        instance=instance,
    )
