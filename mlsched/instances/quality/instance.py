"""The quality decision and its plan.

A cluster trains many jobs. Decide the cores of each job for the coming scheduling epoch. A table lists a job's gain by
the end of the epoch with `a` cores. A named predictor computes it beforehand (`tables.py` from known curves, or fits of
loss histories): a solver needs no knowledge of curves, and "optimal" means optimal for the tables.
"""

from __future__ import annotations

import dataclasses
import functools
from types import ModuleType
from typing import ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, refuse_first, text
from mlsched.instances.quality import judge

#: Unit of `gain` and `loss`: millionths of the normalised loss.
PPM = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan(contract.Plan):
    """How many cores each job gets in the coming epoch."""

    kind: ClassVar[str] = "quality.plan"

    cores: IntArray = array("jobs", high=UNLIMITED, doc="cores of each job, 0 for a job that waits")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instance(contract.Instance):
    """One allocation of cores for one epoch (SLAQ Section 4.3).

    Jobs are listed in arrival order. Running jobs get between `least` and `most[j]` cores; jobs marked `waiting` get 0
    (`waiting_in_arrival_order` marks the jobs for which fewer than `least` cores remain). Non-ML jobs use `reserved` of
    the cores. Columns of the tables beyond a job's cap are its results without the cap.

    `gain[j, a]`: predicted loss reduction within the epoch, normalised by the largest loss change seen (4.1), in ppm,
    rounded down, then made non-decreasing; `gain[j, 0]` = 0. `loss[j, a]`: predicted loss at the end of the epoch,
    normalised to 1 at the job's start and 0 at its final loss (6.2), in ppm, rounded up, then made non-increasing.
    `weight` multiplies both (4.3, "prioritize jobs"): a job of weight 1 is an ordinary one.
    """

    kind: ClassVar[str] = "quality.instance"
    problem: ClassVar[str] = "quality"
    plan_type: ClassVar[type[contract.Plan]] = Plan
    judge: ClassVar[ModuleType] = judge
    objectives: ClassVar[tuple[Objective, ...]] = tuple(judge.VALUES)

    cores: int = integer(high=UNLIMITED, doc="C: cores of the cluster")
    gain: IntArray = array("jobs", "allocations", doc="loss reduction with a = 0, 1, ... cores, ppm, non-decreasing")
    loss: IntArray = array("jobs", "allocations", doc="loss at the end with a = 0, 1, ... cores, ppm, non-increasing")
    weight: IntArray = array("jobs", high=10**6, doc="importance of each job, 1: ordinary")
    most: IntArray = array("jobs", high=UNLIMITED, doc="most cores each job may get")
    waiting: IntArray = array("jobs", high=1, doc="1: the job waits and gets no core, 0: it runs")
    reserved: int = integer(high=UNLIMITED, default=0, doc="cores that non-ML jobs hold")
    least: int = integer(high=UNLIMITED, default=1, doc="fewest cores of a job that runs")
    predictor: str = text(default="given", doc="what made the tables")

    def check(self) -> None:
        if not len(self.most):
            # A file cannot distinguish 0 x 1 from 0 x 0: without jobs, both tables have the column of 0 cores.
            for name in ("gain", "loss"):
                object.__setattr__(self, name, _empty_table())
        widest = self.gain.shape[1] - 1
        if widest < 0:
            raise InvalidInput("gain: 0 columns, expected one for each number of cores from 0 on")
        if self.reserved > self.cores:
            raise InvalidInput(f"reserved: {self.reserved}, expected at most {self.cores} (cores)")
        refuse_first(self.most > widest, "most", self.most, f"expected at most {widest} (the last column of gain)")
        short = (self.most < self.least) & (self.waiting == 0)
        refuse_first(short, "most", self.most, f"expected at least {self.least} (least) for a job that runs")
        refuse_first(self.gain[:, :1] != 0, "gain", self.gain, "expected 0: no core, no gain")
        refuse_first(
            np.diff(self.gain, axis=1) < 0, "gain", self.gain[:, 1:], "must not decrease with more cores", shift=1
        )
        refuse_first(
            np.diff(self.loss, axis=1) > 0, "loss", self.loss[:, 1:], "must not increase with more cores", shift=1
        )
        needed = self.least * len(self.running)
        if needed > self.available:
            raise InvalidInput(
                f"waiting: {len(self.running)} jobs run and need {needed} cores, {self.available} are not reserved; "
                "let later arrivals wait"
            )
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Refuse objectives that can exceed 2^53; in Python integers, since int64 products may wrap."""
        weights = self.weight.tolist()
        gains, losses = (
            [w * largest for w, largest in zip(weights, table.max(axis=1, initial=0).tolist(), strict=True)]
            for table in (self.gain, self.loss)
        )
        for objective, value in judge.VALUES.items():
            if (most := value(gains, losses)) > EXACT:
                name = objective.name
                raise InvalidInput(f"{name} can reach {most}, expected below 2^53; lower the weights or the tables")

    @property
    def available(self) -> int:
        """Return the cores that the jobs may share: C - reserved."""
        return self.cores - self.reserved

    @functools.cached_property
    def running(self) -> IntArray:
        """Return the indices of the running jobs, in arrival order."""
        return np.flatnonzero(self.waiting == 0)

    def plan(self, cores: IntArray) -> Plan:
        """Build the plan that gives `cores` to the running jobs, in their order."""
        full = np.zeros(len(self.most), dtype=np.int64)
        full[self.running] = cores
        return Plan(cores=full)

    def table(self, plan: Plan) -> dict[str, object]:
        """Return one row per job with its cores and its predicted loss, ppm of its loss at the start."""
        jobs = np.arange(len(plan.cores))
        return {"job": jobs, "cores": plan.cores, "predicted_loss_ppm": self.loss[jobs, plan.cores]}


def waiting_in_arrival_order(jobs: int, available: int, least: int = 1) -> IntArray:
    """Compute `waiting` for jobs in arrival order: as many run as `available` cores allow `least` each."""
    runs = jobs if least == 0 else min(jobs, available // least)
    return np.array([0] * runs + [1] * (jobs - runs), dtype=np.int64)


def _empty_table() -> IntArray:
    table = np.zeros((0, 1), dtype=np.int64)
    table.flags.writeable = False
    return table
