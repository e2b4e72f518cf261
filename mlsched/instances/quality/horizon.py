"""The quality problem over many epochs: all jobs and their loss curves known, until the last one is done.

SLAQ decides for one epoch at a time, each time for the largest reduction of the summed loss within it. Here the epochs
of a complete run are decided together, for the losses summed over time; one epoch's objective is a proxy for it. The
judge's docstring has the rules.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective, Question
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, refuse_falling, refuse_first, text
from mlsched.instances.quality import horizon_judge


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Epochs(contract.Plan):
    """The cores of each job in each epoch, from the first to the last job's last."""

    kind: ClassVar[str] = "quality.epochs"

    cores: IntArray = array("epochs", "jobs", high=UNLIMITED, doc="cores of each job, 0 where it is not there or waits")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Horizon(contract.Instance):
    """Training jobs over time on shared cores, in arrival order; everything known.

    `loss[j, k]`: the loss of job j after k iterations, the smallest so far, in ppm of the job's unit (for example its
    excess loss before the first iteration). Columns beyond a job's last iteration are not read.
    """

    kind: ClassVar[str] = "quality.horizon"
    problem: ClassVar[str] = "quality"
    called: ClassVar[Question] = "offline"
    plan_type: ClassVar[type[contract.Plan]] = Epochs
    judge: ClassVar[ModuleType] = horizon_judge
    objectives: ClassVar[tuple[Objective, ...]] = horizon_judge.OBJECTIVES

    cores: int = integer(low=1, high=UNLIMITED, doc="C: cores of the cluster")
    epoch: int = integer(low=1, high=86400, doc="T: seconds of an epoch")
    submit: IntArray = array("jobs", doc="submission, s, never falling")
    work: IntArray = array("jobs", low=1, doc="c S: core-milliseconds of one iteration")
    iterations: IntArray = array("jobs", low=1, doc="iterations until the job is done")
    goal: IntArray = array("jobs", low=1, doc="iterations until the job has most of its loss reduction")
    loss: IntArray = array("jobs", "points", doc="loss after 0, 1, ... iterations, ppm, non-increasing")
    family: IntArray = array(
        "jobs", high=2, doc="declared curve: 0 sublinear, 1 superlinear, 2 unknown; for predictors"
    )
    weight: IntArray = array("jobs", high=10**6, doc="importance, 1: ordinary")
    most: IntArray = array("jobs", low=1, high=UNLIMITED, doc="most cores the job can use")
    least: int = integer(low=1, high=UNLIMITED, default=1, doc="fewest cores of a job that runs")
    information: str = text(
        choices=("oracle", "observed"), default="oracle", doc="rules see true curves, or fitted ones"
    )
    normalise: str = text(choices=("change", "range"), default="change", doc="unit of the gains that rules see")

    def check(self) -> None:
        refuse_falling("submit", self.submit)
        last = self.loss.shape[1] - 1
        refuse_first(self.iterations > last, "iterations", self.iterations, f"expected at most {last} (points of loss)")
        refuse_first(self.goal > self.iterations, "goal", self.goal, "expected at most iterations")
        refuse_first(self.most < self.least, "most", self.most, f"expected at least {self.least} (least)")
        refuse_first(np.diff(self.loss, axis=1) > 0, "loss", self.loss[:, 1:], "must not increase", shift=1)
        if self.least > self.cores:
            raise InvalidInput(f"least: {self.least}, expected at most the {self.cores} cores")
        # One job after another on `least` cores ends by then.
        longest = [-(-w * k // (1000 * self.epoch * self.least)) for w, k in self._work_and_iterations()]
        epochs = -(-max(self.submit.tolist(), default=0) // self.epoch) + sum(longest)
        weighted = [w * first for w, first in zip(self.weight.tolist(), self.loss[:, 0].tolist(), strict=True)]
        if (most := epochs * max(sum(weighted), 1000 * self.epoch * max(1, sum(self.weight.tolist())))) > EXACT:
            raise InvalidInput(f"total_loss can reach {most}, expected below 2^53; use fewer or shorter jobs")

    def _work_and_iterations(self) -> list[tuple[int, int]]:
        return list(zip(self.work.tolist(), self.iterations.tolist(), strict=True))

    def table(self, plan: Epochs) -> dict[str, object]:
        """Return one row per epoch with the cores of each job."""
        cores = {f"job {j}": plan.cores[:, j] for j in range(plan.cores.shape[1])}
        return {"epoch": np.arange(len(plan.cores)), **cores}
