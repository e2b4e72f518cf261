"""A certificate in passing: an optimum that prices prove in little time is "certified", and no folder is written."""

from __future__ import annotations

import dataclasses

from mlsched.certificates.by_prices import unproved
from mlsched.certificates.prices.statement import statements
from mlsched.core.contract import Instance
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import AnswererError, InvalidInput, SolverError
from mlsched.core.result import Result
from mlsched.solvers import prices

#: Wall seconds for proof and check: so many at least, or else a share of what the answer took.
LEAST_SECONDS, SHARE = 1.0, 1.0


def certified(instance: Instance, result: Result) -> Result:
    """The result with `backing` "certified" where it is optimal and a proof by prices is found and checked in time.

    Raises AnswererError where the prover sees that something is better than what the answerer calls optimal.
    """
    statement = statements().get(instance.kind)
    if result.status != "optimal" or result.value is None or result.backing is None or statement is None:
        return result
    if result.objective not in statement.module.CLAIMS:
        return result
    deadline = Deadline(max(LEAST_SECONDS, SHARE * result.seconds))
    try:
        trees, bound = prices.trees(instance, result.objective, result.value, deadline)
        wrong = list(unproved(instance, result.objective, bound, trees, deadline))
    except prices.Refuted:
        said = f"{result.answerer} calls {result.objective} = {result.value} optimal"
        raise AnswererError(f"{said}, and a better plan exists") from None
    except (InvalidInput, OutOfTime, SolverError):
        return result
    proved = bound == result.value and not wrong
    return dataclasses.replace(result, backing="certified") if proved else result
