"""Rollout of a rule over a horizon: the clock runs it on the horizon's jobs, and its decisions are recorded."""

from __future__ import annotations

from typing import Any

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import ints
from mlsched.instances.preemption import Decisions, Horizon, Plan
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.preemption.log import Log
from mlsched.simulation.preemption.options import Options
from mlsched.simulation.preemption.workload import Workload
from mlsched.simulation.preemption.world import PreemptionWorld
from mlsched.simulation.wake import Wake


class _Noting(PreemptionWorld):
    """World that records each decision with the jobs' numbers in the run."""

    def __init__(self, workload: Workload, options: Options) -> None:
        super().__init__(workload, options)
        self.te: list[int] = []
        self.node: list[int] = []
        self.by: list[int] = []
        self.victim: list[int] = []

    def apply(self, plan: Plan) -> None:
        victims = [self._candidates[j] for j in plan.victims.tolist()]
        self.by += [len(self.te)] * len(victims)
        self.victim += victims
        self.te += self._asking
        self.node += plan.te_node.tolist()
        super().apply(plan)


def rollout(instance: Horizon, rule: Rule, seed: int) -> Decisions:
    """Return the decisions of `rule` over the horizon. A rule with its own P enforces it itself."""
    if not rule.options.get("te_first", True):
        raise InvalidInput(f"{rule.name}: serves TE jobs in turn; in a horizon they come first")
    return noted(instance, rule, seed)[0]


def noted(instance: Horizon, rule: Rule, seed: int) -> tuple[Decisions, Log]:
    """Return the decisions of a rule over a horizon, and the log of its run."""
    world = _Noting(workload_of(instance), options_of(instance))
    if len(instance.submit):
        run_clock(world, rule, scheduling_events=wake_of(instance), seed=seed)
    plan = Decisions(te=ints(world.te), node=ints(world.node), by=ints(world.by), victim=ints(world.victim))
    return plan, world.log


def wake_of(horizon: Horizon) -> Wake:
    """Return the cadence of a horizon."""
    return Wake.parse(f"interval:{horizon.tick}")


def options_of(horizon: Horizon) -> Options:
    """Return the world's interpretations of a horizon."""
    during: Any = horizon.during_grace
    return Options(
        preemption_limit=horizon.preemption_limit,
        during_grace=during,
        snapshot=horizon.snapshot,
        grace_weight=horizon.grace_weight,
    )


#: Fields of jobs and nodes that a horizon and a workload share.
SHARED = ("resources", "node_capacity", "submit", "te", "execution", "demand", "grace")


def workload_of(horizon: Horizon) -> Workload:
    """Convert the horizon's jobs to a workload."""
    return Workload(**{name: getattr(horizon, name) for name in SHARED}, source="a horizon")


def horizon_of(workload: Workload, **readings: Any) -> Horizon:
    """Convert the jobs of a workload to a horizon instance; `interpretations` are its further fields."""
    return Horizon(**{name: getattr(workload, name) for name in SHARED}, **readings)
