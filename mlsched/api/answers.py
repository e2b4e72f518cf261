"""`solve`: from a name or a function to a judged Result."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from mlsched.api.asked import AnySolver, default_solver, resolve_solver
from mlsched.api.calls import call_solver
from mlsched.api.exact import check_hint, solve_exactly
from mlsched.api.isolation import NO_MEMORY_LIMIT, Isolated
from mlsched.api.judging import judged
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import Limits
from mlsched.core.params import Number, Positive, Seed, Threads
from mlsched.core.request import Request, resolve_objective
from mlsched.core.result import Result


@validate_arguments
def solve(
    instance: Instance,
    solver: AnySolver | None = None,
    *,
    objective: str | None = None,
    time_limit: Positive | None = None,
    work_limit: Positive | None = None,
    seed: Seed = 0,
    threads: Threads = 1,
    hint: Plan | str | None = None,
    isolate: bool = False,
    memory_limit: Number | None = None,
    confirm: bool = False,
    certify: bool = False,
    **params: Any,
) -> Result:
    """Answer an instance, and let the judge recompute the answer.

    An answer of mlsched's own exact solvers is never worse than the best plan of the problem's warm-start rules. It has
    a bound however short the limit, even if the backend fails (`Result.doubt` then describes the failure). The plan of
    any other solver is the plan that the solver returned.

    Args:
        instance: The instance, for example from `generate` or `load`.
        solver: A registered name, optionally with parameters ("fitgpp:s=8"), or a function `answer(instance, *, rng)`.
            By default an exact solver: the problem's default, or another one if the default cannot answer, as in
            `mlsched solve`.
        objective: Name of one of the instance's objectives; by default the first.
        time_limit: Wall seconds for exact solvers (including the search for a start) and searches.
        work_limit: The same limit in the backend's deterministic measure, which is reproducible, unlike seconds.
        seed: Random seed, an integer >= 0; the same seed gives the same answer.
        threads: Number of threads of an exact solver.
        hint: A plan to start from, in addition to those of the warm-start rules; "none" starts cold. A solver of
            another package may ignore it.
        isolate: Run the solver in its own process, which is ended at `time_limit`. A solver that observes the limit
            itself is ended only if it exceeds it by 10 % and 0.5 s.
        memory_limit: Bytes that the isolated process may use.
        confirm: If the solver proves an optimum, let another engine search for anything better, within the time that
            the answer took (at least one second). `Result.evidence` then becomes "confirmed".
        certify: If the solver proves an optimum, search for a dual proof, for as long as the answer took (at least one
            second). This covers quality, workers, preemption, placement and, if dual prices suffice, task graphs.
            `Result.evidence` becomes "certified" once the proof is checked. Admission and rounds have only logic
            proofs, which `mlsched.certify` creates; it writes a proof of any problem to a folder.
        params: Further keywords are the solver's parameters.

    Returns:
        A `Result`: the plan, its values as computed by the judge, and the proven bound, if any.

    Raises:
        InvalidInput: An argument is invalid.
        SolverError: The answer breaks the contract (infeasible plan, refuted bound).
        Contradiction: Two engines disagree; a file has both answers.
        RuleFailure: The solver failed to answer, or changed the instance.
        BackendError: A backend failed, and the rules did not find a plan either.

    Examples:
        >>> inst = mlsched.generate("preemption", preset="surge", seed=21)
        >>> rule = mlsched.solve(inst, "fitgpp")
        >>> rule.value, rule.unit, rule.status
        (8924660, 'millionths', 'feasible')
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance: {type(instance).__name__}, expected an instance; see mlsched.generate and load")
    objective = resolve_objective(instance, objective).name
    choice = default_solver(instance, objective) if solver is None else solver
    registered, values = resolve_solver(instance.problem, choice, params)
    if registered.rule is None and objective not in registered.objectives:
        raise InvalidInput(f"{registered.name} cannot optimise {objective}; it can {', '.join(registered.objectives)}")
    limits = Limits(time_limit, work_limit, int(threads), int(seed))
    request = Request(registered, objective, values, limits, instance=instance)
    if memory_limit is not None and not isolate:
        raise InvalidInput(NO_MEMORY_LIMIT)
    call = call_solver
    with contextlib.ExitStack() as stack:
        if isolate:
            call = stack.enter_context(Isolated(request, "solve", memory_limit=memory_limit)).answer
        start_time = time.perf_counter()
        if registered.kind == "exact":
            outcome = solve_exactly(request, call, hint)
        else:
            check_hint(instance, hint)
            outcome = call(request)
    result = judged(request, outcome, time.perf_counter() - start_time)
    if confirm:
        from mlsched.api.confirm import with_confirmation

        result = with_confirmation(request, result)
    if certify:
        from mlsched.api.certified import with_certificate  # imported here because it loads all problems

        result = with_certificate(instance, result)
    return result
