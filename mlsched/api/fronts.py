"""Fronts of an instance: all non-dominated plans, proved complete, every one judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mlsched.api.asked import resolve_solver
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean
from mlsched.core.params import Number, Positive, Seed, Threads
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
    **params: Any,
) -> Front:
    """All non-dominated plans of `instance` for two or more objectives, with the proof that there are no others.

    Args:
        instance: what is asked.
        objectives: names, all of the instance's by default.
        solver: an exact solver that hands a model to CP-SAT or HiGHS; by default the problem's where that is one,
            else the first such solver.
        method: as for `mlsched.enumerate_front`, like the next five.
        stages: how each sub-problem is solved.
        time_limit: wall seconds, after which the front is partial.
        solve_limit: the same in solver calls.
        resume: a file of answers, created or continued.
        seed: an integer >= 0.
        threads: how many the solver may use.
        confirm: another engine must prove every sub-problem again, beyond the limits; `Front.evidence` then is
            "confirmed".
        progress: called with (points, sub-problems) after each solve.
        params: further keywords are the solver's parameters.

    Raises:
        InvalidInput: the call is wrong.
        SolverError: the judge disagrees with a plan of the front.
        Contradiction: two engines disagree.

    Examples:
        >>> inst = mlsched.generate("quality", preset="contended", seed=1)
        >>> front = mlsched.pareto(inst, ["total_loss_reduction", "worst_loss"])
        >>> len(front), front.complete
        (3, True)
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance = {type(instance).__name__}: must be an instance; see mlsched.generate and load")
    names = [o.name for o in instance.objectives]
    chosen = names if objectives is None else [objectives] if isinstance(objectives, str) else list(objectives)
    for name in chosen:
        if name not in names:
            there = ", ".join(names)
            raise UnknownName(
                f"{instance.problem} has no objective '{name}'{did_you_mean(name, names)}; there are {there}"
            )
        if chosen.count(name) > 1:
            raise InvalidInput(f"objectives: '{name}' is given twice")
    able = [a.name for a in registry().available(instance.problem, "exact") if a.fronts_by is not None]
    default = registry().problem(instance.problem).default
    if solver is None:
        solver = default if default in able or not able else able[0]
    registered, values = resolve_solver(instance.problem, solver, params)
    if registered.name not in able:
        raise InvalidInput(
            f"solver = '{registered.name}': has no model to enumerate; use {' or '.join(able) or 'none'}"
        )
    for name in chosen:
        if name not in registered.objectives:
            can = ", ".join(registered.objectives)
            raise InvalidInput(f"{registered.name} cannot optimise {name}; name objectives that it can: {can}")
    from mlsched.solvers.front.planned import front_of

    front = front_of(
        registered,
        instance,
        chosen,
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
