"""Request: one object with the solver, its settings, and the instance to answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from mlsched.core.contract import Instance, Objective, Plan
from mlsched.core.formulation import NO_LIMITS, Limits
from mlsched.core.solver import Solver


@dataclasses.dataclass(frozen=True)
class Setup:
    """Solver with its objective, parameters and limits.

    Attributes:
        solver: The solver.
        objective: Objective that it optimises.
        params: Complete and checked parameters, as returned by `resolve`.
        limits: Limits of the call.
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

    Attributes:
        instance: The instance.
        start: Feasible plan from which an exact solver may start.
        better_than: Value that a model's plans must beat; algorithms ignore it.
    """

    instance: Instance
    start: Plan | None = None
    better_than: int | None = None

    @property
    def optimises(self) -> bool:
        """Whether an exact solver optimises the instance (a snapshot has no value)."""
        return self.solver.kind == "exact" and bool(self.instance.objectives)


def resolve_objective(instance: Instance, objective: str | None) -> Objective:
    """Return the objective of that name, or the first objective for None.

    An instance without objectives (a snapshot) uses those of its problem's main instance type.
    """
    if instance.objectives:
        judges = type(instance)
    else:
        from mlsched.core.registry import registry

        judges = registry().problem(instance.problem).instance_type
    return judges.objectives[0] if objective is None else judges.objective(objective)
