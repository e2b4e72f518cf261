"""Solvers that are not mlsched's own are handed a copy of the instance, so that they cannot change the question.

An instance is frozen and its arrays are read-only, which stops mistakes; `object.__setattr__` and `writeable = True`
get around both. What is judged is therefore never what such a solver had in its hands. mlsched's own solvers get
the instance itself: `check_scheduler` holds each of them to leaving it as it was.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core import plugins
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import MlschedError, RuleFailure, SolverError, TooLarge, with_article
from mlsched.core.record import specs
from mlsched.core.solver import Solver


def is_foreign(solver: Solver) -> bool:
    """Whether the solver is not one of mlsched's own."""
    function: Any = solver.function
    module = getattr(function, "__module__", None) or type(function).__module__
    root = str(module).partition(".")[0]
    return root != plugins.CORE and root not in plugins.own_packages()


def guarded(solver: Solver) -> Solver:
    """The solver, what is called of it `Guarded` where it is foreign."""
    if not is_foreign(solver):
        return solver

    def guard(form: Any) -> Any:
        return form if form is None or isinstance(form, Guarded) else Guarded(solver.name, form)

    return dataclasses.replace(
        solver, rule=guard(solver.rule), algorithm=guard(solver.algorithm), model=guard(solver.model)
    )


class Guarded:
    """A foreign rule, algorithm or model builder, called on a copy of the instance.

    thorough: compare all numbers of the copy afterwards, not only whether they were replaced or made writeable; in a
    process of its own that costs next to nothing.
    """

    thorough = False

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function

    def __call__(self, instance: Instance, **arguments: Any) -> Any:
        """What the function returns; whatever it raises is its fault, not the caller's input."""
        given = instance.private()
        before = tuple(given.__dict__.values())
        try:
            answer = self.function(given, **arguments)
        except TooLarge:
            raise  # what it refuses to answer is not answered wrongly
        except MlschedError as error:
            raise SolverError(f"{self.name} raised {type(error).__name__}: {error}") from error
        if _touched(given, before, instance) or (self.thorough and not instance.same_as(given)):
            raise RuleFailure(f"{self.name} changed the instance that it was asked about", "cheated")
        plan = answer[0] if isinstance(answer, tuple) and answer else answer
        if isinstance(plan, Plan) and type(plan) is not instance.plan_type:
            # A class of its own could say one thing to the judge and another to the clock.
            raise SolverError(
                f"{self.name} returned {with_article(type(plan).__name__)}: "
                f"must be {with_article(instance.plan_type.kind)}"
            )
        return answer


def _touched(given: Instance, before: tuple[Any, ...], instance: Instance) -> bool:
    """Whether a field was replaced or removed, or an array made writeable.

    What was computed meanwhile comes after what was there; so do fields that were first read meanwhile, which hold what
    the instance itself holds.
    """
    now, known = given.__dict__, specs(type(instance))
    if len(now) < len(before) or not all(map(operator.is_, before, now.values())):
        return True
    since = itertools.islice(now.items(), len(before), None)
    read = {name: value for name, value in since if name in known}
    arrays = [value for value in (*before, *read.values()) if type(value) is np.ndarray]
    writeable = any(value.flags.writeable for value in arrays)
    return writeable or any(not np.array_equal(value, getattr(instance, name)) for name, value in read.items())
