"""Predicted losses from the reported ones, as the tables of an instance.

The predictor sees the losses reported so far (at most its window of them) and never the true curve. It sees target
losses as far as `hints` allows; only `information=oracle` reads the true curve.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.losses.curves import FAMILIES
from mlsched.core.losses.fits import Fits, unfitted
from mlsched.core.losses.predict import Predictor, strawman
from mlsched.core.losses.window import Window
from mlsched.instances.quality.instance import PPM
from mlsched.instances.quality.tables import gain_table, loss_table
from mlsched.simulation.quality.options import Options
from mlsched.simulation.quality.workload import NANO, NO_TARGET, Workload

#: Expected loss reduction after the first iteration of a newcomer, as a share of the total (`Predictor` assumes the
#: same of two losses).
FIRST_SHARE = 0.5


class Forecaster:
    """Tables of any subset of a workload's jobs; keeps the last fits as starting points of the next."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options, self.predictor = workload, options, Predictor()
        self._loss = workload.loss / NANO
        changes = np.abs(np.diff(self._loss, axis=1, prepend=self._loss[:, :1]))
        has_target = (workload.target != NO_TARGET) & (options.hints != "unknown")
        self._target = np.where(has_target, workload.target / NANO, np.nan)
        self._largest = np.maximum.accumulate(changes, axis=1)  # largest change up to each iteration
        self._fits: Fits = unfitted(len(workload.submit))

    def tables(self, jobs: IntArray, served: IntArray, width: int) -> tuple[IntArray, IntArray]:
        """Return `gain` and `loss` (ppm, shape (jobs, width + 1)) of jobs that have `served` core-milliseconds."""
        work = self.workload.work[jobs]
        iterations_seen = served // work
        work_after = served[:, None] + np.arange(width + 1) * (1000 * self.options.epoch)
        if self.options.progress == "carry":
            at = (work_after // work[:, None]).astype(np.float64)
        else:
            at = work_after / work[:, None]
        first = self._loss[jobs, 0]
        loss_at, final = self._predict_losses(jobs, iterations_seen)
        oracle = self.options.information == "oracle"
        losses, largest = (
            loss_at(at),
            self._largest[jobs, np.maximum(iterations_seen, 1) if oracle else iterations_seen],
        )
        scale = first - final if self.options.normalise == "range" else largest
        gain, loss = gain_table(losses, scale), loss_table(losses, first, final)
        if self.options.newcomer == "unit" and not oracle:
            new = np.flatnonzero(largest == 0)
            begun_share = np.clip(at[new], 0, 1) - np.clip(at[new, :1], 0, 1)
            unit = FIRST_SHARE if self.options.normalise == "range" else 1.0
            gain[new] = np.floor(PPM * unit * begun_share)
            loss[new] = np.ceil(PPM * (1 - FIRST_SHARE * np.clip(at[new], 0, 1)))
        return gain, loss

    def _predict_losses(
        self, jobs: IntArray, iterations_seen: IntArray
    ) -> tuple[Callable[[FloatArray], FloatArray], FloatArray]:
        """Return a function that predicts losses at iterations, and the final losses, in the jobs' units."""
        if self.options.information == "oracle":
            return lambda k: self._true_losses(jobs, k), self.workload.lowest[jobs] / NANO
        window = self._latest_losses(jobs, iterations_seen)
        names = [FAMILIES[f] for f in self.workload.family[jobs].tolist()]
        target = self._target[jobs]
        hints = target if self.options.hints == "fit" else None
        forecast = self.predictor.fit_window(window, names, targets=hints, warm=self._fits.take(jobs))
        self._store_fits(forecast.fits, jobs)
        final = np.fmax(forecast.final_loss(), target)  # NaN: no target
        if self.options.predictor == "strawman":
            return lambda k: np.fmax(strawman(window, k, nonnegative=True), target[:, None]), final
        return lambda k: np.fmax(forecast.loss_at(k), target[:, None]), final

    def _latest_losses(self, jobs: IntArray, iterations_seen: IntArray) -> Window:
        """Return the latest losses of each job, packed as by `Window.pack`."""
        lengths = np.minimum(iterations_seen + 1, self.predictor.window)
        height = int(lengths.max(initial=1))
        row = np.arange(height)[:, None]
        at = np.maximum(row + (iterations_seen - height + 1), iterations_seen - lengths + 1)
        return Window(at.astype(np.float64), self._loss[jobs, at], lengths)

    def _true_losses(self, jobs: IntArray, k: FloatArray) -> FloatArray:
        """Return the losses after k iterations, shape of k: interpolated, and constant after the last iteration."""
        last = self.workload.last[jobs][:, None]
        low = np.minimum(k.astype(np.int64), last)
        part = np.minimum(k, last) - low
        rows = jobs[:, None]
        return np.asarray((1 - part) * self._loss[rows, low] + part * self._loss[rows, np.minimum(low + 1, last)])

    def _store_fits(self, fits: Fits, jobs: IntArray) -> None:
        """Store the fits of `jobs`; those of other jobs stay."""
        place = np.full(len(self.workload.submit), -1)
        place[jobs] = np.arange(len(jobs))
        self._fits = fits.take(place)
