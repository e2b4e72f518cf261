"""Certified optima: from an instance to a folder that anyone can check, and the check of such a folder."""

from __future__ import annotations

import os
from pathlib import Path

from mlsched.api.adapters import prover
from mlsched.api.answers import solve
from mlsched.api.asked import aim, make_limits
from mlsched.certificates import bundle, engine
from mlsched.certificates.bundle import Checked
from mlsched.certificates.translation import translation_of
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.registry import registry


def certify(
    instance: Instance,
    folder: str | os.PathLike[str],
    *,
    objective: str | None = None,
    solver: str | None = None,
    plan: Plan | None = None,
    time_limit: float | None = None,
) -> Checked:
    """Prove that a plan is optimal and write the proof to `folder`, for `check_certificate` and for `checker.py`.

    solver: what finds the plan, where none is given (default: the problem's). time_limit: wall seconds for the plan,
    and again for each proof. Raises InvalidInput where the folder exists or the instance cannot be certified,
    SolverError where no plan or no proof is found in time, AnswererError where the plan is not optimal.
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance = {type(instance).__name__}: must be an instance; see mlsched.generate and load")
    engine.version()
    bundle.check_target(Path(folder))
    goal = aim(instance, objective).name
    translation_of(instance)
    if plan is None:
        name = solver or prover(instance, goal) or registry().problem(instance.problem).default
        plan = solve(instance, name, objective=goal, time_limit=time_limit).plan
        if plan is None:
            raise SolverError(f"{name} found no plan to certify; give it more time, or a plan")
    return bundle.certify(instance, goal, plan, Path(folder), seconds=time_limit)


def check_certificate(folder: str | os.PathLike[str], *, time_limit: float | None = bundle.SECONDS) -> Checked:
    """Check a folder that `certify` wrote: judge, translation, proofs, hashes. `wrong` says what does not hold.

    Nothing in the folder is run. time_limit: wall seconds, after which the folder is not certified; None: however long
    it takes. Raises InvalidFile for a folder in which there is no certificate to be read.
    """
    return bundle.check(Path(folder), seconds=make_limits(time_limit, None, seed=0, threads=1).seconds)
