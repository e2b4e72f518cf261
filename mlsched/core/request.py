"""The one object that carries a call: the solver with its settings, and the instance that it answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from mlsched.core.contract import Instance, Objective, Plan
from mlsched.core.formulation import NO_LIMITS, Limits
from mlsched.core.solver import Solver


@dataclasses.dataclass(frozen=True)
class Setup:
    """A solver with the objective that it optimises, its parameters, and its limits.

    params: complete and checked, as `resolve` returns them.
    """

    solver: Solver
    objective: str
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    limits: Limits = NO_LIMITS

    def on(self, instance: Instance) -> Request:
        """Return the request of this setup for an instance."""
        return Request(self.solver, self.objective, self.params, self.limits, instance=instance)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Setup):
    """One instance for a solver.

    start: a feasible plan that an exact solver may start from. better_than: the value that a model's plans must beat;
    an algorithm of its own ignores it.
    """

    instance: Instance
    start: Plan | None = None
    better_than: int | None = None

    @property
    def optimises(self) -> bool:
        """Whether an exact solver looks for the best value of the instance (a snapshot has no value)."""
        return self.solver.kind == "exact" and bool(self.instance.objectives)


def goal_of(instance: Instance, objective: str | None) -> Objective:
    """Return the objective of that name, the first one for None.

    An instance without objectives (a snapshot) takes those of its problem's main instance type.
    """
    if instance.objectives:
        judges = type(instance)
    else:
        from mlsched.core.registry import registry

        judges = registry().problem(instance.problem).instance_type
    return judges.objectives[0] if objective is None else judges.objective(objective)
