"""The problem: its instance and plan, the judge, random instances, bounds without a search."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Objective, Preset, Problem
from mlsched.core.fields import IntArray, array, integer, refuse_first
from mlsched.core.params import Count


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(contract.Plan):
    """The machine of every job from now on."""

    kind: ClassVar[str] = "balance.plan"

    machine: IntArray = array("jobs", doc="machine of each job")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(contract.Instance):
    """Jobs on machines that differ in load. A job may move to any other machine."""

    kind: ClassVar[str] = "balance.instance"
    problem: ClassVar[str] = "balance"
    plan_type: ClassVar[type[contract.Plan]] = Plan
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective("largest_load", "min", "s", "work on the fullest machine"),
        Objective("moves", "min", "jobs", "jobs on another machine than before"),
    )

    machines: int = integer(low=1, high=10**6, doc="number of machines")
    work: IntArray = array("jobs", high=10**6, doc="remaining work of each job, s")
    before: IntArray = array("jobs", doc="machine of each job until now")

    def check(self) -> None:
        wrong = self.before >= self.machines
        refuse_first(wrong, "before", self.before, f"expected below {self.machines} (machines)")

    def violations(self, plan: object) -> list[str]:
        """Return one sentence for each broken rule."""
        if not isinstance(plan, Plan):
            return [f"the answer is {type(plan).__name__}, expected {Plan.kind}"]
        if len(plan.machine) != len(self.work):
            return [f"machine has {len(plan.machine)} entries, expected {len(self.work)}, one for each job"]
        return [
            f"job {j} is on machine {m}, expected below {self.machines} (machines)"
            for j, m in enumerate(plan.machine.tolist())
            if m >= self.machines
        ]

    def evaluate(self, plan: Plan) -> dict[str, int]:
        """Return the value of each objective, from the statement alone."""
        load, moves = [0] * self.machines, 0
        for work, old, new in zip(self.work.tolist(), self.before.tolist(), plan.machine.tolist(), strict=True):
            load[new] += work
            moves += old != new
        return {"largest_load": max(load), "moves": moves}


@validate_arguments
def generate(rng: np.random.Generator, *, jobs: Count = 6, machines: Count = 3, longest: Count = 100) -> Instance:
    """Draw jobs whose work is uniform in 1..longest s, each on a random machine."""
    work, before = rng.integers(1, longest + 1, jobs), rng.integers(0, machines, jobs)
    return Instance(machines=machines, work=work, before=before)


def strategy(*, jobs: int = 5, machines: int = 3) -> Any:
    """Return a Hypothesis strategy of small instances."""
    from hypothesis import strategies as st

    def instance(count: int, drawn: list[tuple[int, int]]) -> Instance:
        work, before = [w for w, _ in drawn], [m % count for _, m in drawn]
        return Instance(machines=count, work=work, before=before)

    job = st.tuples(st.integers(0, 9), st.integers(0, machines - 1))
    return st.builds(instance, st.integers(1, machines), st.lists(job, max_size=jobs))


def least_load(instance: Instance) -> int:
    """Return a lower bound: the mean load rounded up, or the largest job."""
    return max(-(-int(instance.work.sum()) // instance.machines), int(instance.work.max(initial=0)))


PROBLEM = Problem(
    name="balance",
    title="which jobs move so that machines are equally loaded",
    paper="none",
    instance_type=Instance,
    plan_type=Plan,
    generate=generate,
    presets={
        "small": Preset("small", "brute force answers at once", {"jobs": 6, "machines": 3}),
        "large": Preset("large", "CP-SAT answers within a second", {"jobs": 40, "machines": 5}),
    },
    strategy=strategy,
    cases=lambda instance, plan: {"a job moves": bool((plan.machine != instance.before).any())},
    relaxations=lambda instance: {"a machine more": instance.replace(machines=instance.machines + 1)},
    default="cp-sat",
    trivial_bounds={"largest_load": least_load, "moves": lambda instance: 0},
)
