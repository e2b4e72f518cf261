"""Protection of instances: foreign solvers receive a copy, so that they cannot change the instance that is judged.

An instance is frozen and its arrays are read-only, which prevents mistakes; `object.__setattr__` and `writeable = True`
circumvent both. The judge therefore never uses an object that a foreign solver received. mlsched's own solvers get the
instance itself; `check_scheduler` verifies that each of them leaves it unchanged.
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
    """Return whether the solver is not one of mlsched's own."""
    function: Any = solver.function
    module = getattr(function, "__module__", None) or type(function).__module__
    root = str(module).partition(".")[0]
    return root != plugins.CORE and root not in plugins.own_packages()


def with_guard(solver: Solver) -> Solver:
    """Return the solver, with `Guarded` functions if it is foreign."""
    if not is_foreign(solver):
        return solver

    def guard(form: Any) -> Any:
        return form if form is None or isinstance(form, Guarded) else Guarded(solver.name, form)

    return dataclasses.replace(
        solver, rule=guard(solver.rule), algorithm=guard(solver.algorithm), model=guard(solver.model)
    )


class Guarded:
    """Foreign rule, algorithm or model builder, called on a copy of the instance.

    Attributes:
        thorough: Compare all numbers of the copy after the call, beyond replaced or writeable arrays. In a separate
            process the cost is negligible.
    """

    thorough = False

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function

    def __call__(self, instance: Instance, **arguments: Any) -> Any:
        """Call the function on a copy; exceptions of the function are solver errors, not input errors."""
        copy = instance.private()
        before = tuple(copy.__dict__.values())
        try:
            answer = self.function(copy, **arguments)
        except TooLarge:
            raise  # a rejected instance is not a wrong answer
        except MlschedError as error:
            raise SolverError(f"{self.name} raised {type(error).__name__}: {error}") from error
        if _was_mutated(copy, before, instance) or (self.thorough and not instance.same_as(copy)):
            raise RuleFailure(f"{self.name} changed the instance that it received", "cheated")
        plan = answer[0] if isinstance(answer, tuple) and answer else answer
        if isinstance(plan, Plan) and type(plan) is not instance.plan_type:
            # An instance of a subclass could show different plans to the judge and to the clock.
            raise SolverError(
                f"{self.name} returned {with_article(type(plan).__name__)}, expected "
                f"{with_article(instance.plan_type.kind)}"
            )
        return answer


def _was_mutated(copy: Instance, before: tuple[object, ...], instance: Instance) -> bool:
    """Return whether a user's function changed the copy of an instance.

    Changes are replaced or removed fields, and arrays that are writeable now. New entries of `__dict__` are allowed:
    cached values, and fields at their first reading, which must equal the instance's.
    """
    after, specifications = copy.__dict__, specs(type(instance))
    if len(after) < len(before) or not all(map(operator.is_, before, after.values())):
        return True
    added = itertools.islice(after.items(), len(before), None)
    first_reads = {name: value for name, value in added if name in specifications}
    arrays = [value for value in (*before, *first_reads.values()) if type(value) is np.ndarray]
    writeable = any(value.flags.writeable for value in arrays)
    return writeable or any(not np.array_equal(value, getattr(instance, name)) for name, value in first_reads.items())
