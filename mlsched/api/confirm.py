"""Confirmation of an optimum by a second engine.

Two engines have different code (`Solver.engine_of`): HiGHS in another wrapper does not confirm HiGHS. A model is
restricted to plans that are better by at least one unit, so that "infeasible" confirms the optimum. An algorithm solves
the complete problem, and must find the same value.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path

from mlsched import solvers
from mlsched.api.guard import is_foreign
from mlsched.core.contract import Instance
from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.errors import BackendError, Contradiction, InvalidInput
from mlsched.core.files import write_json
from mlsched.core.formulation import Outcome
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.core.result import Result
from mlsched.core.solver import ENGINE

#: Wall time of all confirmations together: a share of the first answer's time, and at least this many seconds, because
#: the first use of a backend in a process has to load it.
SHARE, LEAST_SECONDS = 1.0, 1.0
#: Engines in the order in which they are tried; others, such as brute force, which rejects large instances, come last.
ORDER = ("cp-sat", "dp", "scip", "highs")
#: Backends beside HiGHS that solve its models in every installation of mlsched.
INSTALLED = ("scip",)


def with_confirmation(
    request: Request, result: Result, work: Mapping[str, float] | None = None, least: float | None = None
) -> Result:
    """Return the result with a second engine's verdict as its `evidence`.

    The verdict is "confirmed", or "unconfirmed" if the time did not suffice.

    Args:
        request: The call that gave the result; its threads and seed apply to the second engine.
        result: An optimum or "infeasible"; other results are returned unchanged.
        work: Backend -> its deterministic limit.
        least: Wall seconds instead of LEAST_SECONDS.

    Returns:
        The result with evidence, the confirming solver, and the time.

    Raises:
        Contradiction: The engines disagree; a file has the instance and both answers.
    """
    if result.status not in ("optimal", "infeasible") or request.solver.rule is not None:
        return result
    start_time, by = time.perf_counter(), None
    deadline = Deadline(max(LEAST_SECONDS if least is None else least, SHARE * result.seconds))
    for other in second_opinions(request):
        if deadline.passed():
            break
        limits = dataclasses.replace(
            request.limits, seconds=deadline.remaining(MOMENT), work=(work or {}).get(other.solver.solved_by or "")
        )
        better_than = None if other.solver.algorithm is not None else result.sort_key
        start = result.plan if other.solver.takes_hint and better_than is None else None
        other = dataclasses.replace(other, limits=limits, better_than=better_than, start=start)
        try:
            outcome = solvers.run(other)
        except (InvalidInput, BackendError):
            # The engine rejects this instance, or failed: try the next.
            continue
        if _agrees(result, other, outcome):
            by = _label(other)
            break
    return dataclasses.replace(
        result,
        evidence="confirmed" if by is not None else result.evidence,
        confirmed_by=by,
        confirm_seconds=time.perf_counter() - start_time,
    )


def second_opinions(request: Request) -> list[Request]:
    """Return the same request for each exact solver of mlsched with another engine, best engine first."""
    opinions = []
    engine = request.solver.engine_of(request.params)
    for other in registry().available(request.instance.problem, "exact"):
        if other.restricted or is_foreign(other) or request.objective not in other.objectives:
            continue
        if not other.answers(request.instance.called):
            continue
        settings = [{}, *({ENGINE: name} for name in INSTALLED if other.solved_by == "highs")]
        for settings_of_engine in settings:
            values = resolve(other.name, other.parameters, settings_of_engine)
            if other.engine_of(values) != engine:
                opinions.append(dataclasses.replace(request, solver=other, params=values, start=None))
    rank = {name: number for number, name in enumerate(ORDER)}
    return sorted(opinions, key=lambda own: rank.get(own.solver.engine_of(own.params), len(ORDER)))


def _label(request: Request) -> str:
    name, values = request.solver.name, request.params
    return name if ENGINE not in values else f"{name}:{ENGINE}={values[ENGINE]}"


def _agrees(result: Result, other: Request, second: Outcome) -> bool:
    """Return whether an outcome confirms the result; False if it is inconclusive.

    Raises Contradiction if the outcome refutes the result.
    """
    instance, better_than = other.instance, other.better_than
    if second.status == "infeasible" and (better_than is not None or result.status == "infeasible"):
        return True
    slack = instance.tolerance * max(1, abs(result.sort_key or 0))
    if second.plan is None:
        objection = (
            "calls the instance infeasible" if second.status == "infeasible" else _denying_bound(result, second, slack)
        )
    elif faults := instance.violations(second.plan):
        objection = f"has an infeasible plan ({faults[0]})"
    else:
        value = instance.evaluate(second.plan)[result.objective]
        better = result.sort_key is None or instance.objective(result.objective).better(value, result.sort_key)
        if (better and (result.sort_key is None or abs(value - result.sort_key) > slack)) or better_than is not None:
            objection = f"has a plan of {value}"
        elif second.status == "optimal" and result.sort_key is not None and abs(value - result.sort_key) > slack:
            objection = f"proves {value}"
        else:
            objection = _denying_bound(result, second, slack)
    if objection:
        raise _contradiction(instance, result, _label(other), second, objection)
    return second.status == "optimal" or (
        second.bound is not None and result.sort_key is not None and abs(second.bound - result.sort_key) <= slack
    )


def _denying_bound(result: Result, second: Outcome, slack: float) -> str:
    """Return the claim of a bound that the plan of the result refutes, or ""."""
    if second.bound is None or result.sort_key is None:
        return ""
    beyond = second.bound - result.sort_key if result.sense == "min" else result.sort_key - second.bound
    return f"claims the bound {second.bound}" if beyond > slack else ""


def _contradiction(instance: Instance, result: Result, other: str, outcome: Outcome, objection: str) -> Contradiction:
    """Return the error, after writing instance and both answers to a file in the working folder."""
    path = Path(f"contradiction-{instance.hash[:12]}-{result.objective}.json")
    second = {**dataclasses.asdict(dataclasses.replace(outcome, plan=None)), "solver": other}
    second["plan"] = None if outcome.plan is None else outcome.plan.to_json()
    document = {"instance": instance.to_json(), "first": result.to_json(), "second": second, "contradiction": objection}
    try:
        write_json(path, document)
        where = f"both answers are in {path}"
    except InvalidInput as error:
        where = f"the answers could not be saved: {error}"
    first = f"{result.solver} proves {'no plan' if result.sort_key is None else result.sort_key}"
    return Contradiction(f"{result.objective}: {first} optimal, but {other} {objection}; {where}")
