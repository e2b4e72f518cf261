"""The workers decision and its plan.

A cluster trains many jobs, each by data parallelism with parameter servers (PSs). Decide the workers and PSs of each
job now. A table lists the time of a job with `w` workers and `p` PSs. It is computed beforehand from a speed model
(`speed.py`): a solver needs no knowledge of models, and "optimal" means optimal for the tables.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, labels, refuse_first
from mlsched.instances.workers import judge

#: In `cost`: the job cannot train with so many workers and PSs.
NEVER = EXACT
#: Least loss of a waiting job, ms: Optimus decides every 600 s.
DELAY = 600_000


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(contract.Plan):
    """How many workers and PSs each job gets; a job without any waits."""

    kind: ClassVar[str] = "workers.plan"

    workers: IntArray = array("jobs", high=UNLIMITED, doc="workers of each job, 0 for a job that waits")
    ps: IntArray = array("jobs", high=UNLIMITED, doc="PSs of each job, 0 for a job that waits")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(contract.Instance):
    """One allocation of workers and PSs (Chic Section 2.2; Optimus Section 4.1).

    Jobs are listed in arrival order. Each gets at least one worker and one PS, or neither (it waits). All together may
    use `capacity`, which is net of reservations.

    `cost[j, w - 1, p - 1]`: ms in which job j finishes all its remaining iterations with w workers and p PSs, that is
    ceil(B g(w, p)) from the unrounded time g of an iteration; `NEVER` if it cannot train so. `waiting[j]`: ms charged
    if the job waits (see `waiting_terms` for the default). The decision is judged as if it stayed until every job has
    finished, which is how Optimus predicts completion times; the simulated clock decides again at each change.

    The other fields do not affect feasibility or value; rules and policies may read them.
    """

    kind: ClassVar[str] = "workers.instance"
    problem: ClassVar[str] = "workers"
    plan_type: ClassVar[type[contract.Plan]] = Plan
    judge: ClassVar[ModuleType] = judge
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective(
            "total_jct", "min", "ms", "sum over the jobs of the time to finish; of a waiting job, its waiting term"
        ),
    )

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    models: tuple[str, ...] = labels("models", doc="names of the training models (job types)")
    capacity: IntArray = array("resources", high=UNLIMITED, doc="of each resource, what may be used now")
    worker_demand: IntArray = array("jobs", "resources", high=UNLIMITED, doc="demand of one worker")
    ps_demand: IntArray = array("jobs", "resources", high=UNLIMITED, doc="demand of one PS")
    cost: IntArray = array("jobs", "workers", "ps", low=1, doc="ms to finish with 1, 2, ... workers and PSs, or NEVER")
    waiting: IntArray = array("jobs", doc="ms charged for a job that gets neither worker nor PS")
    remaining: IntArray = array("jobs", low=1, doc="B: iterations that are left")
    model: IntArray = array("jobs", doc="index of each job's training model")
    current_workers: IntArray = array("jobs", high=UNLIMITED, doc="workers that each job has now, 0 for a new job")
    current_ps: IntArray = array("jobs", high=UNLIMITED, doc="PSs that each job has now, 0 for a new job")
    waited: IntArray = array("jobs", doc="ms since each job arrived, non-increasing: the order is that of arrival")
    backlog: int = integer(high=UNLIMITED, default=0, doc="jobs in the system beyond those listed (Chic's N_t)")

    def check(self) -> None:
        if not len(self.waiting):
            # A file cannot distinguish 0 x 4 x 4 from 0 x 0 x 0: without jobs, the table is for one worker and one PS.
            empty = np.zeros((0, 1, 1), dtype=np.int64)
            empty.flags.writeable = False
            object.__setattr__(self, "cost", empty)
        if not self.cost.shape[1] * self.cost.shape[2]:
            raise InvalidInput("cost: 0 columns, expected one for each number of workers and PSs from 1 on")
        types = len(self.models)
        refuse_first(self.model >= types, "model", self.model, f"expected below {types} (the number of models)")
        half = (self.current_workers == 0) != (self.current_ps == 0)
        refuse_first(
            half, "current_workers", self.current_workers, "expected 0 exactly where current_ps is: both or neither"
        )
        late = np.zeros(len(self.waited), dtype=bool)
        late[1:] = np.diff(self.waited) > 0
        refuse_first(late, "waited", self.waited, "expected at most the one before: jobs are listed in arrival order")
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Refuse objectives that can exceed 2^53; in Python integers, since int64 sums may wrap."""
        longest = np.where(self.cost == NEVER, 0, self.cost).max(axis=(1, 2), initial=0)
        total = sum(np.maximum(longest, self.waiting).tolist())
        if total > EXACT:
            raise InvalidInput(f"total_jct can reach {total}, expected below 2^53; lower cost or waiting")

    def table(self, plan: Plan) -> dict[str, object]:
        """Return one row per job with its model, workers and PSs; 0 of both if it waits."""
        names = np.array(self.models, dtype=object)
        return {"job": np.arange(len(plan.workers)), "model": names[self.model], "workers": plan.workers, "ps": plan.ps}


def waiting_terms(cost: IntArray, delay: int = DELAY) -> IntArray:
    """Return the default `waiting`: slowest[j] + max over the jobs of slowest + delay, in ms.

    slowest[j] is the cost with one worker and one PS (the largest cost, if that is not allowed; 0 for a job that can
    never train). Meaning: in the worst case a waiting job waits until the slowest job with a single pair is done, a
    decision follows within `delay`, and it also gets a single pair. The middle term prevents the optimum from starving
    a job for the speed of others. Giving a waiting job its first pair saves at least max slowest + delay. Taking a
    (sufficiently large) pair from a job with two or more of each loses less, unless the job would then be slower than
    with a single pair.
    """
    slowest = _slowest_cost(cost)
    return np.asarray(slowest + slowest.max(initial=0) + delay, dtype=np.int64)


def pair_terms(cost: IntArray, delay: int = DELAY) -> IntArray:
    """Return another interpretation of `waiting`: slowest[j] + delay, in ms.

    This is the loss of a job that waits for the next decision and then runs with a single pair. Speeding up a few jobs
    while others wait may then be optimal: sharing among all does not always minimise the sum.
    """
    return np.asarray(_slowest_cost(cost) + delay, dtype=np.int64)


def _slowest_cost(cost: IntArray) -> IntArray:
    """Return the cost with one worker and one PS; the largest if that is not allowed, 0 if nothing is."""
    finite_cost = np.where(cost == NEVER, 0, cost)
    pair = finite_cost[:, 0, 0]
    return np.where(pair > 0, pair, finite_cost.max(axis=(1, 2), initial=0))
