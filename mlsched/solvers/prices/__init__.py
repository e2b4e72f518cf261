"""Search for dual certificates. Its results are untrusted: `certificates/prices/core.py` checks them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from mlsched.certificates.by_prices import MOST_LISTED, meter
from mlsched.certificates.prices import core
from mlsched.certificates.prices.listed import Listed
from mlsched.certificates.prices.statement import Within, statement_of
from mlsched.certificates.prices.timed import Timed
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.gap import gap_between
from mlsched.core.registry import package_of
from mlsched.solvers.prices import timed
from mlsched.solvers.prices.listed import ListedOptions
from mlsched.solvers.prices.options import Options
from mlsched.solvers.prices.search import Refuted, prove


def trees(
    instance: Instance,
    objective: str,
    value: int,
    deadline: Deadline,
    progress: Callable[[str], None] = lambda line: None,
    within: Within = (),
    better: Callable[[Plan], None] = lambda plan: None,
) -> tuple[list[list[Any]], int]:
    """Return trees that prove a bound on all plans, and the bound: `value`, if the time allows.

    Args:
        instance: The instance.
        objective: Name of the objective.
        value: Value to prove optimal.
        deadline: End of the search.
        progress: Called with a line about the progress.
        within: See `Statement.claims`.
        better: Called with plans that the search finds, most often better than `value`; they are not judged.

    Returns:
        The trees and the proven bound.

    Raises:
        Refuted: Some plan is better than `value`.
        BackendError: The time is over before a bound is proved.
    """
    statement, goal = statement_of(instance), instance.objective(objective)
    sign, rank = statement.module.SIGN.get(objective), instance.primary(objective)

    def claims_of(bound: int) -> tuple[list[Any], meter]:
        spend = meter(deadline, MOST_LISTED)
        try:
            options_made = statement.claims(instance, objective, bound, spend, within)
        except core.Wrong as wrong:
            raise InvalidInput(f"{objective} of this {instance.kind} cannot be certified by prices: {wrong}") from None
        spend.deadline, spend.most = Deadline(), None  # bounds are computed completely: time is reserved for them
        return options_made, spend

    def said(part: str, bound: int, finished: str) -> None:
        away = gap_between(value, bound, sense=goal.sense, unit=goal.unit, primary=rank)
        progress(f"{part}{finished}, at most {away.rounded_up} from the best")

    try:
        claims, spend = claims_of(value)
    except OutOfTime:
        raise BackendError("a bound was not proved in time; give more time") from None
    options_made = []
    if isinstance(claims[0], Timed):
        return timed.trees(
            lambda bound: claims[0] if bound == value else claims_of(bound)[0][0],
            value,
            sign,
            deadline,
            lambda bound, cells: said("", bound, f"prices of {cells} times"),
        )
    for k, claim in enumerate(claims, 1):
        part = f"claim {k} of {len(claims)}: " if len(claims) > 1 else ""

        def at(bound: int, nodes: int, part: str = part) -> None:
            if sign is None:
                progress(f"{part}{nodes} nodes")
            else:
                said(part, sign * bound, f"{nodes} nodes")

        try:
            options = _options_of_claim(instance.problem, claim, deadline)
            proof = prove(options, deadline, at, spend, functools.partial(_pass_on_plan, options, better))
        except OutOfTime:
            raise BackendError("a bound was not proved in time; give more time") from None
        if proof.bound < claim.target and (sign is None or len(claims) > 1):
            raise BackendError(f"the optimum of {objective} was not proved in time; give more time")
        options_made.append(proof)
    bound = (
        value
        if all(p.bound >= c.target for p, c in zip(options_made, claims, strict=True))
        else (sign or 1) * options_made[0].bound
    )
    return [proof.tree for proof in options_made], bound


def _pass_on_plan(options: Options, better: Callable[[Plan], None], amounts: FloatArray) -> None:
    """Pass on the prover's plan, if its options give one."""
    plan = options.plan(amounts)
    if plan is not None:
        better(plan)


def _options_of_claim(problem: str, claim: Any, deadline: Deadline) -> Options:
    """Return the options of a claim for the prover; the problem's own types of claims are in its `_claims.py`."""
    if isinstance(claim, Listed):
        return ListedOptions(claim)
    options: Options = importlib.import_module(f"{package_of('solvers', problem)}._claims").options(claim, deadline)
    return options


__all__ = ["Refuted", "trees"]
