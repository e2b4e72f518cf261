"""Jobs that change their batch size as they go, and with it their rate (Shockwave, Zheng et al., NSDI 2023).

A job trains for a number of epochs, and keeps it whatever its batch size: a larger batch makes an epoch of fewer steps.
A *regime* is a batch size with its rates. The world follows Shockwave's simulator (`scheduler/scheduler.py` there,
`_simulate_accordion`, `_simulate_gns`, `_scale_bs_and_iters`):

1. At the end of a slice the job looks which regime it wants in the epoch that it is in, ceil(steps done / steps of an
   epoch); under gradient noise scale in the one after it too, whichever is the larger.
2. If that is not its own, it goes to the next regime on the way - at the end of its next slice, not before.
3. Its steps are then counted anew: steps done are those of the epochs begun, ceil(.), so that it is given the rest of
   an epoch; all steps are scaled by the ratio of batch sizes, or, where that changes the number of epochs, are those of
   as many epochs as before. Where nothing remains then, see the world's option `emptied`.

What a scheduler *believes* the regimes of the epochs to be stands beside it: in Shockwave the two differ.
"""

from __future__ import annotations

import dataclasses
import functools
from bisect import bisect_right
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, IntArray, array
from mlsched.core.record import Record

#: Parts of a step per second in `Adaptation.rate`.
PICO = 10**12
Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Adaptation(Record):
    """Regimes of jobs, and in which epoch each wants which.

    A job of which nothing is said here has one regime, the workload's own rate; it may have epochs all the same.
    """

    kind: ClassVar[str] = "rounds.adaptation"

    samples: IntArray = array("jobs", low=1, doc="samples of an epoch")
    batch: IntArray = array("jobs", "regimes", doc="batch size of each regime, the log's first; 0: there is no such")
    rate: IntArray = array("jobs", "regimes", "types", doc="10^-12 steps per second in the regime on each type")
    fine: IntArray = array("jobs", "regimes", "types", high=PICO, doc="what `rate` leaves out, 10^-24 steps per second")
    ahead: IntArray = array("jobs", high=1, doc="how many epochs beyond its own the job looks when it wants a regime")
    wants_from: IntArray = array("jobs", "changes", high=UNLIMITED, doc="epochs from which another is wanted, rising")
    wants: IntArray = array("jobs", "changes", doc="the regime that is wanted from there on")
    believed_from: IntArray = array("jobs", "beliefs", high=UNLIMITED, doc="epochs from which another is believed in")
    believed: IntArray = array("jobs", "beliefs", doc="the regime that is believed in from there on")

    def check(self) -> None:
        regimes = self.batch.shape[1]
        for name, begins, values in (
            ("wants", self.wants_from, self.wants),
            ("believed", self.believed_from, self.believed),
        ):
            if not begins.shape[1] or begins[:, 0].any() or (np.diff(begins, axis=1) < 0).any():
                raise InvalidInput(f"{name}_from: every row must begin with epoch 0 and never fall")
            if values.max(initial=0) >= regimes or not np.take_along_axis(self.batch, values, axis=1).all():
                raise InvalidInput(f"{name}: expected the number of a regime of the job, below {regimes}")

    @functools.cached_property
    def rates(self) -> Floats:
        """Steps per second, jobs x regimes x types."""
        exact = [int(rate) * PICO + int(fine) for rate, fine in zip(self.rate.flat, self.fine.flat, strict=True)]
        values = np.array([digits / PICO**2 for digits in exact], dtype=np.float64)
        found: Floats = values.reshape(self.rate.shape)
        return found

    @functools.cached_property
    def epoch_steps(self) -> list[list[int]]:
        """Steps of an epoch, jobs x regimes; 0 where there is no regime."""
        return [
            [-(-samples // batch) if batch else 0 for batch in row]
            for samples, row in zip(self.samples.tolist(), self.batch.tolist(), strict=True)
        ]

    def epochs(self, steps: IntArray) -> list[int]:
        """How many epochs jobs of so many steps, as the log counts them, train for."""
        return [-(-count // row[0]) for count, row in zip(steps.tolist(), self.epoch_steps, strict=True)]

    def seconds(self, steps: IntArray) -> Floats:
        """Seconds of running, jobs x types, below which no job ends that runs on the type alone; inf: it does not.

        Each epoch is done in the fastest regime that can have been reached by then. Each change of regime gives at most
        an epoch away; since regimes follow the wishes one at a time, there are no more of them than the wishes vary in
        all. The last epoch may be one step. Where there are several types, all epochs are as fast as the fastest: then
        what is done on each type may be added up.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(
                self.rates > 0, np.array(self.epoch_steps, dtype=np.float64)[..., None] / self.rates, np.inf
            )
        found: Floats = times[:, 0] * (steps / np.array(self.epoch_steps)[:, 0])[:, None]
        for job, epochs in enumerate(self.epochs(steps)):
            wished = self._wished(job, epochs)
            changes = int(wished[0] + np.abs(np.diff(wished)).sum())
            if changes:
                best = np.minimum.accumulate(times[job], axis=0)
                each = best[np.maximum.accumulate(wished)[: epochs - 1]]
                if times.shape[2] > 1:
                    each = np.broadcast_to(each.min(axis=0, initial=np.inf), each.shape)
                least = times[job].min(axis=0) / max(self.epoch_steps[job])
                found[job] = np.maximum(np.sort(each, axis=0)[: max(0, len(each) - changes)].sum(axis=0), least)
        return found

    def _wished(self, job: int, epochs: int) -> IntArray:
        """The regime that the job wishes for in each of its epochs, and after the last."""
        each = np.arange(epochs + 1 + int(self.ahead[job]))
        wants: IntArray = self.wants[job][np.searchsorted(self.wants_from[job], each, side="right") - 1]
        return np.maximum(wants[:-1], wants[1:]) if self.ahead[job] else wants

    def beliefs(self, job: int, epochs: int) -> list[int]:
        """The regime that is believed in, of each of the job's epochs."""
        begins, values = self.believed_from[job].tolist(), self.believed[job].tolist()
        return [values[bisect_right(begins, epoch) - 1] for epoch in range(epochs)]


class Progress:
    """Where the jobs of a run are: steps done and in all, counted in batches of the regime that they are in."""

    def __init__(self, adaptation: Adaptation, steps: IntArray) -> None:
        self.adaptation = adaptation
        self.all, self.done = steps.tolist(), [0] * len(steps)
        self.regime = [0] * len(steps)
        self._next = [0] * len(steps)  # the regime of the slice after the coming one
        self._per = adaptation.epoch_steps
        self._ahead = adaptation.ahead.tolist()
        self._wants = list(zip(adaptation.wants_from.tolist(), adaptation.wants.tolist(), strict=True))

    def left(self, job: int) -> int:
        """Steps that remain."""
        return max(0, int(self.all[job] - self.done[job]))

    def rates(self, job: int) -> Floats:
        """Steps per second on each type in the job's regime."""
        found: Floats = self.adaptation.rates[job, self.regime[job]]
        return found

    def epoch(self, job: int) -> int:
        """How many epochs are over."""
        return int(self.done[job] // self._per[job][self.regime[job]])

    def believed_epoch(self, job: int) -> int:
        """The epoch that the job is in for whoever decides on regimes: an epoch that has begun counts."""
        return int(-(-self.done[job] // self._per[job][self.regime[job]]))

    def ran(self, job: int, steps: int) -> bool:
        """Account a slice; whether the job's regime changes with its end (line 2)."""
        self.done[job] += steps
        changes = self._next[job] != self.regime[job] and self.left(job) > 0
        if changes:
            self._change(job, self._next[job])
        wanted = max(self._wanted(job, self.believed_epoch(job) + k) for k in range(self._ahead[job] + 1))
        now = self.regime[job]
        self._next[job] = now + (wanted > now) - (wanted < now)
        return changes

    def _wanted(self, job: int, epoch: int) -> int:
        begins, values = self._wants[job]
        return int(values[bisect_right(begins, epoch) - 1])

    def _change(self, job: int, regime: int) -> None:
        """Line 3."""
        old, new = self._per[job][self.regime[job]], self._per[job][regime]
        batches = self.adaptation.batch[job].tolist()
        epochs = -(-self.all[job] // old)
        scaled = -(-self.all[job] * batches[self.regime[job]] // batches[regime])
        self.done[job] = self.believed_epoch(job) * new
        self.all[job] = scaled if -(-scaled // new) == epochs else new * epochs
        self.regime[job] = regime
