"""Resolve a solver by its name, or wrap a user's function as one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_args

from mlsched.api.functions import function_of, is_function
from mlsched.api.guard import guarded
from mlsched.core.contract import Information, Instance, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.params import check_choice, resolve
from mlsched.core.registry import registry
from mlsched.core.solver import Solver

#: What `solve` and `simulate` accept as a solver: a registered name with parameters, or anyone's function, also by
#: its name ("my_rules:rule").
AnySolver = str | Callable[..., Any]


def resolve_solver(problem: str, solver: AnySolver, params: Mapping[str, Any]) -> tuple[Solver, dict[str, Any]]:
    """A registered solver by name, or anyone's function wrapped as one, with the parameters not at their default.

    A function says by an attribute `information` what it must know ("observed" where it has none), and by an attribute
    `called` which form of question it answers: with `rule.called = "online"`, the clock runs a rule of snapshots over a
    horizon (where it has none, it is asked the instance itself).
    """
    if isinstance(solver, str) and is_function(solver):
        solver, given = function_of(solver)
        params = {**given, **params}
    if isinstance(solver, str):
        registered, values = registry().solver(problem, solver)
        if params:
            values = resolve(registered.name, registered.parameters, {**values, **params})
        return guarded(registered), values
    if not callable(solver):
        raise InvalidInput(f"solver = {solver!r}: must be a name or a function answer(instance, *, rng) -> plan")
    declared = getattr(solver, "__mlsched__", None)
    if declared:
        own = registry().completed(declared[0])
        return guarded(own), resolve(own.name, own.parameters, params)
    name = getattr(solver, "__name__", type(solver).__name__)
    if hasattr(solver, "__order__"):  # a problem's way of serving what the function returns
        return solver.__order__.as_solver(name, problem, solver, params), {}
    _check_signature(name, solver)
    information: Any = getattr(solver, "information", "observed")
    check_choice(f"{name}.information", information, get_args(Information))
    called: Any = getattr(solver, "called", None)
    if called is not None:
        check_choice(f"{name}.called", called, get_args(Question))
    rule = functools.partial(solver, **params) if params else solver
    return guarded(Solver(name, problem, "heuristic", rule, information=information, called=called)), {}


def _check_signature(name: str, rule: Callable[..., Any]) -> None:
    """Refuse a function that does not take what it will be given."""
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):  # of C code, say
        return
    if not any(p.name == "rng" or p.kind is p.VAR_KEYWORD for p in parameters):
        had = ", ".join(p.name for p in parameters)
        raise InvalidInput(f"{name}({had}): expected {name}(instance, *, rng); add `*, rng` to its parameters")


def default_solver(instance: Instance, objective: str) -> str:
    """Return the name of the solver of a call that names none.

    It is `prover`'s, or the problem's default if no solver can prove this objective, which is then refused.
    """
    return prover(instance, objective) or registry().problem(instance.problem).default


def prover(instance: Instance, objective: str) -> str | None:
    """The problem's default, or else an exact solver of this form of question and objective; None without any.

    Of several one with a model: enumeration, which has none, soon finds an instance too large.
    """
    exact = registry().available(instance.problem, "exact")
    default = registry().problem(instance.problem).default
    able = [a for a in exact if a.answers(instance.called) and objective in a.objectives and not a.restricted]
    able.sort(key=lambda a: (a.name != default, a.fronts_by is None))
    return able[0].name if able else None
