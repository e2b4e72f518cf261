"""Jobs with step rates for each GPU type, and the number of GPUs of each type."""

from __future__ import annotations

import dataclasses
import functools
from decimal import Decimal
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, labels, record, refuse_falling, text
from mlsched.core.record import Record
from mlsched_rounds.simulation.adaptation import PICO as PICO
from mlsched_rounds.simulation.adaptation import Adaptation
from mlsched_rounds.simulation.packing import Packing

#: Parts of a second in `Workload.submit`.
MICRO = 10**6
#: Parts of a weight of 1.
PPM = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Workload(Record):
    """Jobs in order of arrival on GPUs of several types (Gavel's world).

    A job is done after `steps`. It uses `gpus[j]` GPUs of one type while it runs, and then does `rate[j, m]` steps per
    second, 0 if it cannot run on the type. `fine` has the digits of a measured rate beyond the twelfth. Among jobs with
    equal service, the last digits of floats decide in Gavel's program. Gavel's mechanism fills the types in their order
    here.
    """

    kind: ClassVar[str] = "rounds.workload"
    problem: ClassVar[str] = "rounds"

    types: tuple[str, ...] = labels("types", doc="GPU types, in the order in which they are filled")
    capacity: IntArray = array("types", low=1, high=UNLIMITED, doc="GPUs of each type")
    submit: IntArray = array("jobs", doc="arrival, 10^-6 s, never falling")
    steps: IntArray = array("jobs", low=1, doc="steps until the job is done")
    gpus: IntArray = array("jobs", low=1, high=UNLIMITED, doc="GPUs the job holds while it runs")
    rate: IntArray = array("jobs", "types", doc="10^-12 steps per second of the job on each type; 0: cannot run there")
    fine: IntArray = array("jobs", "types", high=PICO, fill=0, doc="what `rate` leaves out, 10^-24 steps per second")
    weight: IntArray = array("jobs", low=1, high=10**12, fill=PPM, doc="importance of the job, 10^-6; 10^6: ordinary")
    models: tuple[str, ...] = labels("jobs", default=(), distinct=False, display_only=True, doc="what each job trains")
    source: str = text(default="", doc="where the jobs come from")
    adaptation: Adaptation | None = record(
        Adaptation, optional=True, doc="how jobs change their batch sizes, and with them their rates"
    )

    packing: Packing | None = record(
        Packing, optional=True, doc="rates of pairs of jobs that share their GPUs; None: no job shares its GPUs"
    )

    def check(self) -> None:
        refuse_falling("submit", self.submit)
        for j, (rates, steps) in enumerate(zip(self.rate.tolist(), self.steps.tolist(), strict=True)):
            slowest = min((rate for rate in rates if rate), default=PICO)
            if steps * PICO // slowest > EXACT // MICRO:
                raise InvalidInput(f"steps[{j}] = {steps}: would take more than {EXACT // MICRO} s; lower it")
        if self.adaptation is not None:
            first = self.adaptation.rate[:, :1], self.adaptation.fine[:, :1]
            same = [np.array_equal(np.squeeze(a, 1), b) for a, b in zip(first, (self.rate, self.fine), strict=True)]
            if not all(same):
                raise InvalidInput("adaptation: the rates of each job's first regime must be the workload's own")

        if self.packing is not None:
            self._check_packing(self.packing)

    def _check_packing(self, packing: Packing) -> None:
        if self.adaptation is not None:
            raise InvalidInput(
                "packing: rates of pairs are missing for jobs that change their batch sizes; give adapt=false"
            )
        groups, types = len(packing.rate), len(self.types)
        if len(packing.group) != len(self.submit) or packing.rate.shape[2] != types:
            raise InvalidInput(f"packing: expected {len(self.submit)} jobs and {types} types, as the workload has")
        alone, gpus = np.ones((groups, types), dtype=np.bool_), np.zeros(groups, dtype=np.int64)
        gpus[packing.group] = self.gpus
        np.logical_and.at(alone, packing.group, (self.rate > 0) | (self.fine > 0))
        fits = (packing.rate > 0) | (packing.fine > 0)
        if (gpus[packing.group] != self.gpus).any() or (fits & (gpus[:, None] != gpus)[:, :, None]).any():
            raise InvalidInput("packing: only jobs on as many GPUs share them; give each number of GPUs its own groups")
        if (fits & ~alone[:, None, :]).any():
            raise InvalidInput("packing: a job that shares GPUs of a type must also run there without sharing")

    @functools.cached_property
    def rates(self) -> npt.NDArray[np.float64]:
        """Return the steps per second, shape (jobs, types)."""
        pairs = np.stack([self.rate.ravel(), self.fine.ravel()], axis=1)
        different, which = np.unique(pairs, axis=0, return_inverse=True)
        exact = [int(rate) * PICO + int(fine) for rate, fine in different]
        values = np.array([digits / PICO**2 for digits in exact], dtype=np.float64)  # of integers: rounded once
        result: npt.NDArray[np.float64] = values[which.ravel()].reshape(self.rate.shape)
        return result

    @functools.cached_property
    def fits(self) -> npt.NDArray[np.bool_]:
        """Return whether the job can run on the type, shape (jobs, types): it has a rate and enough GPUs there."""
        return np.asarray((self.rate > 0) & (self.gpus[:, None] <= self.capacity))

    @functools.cached_property
    def shortest(self) -> npt.NDArray[np.float64]:
        """Return the seconds of each job without a pause on its fastest type; inf: it does not fit on any type."""
        if self.adaptation is not None:
            seconds = np.where(self.fits, self.adaptation.seconds(self.steps), np.inf)
            return np.asarray(seconds.min(axis=1, initial=np.inf))
        best = np.where(self.fits, self.rates, 0.0).max(axis=1, initial=0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(self.steps / best)

    @property
    def cluster(self) -> str:
        """Describe the cluster in words."""
        return ", ".join(f"{count} {name}" for name, count in zip(self.types, self.capacity.tolist(), strict=True))


def never_start(workload: Workload) -> list[str]:
    """Explain which jobs can never start: every type has too few GPUs or cannot run them."""
    result = []
    for j in np.flatnonzero(~workload.fits.any(axis=1)).tolist():
        able = [name for name, rate in zip(workload.types, workload.rate[j].tolist(), strict=True) if rate]
        where = f"and runs on {', '.join(able)}" if able else "and runs on no type"
        result.append(f"job {j} needs {int(workload.gpus[j])} GPUs of one type {where}, of {workload.cluster}")
    return result[:5]


def overload(workload: Workload) -> list[str]:
    """Return an empty list: the load depends on the assignment of types; see the bound on the makespan."""
    return []


def in_digits(rate: float) -> tuple[int, int]:
    """Return a rate, steps per second, as `rate` and `fine`."""
    return divmod(int(Decimal(repr(rate)).scaleb(24)), PICO)


def in_micro(seconds: float) -> int:
    """Return seconds as the nearest integer number of 10^-6 s."""
    return round(float(seconds) * MICRO)
