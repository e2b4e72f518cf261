"""The properties that every scheduling rule must have, checked over random and adversarial instances."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlsched import api
from mlsched.api.adapters import adapted, native
from mlsched.core.contract import Instance, Objective, Question
from mlsched.core.errors import InvalidInput, MlschedError
from mlsched.core.formulation import Limits
from mlsched.core.gap import Gap, Gaps, gap_between, sum_up
from mlsched.core.registry import Answerer, registry
from mlsched.core.result import Result


@dataclasses.dataclass(frozen=True)
class Checked:
    """What a passed check saw: how many instances, and the scheduler's gaps to their proven optima.

    gaps: of no instance when nothing was compared.
    """

    instances: int
    gaps: Gaps

    def __str__(self) -> str:
        if self.gaps.optimal is None:
            return f"{self.instances} instances"
        return f"{self.instances} instances: optimal on {100 * self.gaps.optimal:.0f} %, {self.gaps}"


def check_scheduler(
    scheduler: str | Callable[..., Any],
    problem: str,
    *,
    objective: str | None = None,
    examples: int = 200,
    reference: str | None = "brute-force",
    stateful: bool = False,
    asks: Question | None = None,
) -> Checked:
    """Check a rule `scheduler(instance, *, rng) -> plan` on `examples` small instances of `problem`.

    Half of them are the problem's Hypothesis strategy (adversarial, shrunk to a minimal failing case), half its
    generator (realistic). On each: it returns a plan of the problem's type, the judge finds it feasible, the same rng
    gives the same plan, the instance is left as it was, and no plan is better than the exact `reference` (None: not
    compared). A stateful rule is called as `scheduler(instance, *, memory, rng) -> (plan, memory)`, memory None first.
    Instances that the reference proves infeasible are left out.

    A problem whose instances ask for a horizon is also answered by rules that decide now (registered so, or a function
    with `asks="decision"`): the problem's world rolls such a rule out, and the plan it makes is checked.

    Raises AssertionError with the property, the sentence and the instance; passes silently otherwise and returns what
    it saw.
    """
    from hypothesis import HealthCheck, Phase, given, settings

    if examples < 2:
        raise InvalidInput(f"examples = {examples}: must be at least 2")
    found = registry().problem(problem)
    goals = {o.name: o for o in found.instance_type.objectives}
    goal = goals[objective] if objective in goals else next(iter(goals.values()))
    if objective is not None and objective not in goals:
        raise InvalidInput(f"objective = {objective!r}: {problem} has {', '.join(goals)}")
    answer = _caller(scheduler, problem, stateful, asks, goal.name)
    gaps: list[Gap | None] = []

    def check(instance: Instance) -> None:
        best = None if reference is None else api.solve(instance, reference, objective=goal.name)
        if best is None or best.status != "infeasible":
            gaps.append(check_once(answer, instance, goal, best))

    @settings(
        max_examples=examples // 2,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(found.strategy())
    def adversarial(instance: Instance) -> None:
        check(instance)

    adversarial()
    for seed in range(examples - examples // 2):
        check(found.generate(np.random.default_rng(seed)))
    if not gaps:
        raise InvalidInput(f"{problem}: {reference} finds every instance infeasible; nothing was checked")
    return Checked(len(gaps), sum_up([gap for gap in gaps if gap is not None]))


def _caller(
    scheduler: str | Callable[..., Any], problem: str, stateful: bool, asks: Question | None, objective: str
) -> Callable[[Instance], Any]:
    """The scheduler as a function of the instance, with a fresh rng at every call."""
    params: dict[str, Any] = {}
    if isinstance(scheduler, str):
        entry, params = api.resolve_answerer(problem, scheduler, {})
        if entry.backend is not None:
            raise InvalidInput(f"{entry.name}: is exact; check_scheduler is for rules and policies")
    else:
        name = getattr(scheduler, "__name__", type(scheduler).__name__)
        told: Any = getattr(scheduler, "information", "observed")
        entry = Answerer(name, problem, "heuristic", scheduler, information=told, stateful=stateful, asks=asks)

    def call(instance: Instance) -> Any:
        if not native(entry, instance.asks):
            return adapted(entry, instance, objective, Limits(seed=0), params)
        rng = np.random.default_rng(0)
        if entry.stateful:
            return entry.function(entry.shown(instance), memory=None, rng=rng, **params)[0]
        return entry.function(entry.shown(instance), rng=rng, **params)

    return call


def check_once(
    answer: Callable[[Instance], Any], instance: Instance, goal: Objective, best: Result | None
) -> Gap | None:
    """Check one instance; returns the gap to the reference's answer, None without one."""
    before = copy.deepcopy(instance.to_json())
    try:
        plan, again = answer(instance), answer(instance)
    except MlschedError:
        raise
    except Exception as error:
        raise AssertionError(f"the scheduler raised {type(error).__name__}: {error}\non {instance!r}") from error
    for sentence in _wrong(instance, before, plan, again):
        raise AssertionError(f"{sentence}\non {instance!r}\nplan {plan!r}")
    if best is None:
        return None
    value = instance.evaluate(plan)[goal.name]
    if best.status != "optimal" or best.value is None:
        raise AssertionError(f"{best.answerer} did not prove an optimum on {instance!r}")
    if goal.better(value, best.value):
        claim = f"{goal.name} = {value} beats the proven optimum {best.value}"
        raise AssertionError(f"{claim}\non {instance!r}\nplan {plan!r}")
    return gap_between(value, best.value, sense=goal.sense, unit=goal.unit, rank=instance.rank(goal.name))


def _wrong(instance: Instance, before: Any, plan: Any, again: Any) -> Iterator[str]:
    if not isinstance(plan, instance.plan_type):
        yield f"the scheduler returned a {type(plan).__name__}: must be a {instance.plan_type.kind}"
        return
    for sentence in instance.violations(plan):
        yield f"the plan is infeasible: {sentence}"
    if plan != again:
        yield f"the same instance and rng gave two plans, the second {again!r}"
    if instance.to_json() != before:
        yield "the scheduler changed the instance"
