"""Training jobs with their true loss curves, and the cores they share with other jobs."""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Array
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, refuse_falling, refuse_first, text
from mlsched.core.record import Record

#: Parts of a job's own unit of loss in `Workload.loss`.
NANO = 10**9
#: In `Workload.target`: the job has no target loss.
NO_TARGET = -EXACT
#: Warn only above this offered load.
FULL_LOAD = 1.05


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Workload(Record):
    """Jobs in arrival order on `cores` cores (SLAQ Section 6.1).

    A job is done after `iterations`: the maker of the workload defines convergence (Section 6.2.1: the 100th
    iteration). A job with a target loss (Section 7, "hint") is done earlier, after the first iteration that reports a
    loss at or below it. `loss[j, k]` is the job's reported loss after k iterations, on any number of cores (footnote
    4); columns beyond its last iteration are not read. Non-ML jobs use cores for a fixed time from submission on.
    """

    kind: ClassVar[str] = "quality.workload"
    problem: ClassVar[str] = "quality"

    cores: int = integer(low=1, high=UNLIMITED, doc="C: cores of the cluster")
    submit: IntArray = array("jobs", doc="submission time, s, never falling")
    work: IntArray = array("jobs", low=1, doc="c S: core-milliseconds of one iteration")
    iterations: IntArray = array("jobs", low=1, doc="iterations until the job is done")
    loss: IntArray = array("jobs", "points", low=-EXACT, doc="loss after 0, 1, ... iterations, 10^-9 of the job's unit")
    family: IntArray = array("jobs", high=2, doc="declared curve: 0 sublinear, 1 superlinear, 2 unknown")
    weight: IntArray = array("jobs", high=10**6, doc="importance, 1: ordinary")
    most: IntArray = array("jobs", low=1, high=UNLIMITED, doc="most cores the job can use")
    other_submit: IntArray = array("others", doc="when each non-ML job comes, s")
    other_seconds: IntArray = array("others", low=1, doc="how long it stays, s")
    other_cores: IntArray = array("others", high=UNLIMITED, doc="cores it asks for")
    target: IntArray = array("jobs", low=NO_TARGET, fill=NO_TARGET, doc="loss at which to stop, 10^-9; -2^53: none")
    source: str = text(default="", doc="where the jobs come from and under which interpretations")

    def check(self) -> None:
        refuse_falling("submit", self.submit)
        last = self.loss.shape[1] - 1
        for j, (count, work) in enumerate(zip(self.iterations.tolist(), self.work.tolist(), strict=True)):
            if count > last:
                raise InvalidInput(f"iterations[{j}] = {count}: loss has entries for {last} iterations only")
            if count * work > EXACT:
                raise InvalidInput(f"work[{j}] = {work}: times {count} iterations must stay below 2^53")
        is_reached = (self.target != NO_TARGET) & (self.target >= self.loss[:, 0])
        refuse_first(is_reached, "target", self.target, "expected below the job's loss before its first iteration")

    @functools.cached_property
    def last(self) -> IntArray:
        """Return the iterations until each job leaves: up to the first loss at or below its target, else all."""
        hit = (self.loss <= self.target[:, None]) & (self.target != NO_TARGET)[:, None]
        first = np.where(hit.any(axis=1), hit.argmax(axis=1), self.iterations)
        return np.asarray(np.minimum(first, self.iterations))

    @functools.cached_property
    def total(self) -> IntArray:
        """Return the core-milliseconds until each job leaves."""
        return self.work * self.last

    @functools.cached_property
    def lowest(self) -> IntArray:
        """Return the lowest loss of each job until it leaves: the final loss of the normalisation (6.2)."""
        beyond = np.arange(self.loss.shape[1]) > self.last[:, None]
        return np.asarray(np.where(beyond, EXACT, self.loss).min(axis=1, initial=EXACT))

    def normalised(self) -> npt.NDArray[np.float64]:
        """Return true losses, shape (jobs, points): 1 before the first iteration, 0 at the lowest.

        All are 0 if the loss cannot fall.
        """
        span = self.loss[:, 0] - self.lowest
        above = self.loss - self.lowest[:, None]
        scaled_losses: Array = np.divide(above, span[:, None], out=np.zeros(above.shape), where=span[:, None] > 0)
        return np.asarray(scaled_losses, dtype=np.float64)

    @property
    def cluster(self) -> str:
        """Describe the cluster in words."""
        return f"{self.cores} cores"


def never_start(workload: Workload) -> list[str]:
    """Return an empty list: every job can use one core, and non-ML jobs end."""
    return []


def overload(workload: Workload) -> list[str]:
    """Report whether the arriving work exceeds the cores' capacity while jobs arrive, with the numbers."""
    load = offered_load(workload)
    if len(workload.submit) < 2 or load <= FULL_LOAD:
        return []
    return [f"the offered load is {load:.2f} times the cluster's capacity: the queue grows while jobs arrive"]


def offered_load(workload: Workload) -> float:
    """Return core-seconds of all jobs but the last over those available until its arrival; infinite for a burst."""
    if len(workload.submit) < 2:
        return 0.0
    span = int(workload.submit[-1] - workload.submit[0])
    work = float(workload.total[:-1].sum()) / 1000 + float((workload.other_cores * workload.other_seconds).sum())
    return work / (workload.cores * span) if span else float("inf")
