"""A second opinion: another engine is asked whether anything is better than what a first has proved optimal.

Two engines are of different code (`Answerer.engine_of`): HiGHS in another wrapper is no second opinion on HiGHS. A
model is asked only for plans that are better than the first's by one unit or more, so that "infeasible" confirms it;
an algorithm of its own answers the whole question, and its value must be the same.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlsched import solvers
from mlsched.api.adapters import native
from mlsched.api.guard import is_foreign
from mlsched.core.answerer import SOLVER, Answerer
from mlsched.core.contract import Instance
from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.errors import Contradiction, InvalidInput, SolverError
from mlsched.core.files import write_json
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.result import Result

#: Wall time that all second opinions together may take: a share of the first answer's, and at least so many seconds,
#: since the first of a process to use a backend has to load it.
SHARE, LEAST_SECONDS = 1.0, 1.0
#: Engines in the order in which they are asked. Those not named come last: brute force, which refuses what is too much.
ORDER = ("cp-sat", "dp", "scip", "highs")
#: Solvers beside HiGHS itself that take its models wherever mlsched is installed.
INSTALLED = ("scip",)


def confirmed(
    instance: Instance,
    answerer: Answerer,
    params: dict[str, Any],
    result: Result,
    limits: Limits,
    work: Mapping[str, float] | None = None,
    least: float | None = None,
) -> Result:
    """The result with what a second engine says of it: `backing` "agreed", or still "claimed" where none had the time.

    limits: threads and seed. work: backend -> its deterministic limit. least: seconds instead of LEAST_SECONDS. Raises
    Contradiction where the engines disagree, with instance and both answers in a file.
    """
    if result.status not in ("optimal", "infeasible") or answerer.rule is not None:
        return result
    started, by = time.perf_counter(), None
    deadline = Deadline(max(LEAST_SECONDS if least is None else least, SHARE * result.seconds))
    for other, values in second_opinions(answerer, params, instance, result.objective):
        if deadline.passed():
            break
        own = dataclasses.replace(
            limits, seconds=deadline.remaining(MOMENT), work=(work or {}).get(other.solved_by or "")
        )
        better_than = None if other.algorithm is not None else result.value
        hint = result.plan if other.takes_hint and better_than is None else None
        try:
            outcome = solvers.run(other, instance, result.objective, own, hint, values, better_than)
        except (InvalidInput, SolverError):
            # It does not take this instance, or broke down: no opinion.
            continue
        if _agrees(instance, result, other, values, outcome, better_than):
            by = _label(other, values)
            break
    return dataclasses.replace(
        result,
        backing="agreed" if by is not None else result.backing,
        confirmed_by=by,
        confirm_seconds=time.perf_counter() - started,
    )


def second_opinions(
    answerer: Answerer, params: Mapping[str, Any], instance: Instance, objective: str
) -> list[tuple[Answerer, dict[str, Any]]]:
    """Those exact answerers of mlsched that answer such a question with another engine, and their parameters."""
    opinions = []
    for other in registry().available(instance.problem, "exact"):
        if other.restricted or is_foreign(other) or objective not in other.objectives:
            continue
        if not native(other, instance.asks):
            continue
        settings = [{}, *({SOLVER: name} for name in INSTALLED if other.solved_by == "highs")]
        for given in settings:
            values = resolve(other.name, other.parameters, given)
            if other.engine_of(values) != answerer.engine_of(params):
                opinions.append((other, values))
    rank = {engine: number for number, engine in enumerate(ORDER)}
    return sorted(opinions, key=lambda pair: rank.get(pair[0].engine_of(pair[1]), len(ORDER)))


def _label(answerer: Answerer, values: Mapping[str, Any]) -> str:
    return answerer.name if SOLVER not in values else f"{answerer.name}:{SOLVER}={values[SOLVER]}"


def _agrees(
    instance: Instance,
    result: Result,
    other: Answerer,
    values: dict[str, Any],
    second: Outcome,
    better_than: int | None,
) -> bool:
    """Whether an outcome confirms the result; False where it says nothing of it, Contradiction where it denies it."""
    if second.status == "infeasible" and (better_than is not None or result.status == "infeasible"):
        return True
    slack = instance.tolerance * max(1, abs(result.value or 0))
    if second.plan is None:
        denies = (
            "calls the instance infeasible" if second.status == "infeasible" else _denying_bound(result, second, slack)
        )
    elif wrong := instance.violations(second.plan):
        denies = f"has an infeasible plan ({wrong[0]})"
    else:
        value = instance.evaluate(second.plan)[result.objective]
        better = result.value is None or instance.objective(result.objective).better(value, result.value)
        if (better and (result.value is None or abs(value - result.value) > slack)) or better_than is not None:
            denies = f"has a plan of {value}"
        elif second.status == "optimal" and result.value is not None and abs(value - result.value) > slack:
            denies = f"proves {value}"
        else:
            denies = _denying_bound(result, second, slack)
    if denies:
        raise _contradiction(instance, result, _label(other, values), second, denies)
    return second.status == "optimal" or (
        second.bound is not None and result.value is not None and abs(second.bound - result.value) <= slack
    )


def _denying_bound(result: Result, second: Outcome, slack: float) -> str:
    """What a bound says that the plan of the result refutes; empty where there is no such bound."""
    if second.bound is None or result.value is None:
        return ""
    beyond = second.bound - result.value if result.sense == "min" else result.value - second.bound
    return f"claims the bound {second.bound}" if beyond > slack else ""


def _contradiction(instance: Instance, result: Result, other: str, outcome: Outcome, denies: str) -> Contradiction:
    """The error, after instance and both answers are written to a file in the working folder."""
    path = Path(f"contradiction-{instance.hash[:12]}-{result.objective}.json")
    second = {**dataclasses.asdict(dataclasses.replace(outcome, plan=None)), "answerer": other}
    second["plan"] = None if outcome.plan is None else outcome.plan.to_json()
    document = {"instance": instance.to_json(), "first": result.to_json(), "second": second, "contradiction": denies}
    try:
        write_json(path, document)
        where = f"both answers are in {path}"
    except InvalidInput as error:
        where = f"the answers could not be saved: {error}"
    first = f"{result.answerer} proves {'no plan' if result.value is None else result.value}"
    return Contradiction(f"{result.objective}: {first} optimal, but {other} {denies}; {where}")
