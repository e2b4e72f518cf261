"""An answerer for one form of question answers others: rules are rolled out or tabulated, planners look ahead anew.

The clock provides both (`Simulation.rollout`, `Simulation.receding`); here they are picked by what was asked and what
the answerer answers natively.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched import solvers
from mlsched.api.known import in_spite_of, keep_known
from mlsched.core.answerer import Answerer
from mlsched.core.contract import Instance, Plan, Question
from mlsched.core.errors import AnswererError, InvalidInput, SolverError, a_or_an
from mlsched.core.formulation import NO_LIMITS, Limits
from mlsched.core.registry import registry
from mlsched.simulation import simulations
from mlsched.simulation.clock import Rule

#: How an answerer of the other form is called for a question of this form.
ADAPTERS: dict[Question, str] = {"horizon": "rollout", "decision": "receding", "policy": "tabulate"}
#: Which questions an answerer of one form can be adapted to: rules decide in any run, planners plan for a decision.
ADAPTED: dict[Question, tuple[Question, ...]] = {"decision": ("horizon", "policy"), "horizon": ("decision",)}
#: Finds a plan for an exact answerer to start from, and what that leaves of its limits.
Start = Callable[[Instance, Answerer, str, Limits], tuple[Plan | None, Limits]]


def prover(instance: Instance, objective: str) -> str | None:
    """The problem's default, or else an exact answerer of this form of question and objective; None without any.

    Of several one with a model: enumeration, which has none, soon finds an instance too large.
    """
    exact = registry().available(instance.problem, "exact")
    default = registry().problem(instance.problem).default
    able = [a for a in exact if native(a, instance.asks) and objective in a.objectives and not a.restricted]
    able.sort(key=lambda a: (a.name != default, a.fronts_by is None))
    return able[0].name if able else None


def native(answerer: Answerer, asks: Question) -> bool:
    """Whether the answerer answers questions of this form itself. Anyone's own function answers what it is given."""
    return answerer.asks in (None, asks)


def can_answer(answerer: Answerer, asks: Question) -> bool:
    """Whether the answerer answers questions of this form, itself or through an adapter of the problem's world."""
    return native(answerer, asks) or _adapter(answerer, asks) is not None


def adapted(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, params: dict[str, Any]
) -> Plan | None:
    """The plan of an answerer that natively answers the other form, None when it has none (in time).

    InvalidInput when there is no adapter.
    """
    adapter = _adapter(answerer, instance.asks)
    if adapter is None:
        raise InvalidInput(
            f"{answerer.name}: answers a {answerer.asks} of {answerer.problem}, and the instance asks for a "
            f"{instance.asks}; there is no adapter"
        )
    if answerer.asks == "decision":
        rule = as_rule(answerer, params, objective, limits.seconds)
        plan = adapter(instance, dataclasses.replace(rule, options=answerer.world_options(params)), limits.seed)
    else:
        plan = adapter(instance, lambda question: _planned(answerer, question, objective, limits, params))
    if plan is not None and not isinstance(plan, Plan):
        raise AnswererError(
            f"{answerer.name}: {ADAPTERS[instance.asks]} gave {a_or_an(type(plan).__name__)}, not a plan"
        )
    return plan


def _adapter(answerer: Answerer, asks: Question) -> Callable[..., Any] | None:
    if answerer.asks is None or asks not in ADAPTED.get(answerer.asks, ()):
        return None
    world = simulations().get(answerer.problem)
    adapter: Callable[..., Any] | None = getattr(world, ADAPTERS[asks], None)
    return adapter


def _planned(
    answerer: Answerer, question: Instance, objective: str, limits: Limits, params: dict[str, Any]
) -> Plan | None:
    """The plan of a planner for one question of its own form, None when it found none in time."""
    if answerer.rule is None:
        return solvers.run(answerer, question, objective, limits, None, params).plan
    rng = np.random.default_rng(limits.seed)
    plan: Plan | None = answerer.rule(answerer.shown(question), memory=None, rng=rng, limits=limits, **params)[0]
    return plan


@dataclasses.dataclass(frozen=True)
class _Call:
    """An answerer with its settings, in the forms in which the clock calls it; can be sent between processes."""

    answerer: Answerer
    params: dict[str, Any]
    objective: str
    time_limit: float | None
    start: Start | None

    def _limits(self, rng: np.random.Generator) -> Limits:
        return Limits(seconds=self.time_limit, seed=int(rng.integers(2**31)))

    def exact(self, instance: Instance, memory: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        limits, hint = self._limits(rng), None
        if self.start is not None and self.time_limit is not None:
            # What a limit cuts off is as good as where it began; a proof is the same from anywhere.
            hint, limits = self.start(instance, self.answerer, self.objective, limits)
        try:
            outcome = solvers.run(self.answerer, instance, self.objective, limits, hint, self.params)
        except SolverError as error:
            outcome = in_spite_of(error, self.answerer, hint)
        return keep_known(instance, self.answerer, self.objective, hint, outcome).plan, memory

    def planner(self, instance: Instance, memory: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        plan = adapted(self.answerer, instance, self.objective, self._limits(rng), self.params)
        if plan is None:
            raise AnswererError(f"{self.answerer.name}: found no plan for the rest of the run; give it more time")
        return plan, memory

    def rule(self, instance: Instance, memory: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        assert self.answerer.rule is not None
        # A rule of a run is pure: it is told no limit, so that another machine gives the same run.
        shown = self.answerer.shown(instance)
        return self.answerer.rule(shown, memory=memory, rng=rng, limits=NO_LIMITS, **self.params)


def as_rule(
    answerer: Answerer, params: dict[str, Any], objective: str, time_limit: float | None, start: Start | None = None
) -> Rule:
    """An answerer of any kind as the clock calls it; `start` finds an exact one's warm start within a time limit."""
    call = _Call(answerer, params, objective, time_limit, start)
    if answerer.asks == "horizon":
        return Rule(answerer.name, call.planner)
    return Rule(answerer.name, call.exact if answerer.rule is None else call.rule)
