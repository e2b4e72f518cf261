"""Adapters between forms of instances: rules are rolled out or tabulated, planners re-plan at each decision.

The simulator provides both (`Simulation.rollout`, `Simulation.receding`). This module selects one by the form of the
instance and the form that the solver answers itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched import solvers
from mlsched.api.exact import solve_exactly
from mlsched.core.contract import Instance, Plan, Question
from mlsched.core.errors import InvalidInput, SolverError, with_article
from mlsched.core.formulation import NO_LIMITS
from mlsched.core.request import Request, Setup
from mlsched.core.solver import Solver
from mlsched.simulation import simulations
from mlsched.simulation.clock import Rule

#: Form of the instance -> name of the simulator's adapter for a solver of another form.
ADAPTERS: dict[Question, str] = {"offline": "rollout", "online": "receding", "policy": "tabulate"}
#: Form of the solver -> forms of instances that it can be adapted to: rules decide in any run, planners plan for a
#: decision.
ADAPTABLE_TO: dict[Question, tuple[Question, ...]] = {"online": ("offline", "policy"), "offline": ("online",)}


def can_answer(solver: Solver, called: Question) -> bool:
    """Return whether the solver answers instances of this form, directly or through an adapter of the simulator."""
    return solver.answers(called) or _adapter(solver, called) is not None


def adapted_plan(request: Request) -> Plan | None:
    """Return the plan of a solver of another form, or None if time is over first.

    Raises:
        InvalidInput: The two forms lack an adapter.
    """
    solver, instance = request.solver, request.instance
    adapter = _adapter(solver, instance.called)
    if adapter is None:
        raise InvalidInput(
            f"{solver.name}: is called {solver.called} for {solver.problem}, and the instance is called "
            f"{instance.called}; an adapter is missing"
        )
    if solver.called == "online":
        rule = dataclasses.replace(as_rule(request), options=solver.world_options(request.params))
        plan = adapter(instance, rule, request.limits.seed)
    else:
        plan = adapter(instance, lambda question: _plan_of_planner(request.on(question)))
    if plan is not None and not isinstance(plan, Plan):
        raise SolverError(
            f"{solver.name}: {ADAPTERS[instance.called]} gave {with_article(type(plan).__name__)}, not a plan"
        )
    return plan


def _adapter(solver: Solver, called: Question) -> Callable[..., Any] | None:
    if solver.called is None or called not in ADAPTABLE_TO.get(solver.called, ()):
        return None
    world = simulations().get(solver.problem)
    adapter: Callable[..., Any] | None = getattr(world, ADAPTERS[called], None)
    return adapter


def _plan_of_planner(request: Request) -> Plan | None:
    """Return the plan of a planner for one instance of its own form, or None if time is over first."""
    if request.solver.rule is None:
        return solvers.run(request).plan
    rng = np.random.default_rng(request.limits.seed)
    plan: Plan | None
    plan, _ = request.solver.rule(
        request.instance.shown(request.solver.information),
        memory=None,
        rng=rng,
        limits=request.limits,
        **request.params,
    )
    return plan


@dataclasses.dataclass(frozen=True)
class _Call:
    """Solver with its settings, in the forms in which the clock calls it; it can be sent between processes."""

    setup: Setup
    starts: bool

    def _request(self, instance: Instance, rng: np.random.Generator) -> Request:
        request = self.setup.on(instance)
        return dataclasses.replace(request, limits=dataclasses.replace(request.limits, seed=int(rng.integers(2**31))))

    def exact(self, instance: Instance, memory: object, rng: np.random.Generator) -> tuple[Any, Any]:
        # With a limit the start matters; a proof does not depend on it.
        warm = self.starts and self.setup.limits.seconds is not None
        outcome = solve_exactly(self._request(instance, rng), solvers.run, None if warm else "none")
        return outcome.plan, memory

    def planner(self, instance: Instance, memory: object, rng: np.random.Generator) -> tuple[Any, Any]:
        plan = adapted_plan(self._request(instance, rng))
        if plan is None:
            raise SolverError(f"{self.setup.solver.name}: found no plan for the rest of the run; give it more time")
        return plan, memory

    def rule(self, instance: Instance, memory: object, rng: np.random.Generator) -> tuple[Any, Any]:
        solver, params = self.setup.solver, self.setup.params
        assert solver.rule is not None
        # A rule inside a run is unlimited, so that the run is the same on every machine.
        return solver.rule(instance.shown(solver.information), memory=memory, rng=rng, limits=NO_LIMITS, **params)


def as_rule(setup: Setup, *, starts: bool = False) -> Rule:
    """Return a solver of any form as a rule that the clock calls.

    Args:
        setup: The solver with its settings; its limit in seconds applies to each decision.
        starts: Let an exact solver with a time limit start from the problem's warm-start rules.
    """
    call = _Call(setup, starts)
    if setup.solver.called == "offline":
        return Rule(setup.solver.name, call.planner)
    order = None if setup.solver.order is None else setup.solver.order(**setup.params)
    return Rule(setup.solver.name, call.exact if setup.solver.rule is None else call.rule, order=order)
