"""Answering one instance: the path from a name or a function to a judged Result."""

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
    """Answer `instance` and let the judge recompute the answer.

    An exact answer is never worse than the best plan of the problem's warm-start rules, and has a bound, however short
    the limit, and also where its backend fails (`Result.doubt` then says how).

    Args:
        instance: what is asked; `generate` and `load` make one.
        solver: a registered name, with parameters if need be ("fitgpp:s=8"), or a function `answer(instance, *, rng)`;
            by default an exact solver: the problem's default, or another where that cannot, as `mlsched solve` does.
        objective: one of the instance's, by name; the first by default.
        time_limit: wall seconds, for exact solvers (finding a start included) and searches.
        work_limit: the same in the backend's deterministic measure, which is reproducible, unlike seconds.
        seed: of everything random in the answer, an integer >= 0; the same seed gives the same answer.
        threads: how many an exact solver may use.
        hint: a plan to start from, added to those of the warm-start rules; "none" starts cold.
        isolate: ask the solver in a process of its own, which is ended at `time_limit`; a solver that keeps to the
            limit by itself is ended only where it exceeds it by 10 % and 0.5 s.
        memory_limit: bytes that such a process may take.
        confirm: where the solver proves an optimum, ask another engine whether anything is better, within the time
            that the answer took (or a second, where that is more); `Result.evidence` then is "confirmed".
        certify: where it proves an optimum, look for a dual proof, for as long as the answer took (or a second,
            where that is more): of quality, workers, preemption, placement, and, where prices reach it, of task graphs.
            Once checked, the evidence is "certified". Admission and rounds have logic proofs alone, which only
            `mlsched.certify` makes; it writes a proof of any problem to a folder.
        params: further keywords are the solver's parameters.

    Returns:
        A `Result`: the plan, its values as the judge computed them, and the bound that was proved, if any.

    Raises:
        InvalidInput: the call is wrong.
        SolverError: the answer breaks the contract (infeasible plan, refuted bound).
        Contradiction: two engines disagree; their answers are then in a file.
        RuleFailure: there is no answer, or the solver tampered with the question.
        BackendError: a backend fails, and no rule has a plan either.

    Examples:
        >>> inst = mlsched.generate("preemption", preset="surge", seed=21)
        >>> rule = mlsched.solve(inst, "fitgpp")
        >>> rule.value, rule.unit, rule.status
        (8924660, 'millionths', 'feasible')
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance = {type(instance).__name__}: must be an instance; see mlsched.generate and load")
    objective = resolve_objective(instance, objective).name
    named = default_solver(instance, objective) if solver is None else solver
    registered, values = resolve_solver(instance.problem, named, params)
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
        started = time.perf_counter()
        if registered.kind == "exact":
            outcome = solve_exactly(request, call, hint)
        else:
            check_hint(instance, hint)
            outcome = call(request)
    result = judged(request, outcome, time.perf_counter() - started)
    if confirm:
        from mlsched.api.confirm import confirmed

        result = confirmed(request, result)
    if certify:
        from mlsched.api.certified import certified  # which knows all problems

        result = certified(instance, result)
    return result
