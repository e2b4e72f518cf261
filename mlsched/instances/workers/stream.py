"""The workers problem online and its policy: jobs arrive by chance, and each state has an allocation.

The cluster and clock are those of the simulated world: workers and PSs are reallocated whenever jobs come or leave, and
a re-schedule costs each job the iteration it has started (Chic, Eq. 7). Arrivals are known only by their probabilities.
The best policy is therefore the best possible online scheduler. The distance of a rule from it measures the rule's
decisions. Its own distance from a schedule with all arrivals known measures the value of that knowledge. The judge's
docstring has the rules.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, labels, refuse_first
from mlsched.instances.workers import stream_judge
from mlsched.instances.workers.instance import NEVER

#: Most jobs of a stream: the number of states grows with the power of it.
MOST_JOBS = 6
#: Nanoseconds in a millisecond.
NS = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Policy(contract.Plan):
    """The allocation in each state, one row per state. Slots are present jobs in arrival order; free slots come last.

    Rows of unreachable states are not read.
    """

    kind: ClassVar[str] = "workers.policy"

    coming: IntArray = array("states", doc="jobs that have not arrived yet")
    model: IntArray = array("states", "slots", low=-1, doc="training model of the job in each slot, -1: free")
    remaining: IntArray = array("states", "slots", doc="iterations that it has left, 0: free")
    workers: IntArray = array("states", "slots", high=UNLIMITED, doc="workers that it gets")
    ps: IntArray = array("states", "slots", high=UNLIMITED, doc="PSs that it gets")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Stream(contract.Instance):
    """A few jobs that arrive by chance: the first at time 0, each further one after a memoryless gap.

    Time is counted in integer ms. In each ms since the last arrival the next job comes with probability 1 / gap: a
    Poisson process on the world's clock. A job is of type i with probability chance[i] / sum of chance.
    """

    kind: ClassVar[str] = "workers.stream"
    problem: ClassVar[str] = "workers"
    called: ClassVar[Question] = "policy"
    plan_type: ClassVar[type[contract.Plan]] = Policy
    judge: ClassVar[ModuleType] = stream_judge
    tolerance: ClassVar[float] = 1e-6
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective("expected_total_jct", "min", "ms", "expectation of the sum of the times from arrival to finish"),
    )

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    models: tuple[str, ...] = labels("models", doc="names of the training models")
    capacity: IntArray = array("resources", high=UNLIMITED, doc="of each resource, what there is")
    worker_demand: IntArray = array("models", "resources", high=UNLIMITED, doc="demand of one worker")
    ps_demand: IntArray = array("models", "resources", high=UNLIMITED, doc="demand of one PS")
    time: IntArray = array("models", "workers", "ps", low=1, doc="ns of an iteration with 1, 2, ... workers and PSs")
    type_model: IntArray = array("types", doc="training model of each type of job")
    type_iterations: IntArray = array("types", low=1, doc="iterations of each type of job")
    chance: IntArray = array("types", low=1, high=10**6, doc="how likely each type is, relative to the others")
    jobs: int = integer(high=MOST_JOBS, doc="how many jobs arrive in all")
    gap: int = integer(low=1, high=10**12, doc="mean ms from an arrival to the next")

    def check(self) -> None:
        refuse_first(
            self.type_model >= len(self.models),
            "type_model",
            self.type_model,
            f"expected below {len(self.models)} (the number of models)",
        )
        if self.jobs and not len(self.chance):
            raise InvalidInput(f"jobs = {self.jobs}: expected at least one type of job")
        able = np.asarray(self.allowed.any(axis=(1, 2)))
        refuse_first(
            ~able[self.type_model],
            "type_model",
            self.type_model,
            "fits in no configuration: its jobs would never finish; leave it out or add capacity",
        )
        slowest = np.where(self.allowed, self.time, 0).max(axis=(1, 2), initial=0)
        longest = [int(b) * int(slowest[m]) for m, b in zip(self.type_model, self.type_iterations, strict=True)]
        if (most := self.jobs * (self.jobs * 2 * max(longest, default=0) + self.gap * NS)) > EXACT * NS:
            raise InvalidInput(f"type_iterations: jobs may take {most} ns in sum, expected below 2^53 ms")

    @property
    def allowed(self) -> np.ndarray[tuple[int, int, int], np.dtype[np.bool_]]:
        """Return the configurations in which a model can train and fits the cluster, shape (models, workers, ps)."""
        _, workers, ps = self.time.shape
        w = np.arange(1, workers + 1)[None, :, None, None]
        p = np.arange(1, ps + 1)[None, None, :, None]
        use = w * self.worker_demand[:, None, None, :] + p * self.ps_demand[:, None, None, :]
        return np.asarray((self.time < NEVER) & (use <= self.capacity).all(axis=3))

    def table(self, plan: Policy) -> dict[str, object]:
        """Return one row per state, with the present jobs and their allocations in words."""
        jobs, given = [], []
        for row in range(len(plan.coming)):
            slots = np.flatnonzero(plan.remaining[row]).tolist()
            jobs.append(", ".join(f"{self.models[plan.model[row, s]]} x {plan.remaining[row, s]}" for s in slots))
            given.append(", ".join(f"{plan.workers[row, s]} + {plan.ps[row, s]}" for s in slots))
        texts = {"jobs (iterations)": jobs, "workers + PSs": given}
        return {"coming": plan.coming, **{name: np.array(rows, dtype=object) for name, rows in texts.items()}}
