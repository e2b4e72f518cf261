"""Resolve a solver by its name, or wrap a user's function as one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, get_args

from mlsched.api.functions import function_of, is_function
from mlsched.api.guard import guarded
from mlsched.core.answerer import Answerer
from mlsched.core.contract import Information, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.params import one_of, resolve
from mlsched.core.registry import registry

#: What `solve` and `simulate` accept as an answerer: a registered name with parameters, or anyone's function, also by
#: its name ("my_rules:rule").
AnyAnswerer = str | Callable[..., Any]


def resolve_answerer(problem: str, solver: AnyAnswerer, params: Mapping[str, Any]) -> tuple[Answerer, dict[str, Any]]:
    """A registered answerer by name, or anyone's function wrapped as one, with the parameters not at their default.

    A function says by an attribute `information` what it must know ("observed" where it has none), and by an attribute
    `asks` which form of question it answers: with `rule.asks = "decision"`, the clock runs a rule of snapshots over a
    horizon (where it has none, it is asked the instance itself).
    """
    if isinstance(solver, str) and is_function(solver):
        solver, given = function_of(solver)
        params = {**given, **params}
    if isinstance(solver, str):
        answerer, values = registry().answerer(problem, solver)
        if params:
            values = resolve(answerer.name, answerer.parameters, {**values, **params})
        return guarded(answerer), values
    if not callable(solver):
        raise InvalidInput(f"solver = {solver!r}: must be a name or a function answer(instance, *, rng) -> plan")
    declared = getattr(solver, "__mlsched__", None)
    if declared:
        return guarded(declared[0]), resolve(declared[0].name, declared[0].parameters, params)
    name = getattr(solver, "__name__", type(solver).__name__)
    information: Any = getattr(solver, "information", "observed")
    one_of(f"{name}.information", information, get_args(Information))
    asks: Any = getattr(solver, "asks", None)
    if asks is not None:
        one_of(f"{name}.asks", asks, get_args(Question))
    rule = functools.partial(solver, **params) if params else solver
    return guarded(Answerer(name, problem, "heuristic", rule, information=information, asks=asks)), {}
