"""Jobs that change their batch size while they run, and with it their rate (Shockwave, Zheng et al., NSDI 2023).

A job trains for a fixed number of epochs, whatever its batch size: a larger batch makes an epoch of fewer steps. A
*regime* is a batch size with its rates. The world follows Shockwave's simulator (`scheduler/scheduler.py` there,
`_simulate_accordion`, `_simulate_gns`, `_scale_bs_and_iters`):

1. At the end of a slice the job looks up the regime that it wants in its present epoch, ceil(steps done / steps of an
   epoch). Under gradient noise scale it takes the larger of this regime and that of the next epoch.
2. If its own regime differs, it moves to the next regime on the way - at the end of its next slice, not before.
3. Its steps are then counted again. Steps done become those of the epochs begun, ceil(.), so that the rest of an epoch
   is given to it. All steps are scaled by the ratio of batch sizes, or set to the old number of epochs if scaling would
   change that number. If the remaining steps are 0, see the option `emptied`.

The *beliefs* are the regimes that a scheduler expects for the epochs: in Shockwave the two differ.
"""

from __future__ import annotations

import dataclasses
import functools
from bisect import bisect_right
from typing import ClassVar

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, FloatArray, IntArray, array
from mlsched.core.record import Record

#: Parts of a step per second in `Adaptation.rate`.
PICO = 10**12


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Adaptation(Record):
    """Regimes of jobs, and the wanted regime of each epoch.

    A job without an entry has one regime, the workload's own rate; it may have epochs all the same.
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
    def rates(self) -> FloatArray:
        """Return the steps per second, shape (jobs, regimes, types)."""
        exact = [int(rate) * PICO + int(fine) for rate, fine in zip(self.rate.flat, self.fine.flat, strict=True)]
        values = np.array([digits / PICO**2 for digits in exact], dtype=np.float64)
        result: FloatArray = values.reshape(self.rate.shape)
        return result

    @functools.cached_property
    def epoch_steps(self) -> list[list[int]]:
        """Return the steps of an epoch, jobs x regimes; 0 for a missing regime."""
        return [
            [-(-samples // batch) if batch else 0 for batch in row]
            for samples, row in zip(self.samples.tolist(), self.batch.tolist(), strict=True)
        ]

    def epochs(self, steps: IntArray) -> list[int]:
        """Return the number of epochs of each job, given its steps in the log."""
        return [-(-count // row[0]) for count, row in zip(steps.tolist(), self.epoch_steps, strict=True)]

    def seconds(self, steps: IntArray) -> FloatArray:
        """Return a lower bound on each job's seconds on one type, shape (jobs, types); inf if the job never ends.

        Each epoch is done in the fastest regime that can have been reached by then. Each change of regime gives at most
        an epoch away. Since regimes follow the wishes one at a time, the number of changes is at most the total
        variation of the wishes. The last epoch may be one step. With several types, all epochs are as fast as the
        fastest, so that work on different types may be added up.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(
                self.rates > 0, np.array(self.epoch_steps, dtype=np.float64)[..., None] / self.rates, np.inf
            )
        result: FloatArray = times[:, 0] * (steps / np.array(self.epoch_steps)[:, 0])[:, None]
        for job, epochs in enumerate(self.epochs(steps)):
            wished = self._regime_wishes(job, epochs)
            changes = int(wished[0] + np.abs(np.diff(wished)).sum())
            if changes:
                best = np.minimum.accumulate(times[job], axis=0)
                each = best[np.maximum.accumulate(wished)[: epochs - 1]]
                if times.shape[2] > 1:
                    each = np.broadcast_to(each.min(axis=0, initial=np.inf), each.shape)
                least = times[job].min(axis=0) / max(self.epoch_steps[job])
                result[job] = np.maximum(np.sort(each, axis=0)[: max(0, len(each) - changes)].sum(axis=0), least)
        return result

    def _regime_wishes(self, job: int, epochs: int) -> IntArray:
        """Return the wanted regime of the job in each of its epochs, and after the last."""
        each = np.arange(epochs + 1 + int(self.ahead[job]))
        wants: IntArray = self.wants[job][np.searchsorted(self.wants_from[job], each, side="right") - 1]
        return np.maximum(wants[:-1], wants[1:]) if self.ahead[job] else wants

    def beliefs(self, job: int, epochs: int) -> list[int]:
        """Return the expected regime of each of the job's epochs."""
        begins, values = self.believed_from[job].tolist(), self.believed[job].tolist()
        return [values[bisect_right(begins, epoch) - 1] for epoch in range(epochs)]


class Progress:
    """Progress of the jobs of a run: steps done and in all, counted in batches of the present regime."""

    def __init__(self, adaptation: Adaptation, steps: IntArray) -> None:
        self.adaptation = adaptation
        self.all, self.done = steps.tolist(), [0] * len(steps)
        self.regime = [0] * len(steps)
        self._next = [0] * len(steps)  # regime of the slice after the coming one
        self._per = adaptation.epoch_steps
        self._ahead = adaptation.ahead.tolist()
        self._wants = list(zip(adaptation.wants_from.tolist(), adaptation.wants.tolist(), strict=True))

    def left(self, job: int) -> int:
        """Return the remaining steps."""
        return max(0, int(self.all[job] - self.done[job]))

    def rates(self, job: int) -> FloatArray:
        """Return the steps per second on each type in the job's regime."""
        result: FloatArray = self.adaptation.rates[job, self.regime[job]]
        return result

    def epoch(self, job: int) -> int:
        """Return the number of completed epochs."""
        return int(self.done[job] // self._per[job][self.regime[job]])

    def believed_epoch(self, job: int) -> int:
        """Return the present epoch for decisions on regimes: an epoch that has begun counts."""
        return int(-(-self.done[job] // self._per[job][self.regime[job]]))

    def ran(self, job: int, steps: int) -> bool:
        """Add a slice; return whether the job's regime changes with its end (line 2)."""
        self.done[job] += steps
        changes = self._next[job] != self.regime[job] and self.left(job) > 0
        if changes:
            self._change_regime(job, self._next[job])
        request = max(self._wanted(job, self.believed_epoch(job) + k) for k in range(self._ahead[job] + 1))
        now = self.regime[job]
        self._next[job] = now + (request > now) - (request < now)
        return changes

    def _wanted(self, job: int, epoch: int) -> int:
        begins, values = self._wants[job]
        return int(values[bisect_right(begins, epoch) - 1])

    def _change_regime(self, job: int, regime: int) -> None:
        """Change the regime by line 3."""
        old, new = self._per[job][self.regime[job]], self._per[job][regime]
        batches = self.adaptation.batch[job].tolist()
        epochs = -(-self.all[job] // old)
        scale = -(-self.all[job] * batches[self.regime[job]] // batches[regime])
        self.done[job] = self.believed_epoch(job) * new
        self.all[job] = scale if -(-scale // new) == epochs else new * epochs
        self.regime[job] = regime
