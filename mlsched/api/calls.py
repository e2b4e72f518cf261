"""One call of a solver of any form."""

from __future__ import annotations

import numpy as np

from mlsched import solvers
from mlsched.core.errors import MlschedError, SolverError, describe_exception, with_article
from mlsched.core.formulation import Outcome
from mlsched.core.interrupts import interrupts
from mlsched.core.request import Request


def call_solver(request: Request) -> Outcome:
    """Call a solver of any form and return its outcome.

    An exception of foreign code becomes a SolverError, even `sys.exit`, unless the user pressed Ctrl-C.
    """
    solver, instance = request.solver, request.instance
    with interrupts() as interrupted:
        try:
            if not solver.answers(instance.called):
                from mlsched.api.adapters import adapted_plan  # imported here because it loads the simulators

                plan = adapted_plan(request)
                return Outcome("unknown" if plan is None else "feasible", plan, None)
            if solver.rule is None:
                outcome = solvers.run(request)
                if not isinstance(outcome, Outcome):
                    raise SolverError(
                        f"{solver.name} returned {with_article(type(outcome).__name__)}, expected an Outcome"
                    )
                return outcome
            rng = np.random.default_rng(request.limits.seed)
            plan, _ = solver.rule(
                instance.shown(solver.information), memory=None, rng=rng, limits=request.limits, **request.params
            )
        except MlschedError:
            raise
        except BaseException as error:
            if interrupted():
                raise
            raise SolverError(f"{solver.name} raised {describe_exception(error)}") from error
    if plan is None:
        kind = with_article(instance.plan_type.kind)
        raise SolverError(f"{solver.name} did not return a plan; a rule must return {kind}")
    return Outcome("feasible", plan, None)
