"""Resolve a solver by its name, or wrap a user's function as one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_args

from mlsched.api.functions import function_of, is_function
from mlsched.api.guard import with_guard
from mlsched.core.contract import Information, Instance, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Value, check_choice, resolve
from mlsched.core.registry import registry
from mlsched.core.solver import Solver

#: Solver argument of `solve` and `simulate`: a registered name with parameters, or a user's function, also by its name
#: ("my_rules:rule").
AnySolver = str | Callable[..., Any]


def resolve_solver(problem: str, solver: AnySolver, params: Mapping[str, Value]) -> tuple[Solver, dict[str, Any]]:
    """Return a registered solver by name, or a wrapped user function, with the parameters that differ from the default.

    A function may declare two attributes. `information` is the information it needs ("observed" by default). `called`
    is the form of instance that it answers: with `rule.called = "online"`, the clock runs a rule for snapshots over a
    horizon (by default it receives the instance itself).
    """
    if isinstance(solver, str) and is_function(solver):
        solver, settings = function_of(solver)
        params = {**settings, **params}
    if isinstance(solver, str):
        registered, values = registry().solver(problem, solver)
        if params:
            values = resolve(registered.name, registered.parameters, {**values, **params})
        return with_guard(registered), values
    if not callable(solver):
        raise InvalidInput(f"solver: {solver!r}, expected a name or a function answer(instance, *, rng) -> plan")
    declarations = getattr(solver, "__mlsched__", None)
    if declarations:
        own = registry().completed(declarations[0])
        return with_guard(own), resolve(own.name, own.parameters, params)
    name = getattr(solver, "__name__", type(solver).__name__)
    if hasattr(solver, "__order__"):  # a problem's own adapter for the value that the function returns
        return solver.__order__.as_solver(name, problem, solver, params), {}
    _check_signature(name, solver)
    information: Any = getattr(solver, "information", "observed")
    check_choice(f"{name}.information", information, get_args(Information))
    called: Any = getattr(solver, "called", None)
    if called is not None:
        check_choice(f"{name}.called", called, get_args(Question))
    rule = functools.partial(solver, **params) if params else solver
    return with_guard(Solver(name, problem, "heuristic", rule, information=information, called=called)), {}


def _check_signature(name: str, rule: Callable[..., Any]) -> None:
    """Raise InvalidInput for a function that does not take the arguments of a rule."""
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):  # C code, for example
        return
    if not any(p.name == "rng" or p.kind is p.VAR_KEYWORD for p in parameters):
        had = ", ".join(p.name for p in parameters)
        raise InvalidInput(f"{name}({had}): expected {name}(instance, *, rng); add `*, rng` to its parameters")


def default_solver(instance: Instance, objective: str) -> str:
    """Return the name of the solver for a call without one.

    It is the result of `prover`, or the problem's default if this objective cannot be proved; the default then rejects
    it.
    """
    return prover(instance, objective) or registry().problem(instance.problem).default


def prover(instance: Instance, objective: str) -> str | None:
    """Return the problem's default, or another exact solver for this form and objective; None without any.

    Solvers with a model come first, because enumeration, without a model, soon rejects large instances.
    """
    exact = registry().available(instance.problem, "exact")
    default = registry().problem(instance.problem).default
    candidates = [a for a in exact if a.answers(instance.called) and objective in a.objectives and not a.restricted]
    candidates.sort(key=lambda a: (a.name != default, a.fronts_by is None))
    return candidates[0].name if candidates else None
