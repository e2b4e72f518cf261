"""Scheduler under test, by name or as a function, in the form in which the checks call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched import api
from mlsched.api.adapters import adapted_plan, as_rule
from mlsched.core.contract import Instance, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import NO_LIMITS
from mlsched.core.request import Setup
from mlsched.core.solver import Solver
from mlsched.simulation.clock import Rule


class NoFeasiblePlan(Exception):
    """Raised if the simulator that rolls a rule out finds the instance infeasible, which is not a fault of the rule."""


class Subject(Setup):
    """The scheduler under test with its settings."""

    @property
    def name(self) -> str:
        """The scheduler's own name."""
        return self.solver.name

    def call(self, instance: Instance) -> Any:
        """Return its plan for one instance, with a fresh rng and without memory; a rule that decides now is rolled out.

        Raises:
            NoFeasiblePlan: The simulator rejects the instance.
        """
        request = self.on(instance)
        if not self.solver.answers(instance.called):
            plan = adapted_plan(request)
            if plan is None:
                raise NoFeasiblePlan
            return plan
        rng = np.random.default_rng(0)
        assert self.solver.rule is not None  # `subject` rejects the others
        return self.solver.rule(
            instance.shown(self.solver.information), memory=None, rng=rng, limits=NO_LIMITS, **self.params
        )[0]

    def rule(self) -> Rule:
        """Return the scheduler as a rule of the clock."""
        return as_rule(self)

    def decides(self, called: Question) -> bool:
        """Return whether the clock can call the scheduler at every scheduling event.

        called: Form of the problem's instances.
        """
        return (self.solver.called or called) == "online"


def subject(
    scheduler: str | Callable[..., Any], problem: str, objective: str, stateful: bool, called: Question | None
) -> Subject:
    """Return the scheduler under test; reject exact solvers, which have other checks.

    Args:
        scheduler: A function, or the name of a registered rule.
        problem: Name of the problem.
        objective: Objective by which plans are compared.
        stateful: The rule takes and returns memory.
        called: Form of the instances that it answers.
    """
    if isinstance(scheduler, str):
        entry, params = api.resolve_solver(problem, scheduler, {})
        if entry.rule is None:
            raise InvalidInput(f"{entry.name}: is exact; check_scheduler is for rules and policies")
        return Subject(entry, objective, params)
    name = getattr(scheduler, "__name__", type(scheduler).__name__)
    information: Any = getattr(scheduler, "information", "observed")
    entry = Solver(name, problem, "heuristic", scheduler, information=information, stateful=stateful, called=called)
    return Subject(entry, objective)
