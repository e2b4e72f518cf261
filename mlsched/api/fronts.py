"""Fronts of an instance: all non-dominated plans, proved complete and judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from mlsched.api.asked import resolve_solver
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean
from mlsched.core.params import Number, Positive, Seed, Threads, Value
from mlsched.core.registry import registry

if TYPE_CHECKING:
    from mlsched.solvers.front import Front


@validate_arguments
def pareto(
    instance: Instance,
    objectives: Sequence[str] | None = None,
    solver: str | None = None,
    *,
    method: str | None = None,
    stages: Literal["one", "two"] | None = None,
    time_limit: Positive | None = None,
    solve_limit: Number | None = None,
    resume: str | os.PathLike[str] | None = None,
    seed: Seed = 0,
    threads: Threads = 1,
    confirm: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **params: Value,
) -> Front:
    """Return all non-dominated plans of an instance for two or more objectives, with a proof of completeness.

    Args:
        instance: The instance.
        objectives: Names of the objectives; by default all of the instance's.
        solver: An exact solver with a model for CP-SAT or HiGHS; by default the problem's default, or the first such
            solver.
        method: Method of enumeration, as for `mlsched.enumerate_front`.
        stages: How each sub-problem is solved, as for `mlsched.enumerate_front`.
        time_limit: Wall seconds, after which the front is partial.
        solve_limit: Number of solver calls, after which the front is partial.
        resume: File of answers to sub-problems, created or continued.
        seed: Random seed, an integer >= 0.
        threads: Number of threads of the solver.
        confirm: Let another engine prove every sub-problem again, beyond the limits; `Front.evidence` then becomes
            "confirmed".
        progress: Called with (points, sub-problems) after each solve.
        params: Further keywords are the solver's parameters.

    Returns:
        The front with its plans and its certificate.

    Raises:
        InvalidInput: An argument is invalid.
        SolverError: The judge disagrees with a plan of the front.
        Contradiction: Two engines disagree.

    Examples:
        >>> inst = mlsched.generate("quality", preset="contended", seed=1)
        >>> front = mlsched.pareto(inst, ["total_loss_reduction", "worst_loss"])
        >>> len(front), front.complete
        (3, True)
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance: {type(instance).__name__}, expected an instance; see mlsched.generate and load")
    names = [o.name for o in instance.objectives]
    goals = names if objectives is None else [objectives] if isinstance(objectives, str) else list(objectives)
    for name in goals:
        if name not in names:
            listing = ", ".join(names)
            raise UnknownName(
                f"unknown objective '{name}' of {instance.problem}{did_you_mean(name, names)}; there are {listing}"
            )
        if goals.count(name) > 1:
            raise InvalidInput(f"objectives: '{name}' is given twice")
    candidates = [a.name for a in registry().available(instance.problem, "exact") if a.fronts_by is not None]
    default = registry().problem(instance.problem).default
    if solver is None:
        solver = default if default in candidates or not candidates else candidates[0]
    registered, values = resolve_solver(instance.problem, solver, params)
    if registered.name not in candidates:
        raise InvalidInput(
            f"solver: '{registered.name}', expected a solver with a model to enumerate; "
            f"use {' or '.join(candidates) or 'none'}"
        )
    for name in goals:
        if name not in registered.objectives:
            supported = ", ".join(registered.objectives)
            raise InvalidInput(f"{registered.name} cannot optimise {name}; name objectives that it can: {supported}")
    from mlsched.solvers.front.planned import front_of

    front = front_of(
        registered,
        instance,
        goals,
        values,
        threads=int(threads),
        seed=int(seed),
        method=method,
        stages=stages,
        time_limit=time_limit,
        solve_limit=solve_limit,
        resume=resume,
        progress=progress,
    )
    return front.confirmed() if confirm else front
