"""Data of the rounds problem and its plans.

A cluster has GPUs of several types. Once per round, the scheduler assigns every job a GPU type and GPU count until the
next round, or lets it wait. Real rates become integers once, here (`tables.py` makes instances of floats): "optimal"
means optimal for these.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.aliases import Data
from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, labels, refuse_first
from mlsched_rounds.instances import judge

#: Unit of `goodput_cost` and of the service of a job.
PPM = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(contract.Plan):
    """Configuration of each job in the coming round."""

    kind: ClassVar[str] = "rounds.plan"

    config: IntArray = array("jobs", low=-1, high=UNLIMITED, doc="configuration of each job, -1 for a job that waits")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(contract.Instance):
    """One round on GPUs of several types.

    A configuration is a number of GPUs of one type. A job with a fixed GPU count (Gavel) has a rate only in the
    configurations of that number. If the number is chosen too (Sia), it has rates in several configurations of each
    type.

    `usual[j]` and `fair[j]` are the references of a job: its rate with time in proportion to the types' GPUs, and its
    rate in isolation with an equal part of every type. `isolated[j]`: the time that its past steps would have taken at
    its fair rate. `goodput_cost[j, c]` and `waiting_cost[j]`: Sia's costs, (goodput over the row's smallest)^p and
    lambda, with the restart cost. `pause`: the part of the round that a job loses if it starts or changes its
    configuration.
    """

    kind: ClassVar[str] = "rounds.instance"
    problem: ClassVar[str] = "rounds"
    plan_type: ClassVar[type[contract.Plan]] = Plan
    judge: ClassVar[Any] = judge
    objectives: ClassVar[tuple[Objective, ...]] = judge.OBJECTIVES

    capacity: IntArray = array("types", high=UNLIMITED, doc="GPUs of each type")
    config_type: IntArray = array("configs", high=UNLIMITED, doc="the type of each configuration")
    config_gpus: IntArray = array("configs", low=1, high=UNLIMITED, doc="the GPUs of each configuration")
    rate: IntArray = array("jobs", "configs", high=10**12, doc="thousandths of steps per second, 0: cannot run")
    remaining: IntArray = array("jobs", low=1, high=10**12, doc="steps that each job has before it")
    done: IntArray = array("jobs", high=10**12, doc="steps that each job has done since it arrived")
    age: IntArray = array("jobs", high=10**12, doc="ms since each job arrived")
    current: IntArray = array("jobs", low=-1, high=UNLIMITED, doc="its configuration in the last round, -1: none")
    usual: IntArray = array("jobs", low=1, high=10**12, doc="rate with time in proportion to the types' GPUs, 1/1000")
    fair: IntArray = array("jobs", low=1, high=10**12, doc="rate alone with an equal part of every type, 1/1000")
    isolated: IntArray = array("jobs", high=10**12, doc="ms that the steps until now would have taken at fair rates")
    goodput_cost: IntArray = array("jobs", "configs", high=10**12, doc="cost of running so, ppm")
    waiting_cost: IntArray = array("jobs", high=10**12, fill=1_100_000, doc="cost of waiting, ppm")
    weight: IntArray = array("jobs", low=1, high=10**6, fill=1, doc="importance of each job, 1: ordinary")
    length: int = integer(low=1, high=10**9, default=360_000, doc="length of the round, ms")
    pause: int = integer(high=10**9, default=0, doc="ms of the round that a change of configuration costs")
    type_names: tuple[str, ...] = labels("types", default=(), doc="names of the types")

    def check(self) -> None:
        types, configs = len(self.capacity), len(self.config_type)
        if not len(self.remaining):
            # A file cannot distinguish 0 x 3 from 0 x 0.
            for name in ("rate", "goodput_cost"):
                object.__setattr__(self, name, _empty_array(configs))
        refuse_first(self.config_type >= types, "config_type", self.config_type, f"expected below {types} (types)")
        refuse_first(self.current >= configs, "current", self.current, f"expected below {configs} (configs)")
        for j, c in enumerate(self.current.tolist()):
            if c >= 0 and not self.rate[j, c]:
                raise InvalidInput(f"current[{j}] = {c}: the job's rate there is 0; it cannot have run so")
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Refuse objectives that can exceed 2^53, computed in Python integers, since int64 products may wrap."""
        costs = [self.waiting_cost.tolist(), *self.goodput_cost.T.tolist()]
        # A waiting job gets at most the service of a running one, and ends at the same time or later.
        largest = judge.evaluate(self, Plan(config=np.full(len(self.remaining), -1)))
        largest["goodput_cost"] = sum(max(column) for column in zip(*costs, strict=True))
        largest["total_steps"] = sum(self.remaining.tolist())
        most_served = [
            10**12 * (d + r) // (w * u * (a + self.length))
            for d, r, w, u, a in zip(
                *(getattr(self, name).tolist() for name in ("done", "remaining", "weight", "usual", "age")), strict=True
            )
        ]
        largest["least_served"] = max(most_served, default=0)
        for name, most in largest.items():
            if most > EXACT:
                raise InvalidInput(f"{name} can reach {most}, expected below 2^53; use larger units")

    def plan(self, configs: Any) -> Plan:
        """Return the plan in which job j runs in `configs[j]`."""
        return Plan(config=np.asarray(configs, dtype=np.int64))

    def table(self, plan: Plan) -> Data:
        """Return every job with its type, GPUs and steps in the round."""
        runs = plan.config >= 0
        kind = np.where(runs, self.config_type[plan.config], -1) if len(self.config_type) else plan.config
        names: Any = [self.type_names[m] if m >= 0 else "" for m in kind.tolist()] if self.type_names else kind
        gpus = np.where(runs, self.config_gpus[plan.config], 0) if len(self.config_type) else 0 * plan.config
        steps = [judge.steps(self, j, c) for j, c in enumerate(plan.config.tolist())]
        return {"job": np.arange(len(plan.config)), "type": names, "gpus": gpus, "steps": np.array(steps, dtype=int)}


def _empty_array(configs: int) -> IntArray:
    table = np.zeros((0, configs), dtype=np.int64)
    table.flags.writeable = False
    return table
