"""A certificate in passing: an optimum that prices prove in little time is "certified", and no folder is written."""

from __future__ import annotations

import dataclasses

from mlsched.certificates.by_prices import unproved
from mlsched.certificates.prices.statement import statements
from mlsched.certificates.translation import translations
from mlsched.core.contract import Instance
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, SolverError, with_article
from mlsched.core.result import Result
from mlsched.solvers import prices

#: Wall seconds for proof and check: so many at least, or else a share of what the answer took.
LEAST_SECONDS, SHARE = 1.0, 1.0


def certified(instance: Instance, result: Result) -> Result:
    """The result with `evidence` "certified" where it is optimal and a dual proof is found and checked in time.

    Raises SolverError where the prover sees that something is better than what the solver calls optimal.
    """
    if result.status != "optimal" or result.sort_key is None or result.evidence is None:
        return result
    if not _has_prices(instance, result.objective):
        return result
    deadline = Deadline(max(LEAST_SECONDS, SHARE * result.seconds))
    try:
        trees, bound = prices.trees(instance, result.objective, result.sort_key, deadline)
        wrong = list(unproved(instance, result.objective, bound, trees, deadline))
    except prices.Refuted:
        said = f"{result.solver} calls {result.objective} = {result.sort_key} optimal"
        raise SolverError(f"{said}, and a better plan exists") from None
    except (InvalidInput, OutOfTime, BackendError):
        return result
    proved = bound == result.sort_key and not wrong
    return dataclasses.replace(result, evidence="certified") if proved else result


def uncertified(instance: Instance, result: Result) -> str | None:
    """Why a result of `certified` has no certificate, and what to do; None where it has one, or there is no plan."""
    if result.status == "feasible":
        return (
            "nothing to certify: no optimum is proved; `mlsched certify` says how far from the best a plan is at most"
        )
    if result.status != "optimal" or result.evidence == "certified":
        return None
    if _has_prices(instance, result.objective):
        return "not certified: prices did not prove it within the time that solving took; `mlsched certify` goes on"
    translation, asked = translations().get(instance.kind), f"{result.objective} of {with_article(instance.kind)}"
    if translation is not None and result.objective in translation.by_objective:
        return f"not certified: {asked} has no dual proofs; `mlsched certify` looks for one by formulas"
    return f"not certified: {asked} has no certificates; `--confirm` asks another engine"


def _has_prices(instance: Instance, objective: str) -> bool:
    statement = statements().get(instance.kind)
    return statement is not None and objective in statement.module.CLAIMS
