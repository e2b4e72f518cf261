"""From a model and its objectives to a front: `enumerate_front`, and `run` for any backend."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from mlsched.core.aliases import BackendModel, BackendResult, Expression, Variable
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import BackendError, InvalidInput, with_article
from mlsched.core.params import Number, Positive, Seed, Threads, check_choice
from mlsched.core.scalar import Scalar, Searcher, Solution, Stages
from mlsched.solvers.front import epsilon_constraint, laumanns, tamby_vanderpooten
from mlsched.solvers.front.boxes import undominated
from mlsched.solvers.front.certificate import Certificate
from mlsched.solvers.front.journal import Journal
from mlsched.solvers.front.result import Front, FrontStatus, boxes
from mlsched.solvers.front.search import Search, Stop

#: Name of a method -> the function that runs its search.
METHODS: dict[str, Callable[[Search], None]] = {
    "epsilon-constraint": epsilon_constraint.run,
    "laumanns": laumanns.run,
    "tamby-vanderpooten": tamby_vanderpooten.run,
}
#: The most sub-problems that a method solves at once.
AT_ONCE = {"epsilon-constraint": 2, "laumanns": 1, "tamby-vanderpooten": 64}


@validate_arguments
def enumerate_front(
    model: BackendModel,
    objectives: Sequence[Expression],
    senses: Sequence[str],
    *,
    variables: Sequence[Variable] | None = None,
    decode: Callable[[Callable[[Variable], Any]], Any] | None = None,
    method: str | None = None,
    stages: Stages | None = None,
    threads: Threads = 1,
    seed: Seed = 0,
    time_limit: Positive | None = None,
    solve_limit: Number | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Front:
    """Enumerate all non-dominated points of an integer model, with a proof of completeness.

    Args:
        model: an `ortools` CpModel or a linear Pyomo model, without an objective; it is not changed.
        objectives: two or more linear expressions over its integer variables with integer coefficients.
        senses: "min" or "max" for each.
        variables: variables whose values `Front.solutions` stores (default: all, in the model's order).
        decode: `decode(value_of)` makes `Front.plans` from a solution.
        method: "epsilon-constraint" (2 objectives; the default there), "laumanns", "tamby-vanderpooten" (default
            otherwise).
        stages: "one" (W f_k + sum f in one solve), "two" (f_k, then the sum); default: one, unless its weights are too
            large for the backend or two suit the model.
        threads: number of threads. For a CpModel, "epsilon-constraint" solves up to two sub-problems at once and
            "tamby-vanderpooten" up to one per thread, with the threads divided among them, so the number of solves may
            vary. For other models, each solve has all threads.
        seed: an integer >= 0.
        time_limit: wall seconds, after which the front is partial.
        solve_limit: number of solver calls, after which the front is partial; reproducible with one thread.
        resume: a file of answers, created or continued; its answers are not computed again.
        progress: called with (points, sub-problems) after each solve, never twice at once, but perhaps on another
            thread.

    Returns:
        The front; its `status` is "complete" if the search was not limited.

    Raises:
        InvalidInput: the model or the call does not fit.
        InvalidFile: the file to resume from is invalid.

    Examples:
        >>> from ortools.sat.python import cp_model
        >>> model = cp_model.CpModel()
        >>> take = [model.new_bool_var(f"take{i}") for i in range(2)]
        >>> profit, weight = 4 * take[0] + 5 * take[1], 3 * take[0] + 4 * take[1]
        >>> front = mlsched.enumerate_front(model, [profit, weight], ["max", "min"], variables=take)
        >>> front.sort_keys.tolist()
        [[9, 7], [5, 4], [4, 3], [0, 0]]
    """
    check_number(objectives)
    threads, seed = int(threads), int(seed)
    workers = workers_of(method_of(method, len(objectives)), "cp-sat" if is_cp_sat(model) else "highs", threads)
    scalar = scalar_of(model, objectives, senses, threads=threads // workers, seed=seed)

    def again(backend: str) -> Scalar:
        return _other(model, objectives, senses, backend, scalar)

    return run(
        scalar,
        senses,
        again,
        variables=variables,
        decode=decode,
        method=method,
        stages=stages,
        time_limit=time_limit,
        solve_limit=solve_limit,
        resume=resume,
        progress=progress,
        workers=workers,
    )


def method_of(method: str | None, objectives: int) -> str:
    """Return the given method, or the default for this number of objectives."""
    method_name = method or ("epsilon-constraint" if objectives == 2 else "tamby-vanderpooten")
    check_choice("method", method_name, METHODS)
    return method_name


def workers_of(method: str, backend: str, threads: int) -> int:
    """Return the number of sub-problems that are solved at once."""
    return min(threads, AT_ONCE[method]) if backend == "cp-sat" else 1


def check_number(objectives: Sequence[Expression]) -> None:
    """Refuse a front of fewer than two objectives."""
    if len(objectives) < 2:
        raise InvalidInput(f"objectives: {len(objectives)} given: a front needs two or more; for one, solve")


def is_cp_sat(model: BackendModel) -> bool:
    """Return whether a model is a CP-SAT model, without importing ortools."""
    return any(c.__name__ == "CpModel" for c in type(model).__mro__)


def scalar_of(
    model: BackendModel, objectives: Sequence[Expression], senses: Sequence[str], *, threads: int = 1, seed: int = 0
) -> Scalar:
    """Return the backend of a model by its type."""
    if is_cp_sat(model):
        from mlsched.solvers.front.cp_sat import CpSatScalar

        return CpSatScalar(model, objectives, senses, threads=threads, seed=seed)
    if hasattr(model, "component_data_objects"):
        from mlsched.solvers.front.highs import HighsScalar
        from mlsched.solvers.front.program import from_pyomo

        return HighsScalar(from_pyomo(model, objectives, senses), threads=threads, seed=seed)
    raise InvalidInput(f"model: {with_article(type(model).__name__)}, expected an ortools CpModel or a Pyomo model")


def _other(
    model: BackendModel, objectives: Sequence[Expression], senses: Sequence[str], backend: str, first: Scalar
) -> Scalar:
    """Return the backend of that name for the same question; translate the model if it belongs to the other backend."""
    from mlsched.solvers.front.cp_sat import CpSatScalar
    from mlsched.solvers.front.highs import HighsScalar, ScipScalar
    from mlsched.solvers.front.program import from_cp_sat, from_pyomo, to_cp_sat

    check_choice("backend", backend, ("cp-sat", "highs", "scip"))
    if backend == first.name:
        return scalar_of(model, objectives, senses)
    linear = ScipScalar if backend == "scip" else HighsScalar
    if isinstance(first, CpSatScalar):
        return linear(from_cp_sat(model, first.objectives))
    if backend == "scip":
        return linear(from_pyomo(model, objectives, senses))
    return CpSatScalar(*to_cp_sat(from_pyomo(model, objectives, senses)))


def run(
    scalar: Scalar,
    senses: Sequence[str],
    again: Callable[[str], Scalar],
    *,
    variables: Sequence[Variable] | None = None,
    decode: Callable[[Callable[[Variable], Any]], Any] | None = None,
    method: str | None = None,
    stages: Stages | None = None,
    time_limit: float | None = None,
    solve_limit: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    workers: int = 1,
) -> Front:
    """Run `enumerate_front` for any backend; `again(name)` makes the backend for `Front.verify`.

    workers: the number of searchers, including `scalar`, each on a thread; 1 if `scalar` is not a `Searcher`.
    """
    method_name = method_of(method, len(scalar.low))
    if stages is not None:
        check_choice("stages", stages, ("one", "two"))
    start_time = time.perf_counter()
    journal = None
    if resume is not None:
        journal = Journal(
            resume, {"fingerprint": scalar.fingerprint, "method": method_name, "stages": stages or "auto"}
        )
    crew = [cast(Searcher, scalar)] if workers > 1 else []
    crew += [crew[0].another() for _ in range(workers - 1)]
    search = Search(
        scalar,
        crew=crew,
        stages=stages,
        time_limit=time_limit,
        solve_limit=solve_limit,
        journal=journal,
        progress=progress,
    )
    status: str = "complete"
    try:
        search.prepare()
        METHODS[method_name](search)
    except Stop as stop:
        status = str(stop)
    finally:
        if journal is not None:
            journal.close()
    return _front_of_search(
        search, status, senses, again, variables, decode, method_name, time.perf_counter() - start_time
    )


def _front_of_search(
    search: Search,
    status: BackendResult,
    senses: Sequence[str],
    again: Callable[[str], Scalar],
    variables: Sequence[Variable] | None,
    decode: Callable[[Callable[[Variable], Any]], Any] | None,
    method: str,
    seconds: float,
) -> Front:
    """Return the front of a finished search. The certificate alone decides whether it is complete."""
    scalar = search.scalar
    certificate = Certificate(tuple(scalar.low), tuple(scalar.high), tuple(search.subproblems))
    points = sorted(search.points)
    lower, upper = certificate.open_zones(points)
    signs = np.array([1 if sense == "min" else -1 for sense in senses], dtype=np.int64)
    solutions: list[Solution] = [search.points[p] for p in points]
    if not len(upper):
        status = "complete" if points else "infeasible"
    elif status == "complete":
        status = "failed"
        if not search.failures:
            raise BackendError(
                f"{method} ended with {len(upper)} open zones and without a failure; please report this model"
            )
    finished: FrontStatus = status
    front_result = undominated(search.unproven, search.points)
    return Front(
        sort_keys=np.array(points, dtype=np.int64).reshape(len(points), len(signs)) * signs,
        solutions=tuple(scalar.values_of(s, variables) for s in solutions),
        plans=None if decode is None else tuple(decode(scalar.value_of(s)) for s in solutions),
        senses=tuple(senses),
        status=finished,
        open=boxes(lower, upper, senses),
        solves=search.solves,
        recalled=search.recalled,
        failures=tuple(search.failures),
        certificate=certificate,
        method=method,
        backend=scalar.name,
        seconds=seconds,
        _scalar=again,
        unproven=np.array(list(front_result), dtype=np.int64).reshape(len(front_result), len(signs)) * signs,
        unproven_plans=None if decode is None else tuple(decode(scalar.value_of(s)) for s in front_result.values()),
    )
