"""The workers problem over a horizon and its plan: all arrivals known, capacity shared freely in time.

The fluid model of a cluster, for which the clairvoyant optimum is optimal. At every instant a job runs a mixture of
configurations (workers, PSs) whose shares sum to at most 1, and the mixtures of all jobs together demand at most the
capacity. A share s of a configuration does s / time iterations per second, parts of iterations count, and changing the
mixture is free. Any schedule of integer workers and PSs is a special case, with or without Eq. 7's floor and at any
cost of re-scheduling: the fluid optimum is a lower bound for any scheduler.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, labels, refuse_first
from mlsched.instances.workers import horizon_judge
from mlsched.instances.workers.instance import NEVER

#: Nanoseconds in a millisecond: arrivals are in ms, all times of a plan in ns.
NS = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Stages(contract.Plan):
    """The configurations of each job, stage by stage; all times in ns since the horizon's time 0.

    Stage k lasts from `ends[k - 1]` (0 for the first) to `ends[k]`. Entry e of the five lists below: job `job[e]`
    spends `time[e]` ns of stage `stage[e]` with `workers[e]` workers and `ps[e]` PSs, spread evenly over the stage. Job
    j finishes at the end of stage `finish[j]`.

    Reals are in fixed point: integer ns, that is 10^-6 ms. Rounding to them costs a job at most `GRAIN` ns per entry,
    which the judge grants.
    """

    kind: ClassVar[str] = "workers.stages"

    ends: IntArray = array("stages", doc="ns at which each stage ends, non-decreasing")
    stage: IntArray = array("entries", doc="stage of each entry")
    job: IntArray = array("entries", doc="job of each entry")
    workers: IntArray = array("entries", low=1, high=UNLIMITED, doc="workers of the configuration")
    ps: IntArray = array("entries", low=1, high=UNLIMITED, doc="PSs of the configuration")
    time: IntArray = array("entries", doc="ns that the job spends in the configuration during the stage")
    finish: IntArray = array("jobs", doc="the stage at whose end each job finishes")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Horizon(contract.Instance):
    """Many jobs over time in the fluid model (module docstring), everything known at time 0.

    `time[j, w - 1, p - 1]`: ns of an iteration of job j with w workers and p PSs, `NEVER` if it cannot train so. Jobs
    are listed in arrival order. The value is a real number: it is compared up to `tolerance`.
    """

    kind: ClassVar[str] = "workers.horizon"
    problem: ClassVar[str] = "workers"
    called: ClassVar[Question] = "offline"
    plan_type: ClassVar[type[contract.Plan]] = Stages
    judge: ClassVar[ModuleType] = horizon_judge
    tolerance: ClassVar[float] = 1e-6
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective("total_jct", "min", "ms", "sum over the jobs of the time from arrival to finish; a real number"),
    )

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    models: tuple[str, ...] = labels("models", doc="names of the training models (job types)")
    capacity: IntArray = array("resources", high=UNLIMITED, doc="of each resource, what there is")
    worker_demand: IntArray = array("jobs", "resources", high=UNLIMITED, doc="demand of one worker")
    ps_demand: IntArray = array("jobs", "resources", high=UNLIMITED, doc="demand of one PS")
    time: IntArray = array("jobs", "workers", "ps", low=1, doc="ns of an iteration with 1, 2, ... workers and PSs")
    remaining: IntArray = array("jobs", low=1, doc="B: iterations of each job")
    model: IntArray = array("jobs", doc="index of each job's training model")
    arrival: IntArray = array("jobs", doc="ms at which each job arrives, non-decreasing")

    def check(self) -> None:
        if not len(self.arrival):
            # A file cannot distinguish 0 x 4 x 4 from 0 x 0 x 0: without jobs, the table is for one worker and one PS.
            empty = np.zeros((0, 1, 1), dtype=np.int64)
            empty.flags.writeable = False
            object.__setattr__(self, "time", empty)
        refuse_first(
            self.model >= len(self.models),
            "model",
            self.model,
            f"expected below {len(self.models)} (the number of models)",
        )
        early = np.zeros(len(self.arrival), dtype=bool)
        early[1:] = np.diff(self.arrival) < 0
        refuse_first(early, "arrival", self.arrival, "must not precede the one before: jobs are in arrival order")
        refuse_first(
            np.asarray(~self.allowed.any(axis=(1, 2))),
            "remaining",
            self.remaining,
            "belongs to a job that fits in no configuration: it never finishes; leave it out or add capacity",
        )
        # One job after another, each in its fastest configuration, ends by then.
        end = max(self.arrival.tolist(), default=0) * NS + sum(self.alone)
        if end > EXACT:
            raise InvalidInput(f"remaining, arrival: the last job may end at {end} ns, expected below 2^53 (104 days)")
        if len(self.arrival) * (end // NS + 1) > EXACT:
            raise InvalidInput("total_jct can exceed 2^53: use fewer or shorter jobs")

    @property
    def allowed(self) -> np.ndarray[tuple[int, int, int], np.dtype[np.bool_]]:
        """Return the configurations in which a job can train and fits the cluster, shape (jobs, workers, ps)."""
        _, workers, ps = self.time.shape
        w = np.arange(1, workers + 1)[None, :, None, None]
        p = np.arange(1, ps + 1)[None, None, :, None]
        use = w * self.worker_demand[:, None, None, :] + p * self.ps_demand[:, None, None, :]
        return np.asarray((self.time < NEVER) & (use <= self.capacity).all(axis=3))

    @property
    def alone(self) -> list[int]:
        """Return the ns that each job takes with the complete cluster to itself."""
        fastest = np.where(self.allowed, self.time, NEVER).min(axis=(1, 2), initial=NEVER)
        return [b * t for b, t in zip(self.remaining.tolist(), fastest.tolist(), strict=True)]

    def table(self, plan: Stages) -> dict[str, object]:
        """Return one row per entry of the plan with its job's model; times in ns."""
        names = np.array(self.models, dtype=object)
        return {
            "stage": plan.stage,
            "ends": plan.ends[plan.stage],
            "job": plan.job,
            "model": names[self.model[plan.job]],
            "workers": plan.workers,
            "ps": plan.ps,
            "time": plan.time,
        }
