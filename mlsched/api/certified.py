"""Certificates of `solve`: an optimum that a dual proof confirms in little time, without writing a folder."""

from __future__ import annotations

import dataclasses

from mlsched.certificates.by_prices import reasons_unproved
from mlsched.certificates.prices.statement import statements
from mlsched.certificates.translation import translations
from mlsched.core.contract import Instance
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, SolverError, with_article
from mlsched.core.result import Result
from mlsched.solvers import prices

#: Wall seconds for proof and check: at least this many, or this share of the answer's time.
LEAST_SECONDS, SHARE = 1.0, 1.0


def with_certificate(instance: Instance, result: Result) -> Result:
    """Return the result with `evidence` "certified" if it is optimal and a dual proof is found and checked in time.

    Raises:
        SolverError: A plan is better than the solver's alleged optimum.
    """
    if result.status != "optimal" or result.sort_key is None or result.evidence is None:
        return result
    if not _has_prices(instance, result.objective):
        return result
    deadline = Deadline(max(LEAST_SECONDS, SHARE * result.seconds))
    try:
        trees, bound = prices.trees(instance, result.objective, result.sort_key, deadline)
        faults = list(reasons_unproved(instance, result.objective, bound, trees, deadline))
    except prices.Refuted:
        claim = f"{result.solver} calls {result.objective} = {result.sort_key} optimal"
        raise SolverError(f"{claim}, and a better plan exists") from None
    except (InvalidInput, OutOfTime, BackendError):
        return result
    confirmed = bound == result.sort_key and not faults
    return dataclasses.replace(result, evidence="certified") if confirmed else result


def missing_certificate(instance: Instance, result: Result) -> str | None:
    """Return why a result lacks a certificate, with a remedy; None if it has one, or lacks a plan."""
    if result.status == "feasible":
        return (
            "nothing to certify: no optimum is proved; `mlsched certify` says how far from the best a plan is at most"
        )
    if result.status != "optimal" or result.evidence == "certified":
        return None
    if _has_prices(instance, result.objective):
        return "not certified: prices did not prove it within the time that solving took; `mlsched certify` goes on"
    translation, subject = translations().get(instance.kind), f"{result.objective} of {with_article(instance.kind)}"
    if translation is not None and result.objective in translation.by_objective:
        return f"not certified: {subject} has no dual proofs; `mlsched certify` looks for one by formulas"
    return f"not certified: {subject} has no certificates; `--confirm` asks another engine"


def _has_prices(instance: Instance, objective: str) -> bool:
    statement = statements().get(instance.kind)
    return statement is not None and objective in statement.module.CLAIMS
