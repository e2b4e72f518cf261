"""Predictions of a training job's loss and run time, on which SLAQ bases its schedule.

    predictor = Predictor()
    forecast = predictor.fit(iterations, losses, families)          # all jobs at once
    forecast.loss_at(k)                                              # (N,) or (N, m)
    forecast = predictor.fit(..., warm=forecast.fits)                # next epoch

A forecast is finite for every history, at most the job's current loss, and non-increasing in k: a predicted loss
reduction is never negative. Form and weights follow the paper. Window length, decay and the bounds on the asymptote are
not in the paper; see `Predictor`.

Paper: SLAQ (Zhang et al., SoCC 2017): run time Section 4.2.1, loss 4.2.2, hints of non-convex jobs 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.losses.curves import FAMILIES, Family, Floats
from mlsched.core.losses.fits import Fits, Mask, fit_curves
from mlsched.core.losses.window import MAX_LOSS, Window
from mlsched.core.params import Number, Range

Histories = Sequence[npt.ArrayLike]
"""One list of numbers per job, of any lengths."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Fitted curves of N jobs, limited to the range that a schedule may use.

    Attributes:
        fits: The curves; pass them to the next `Predictor.fit` as `warm`.
        last_iteration: Iteration of each job's latest observation, shape (N,).
        last_loss: Loss of each job's latest observation, shape (N,).
    """

    fits: Fits
    last_iteration: FloatArray
    last_loss: FloatArray

    def loss_at(self, k: Floats) -> FloatArray:
        """Return the losses at iterations `k` in the jobs' units, shape (N,) or (N, m) like `k`.

        They are at most the current loss.
        """
        at = np.asarray(k, dtype=np.float64)
        if at.ndim not in (1, 2) or len(at) != len(self.last_loss):
            raise InvalidInput(
                f"k: has shape {at.shape}, expected ({len(self.last_loss)},) or ({len(self.last_loss)}, m)"
            )
        if np.isnan(at).any():
            raise InvalidInput("k: NaN, expected the number of an iteration")
        shape = (-1,) + (1,) * (at.ndim - 1)
        now, loss = self.last_iteration.reshape(shape), self.last_loss.reshape(shape)
        return np.where(at <= now, loss, np.minimum(self.fits.at(at), loss))

    def reduction_at(self, k: Floats) -> FloatArray:
        """Return current loss minus the loss at iterations `k`; never negative, shapes as in `loss_at`."""
        shape = (-1,) + (1,) * (np.ndim(k) - 1)
        return self.last_loss.reshape(shape) - self.loss_at(k)

    def final_loss(self) -> FloatArray:
        """Return the limit of the loss, shape (N,): l_final of the normalisation, predicted when scheduling online."""
        return np.minimum(self.fits.asymptote, self.last_loss)


@dataclass(frozen=True)
class Predictor(ValidatedFields):
    """Weighted curve fitting of Section 4.2.2, with the numbers that the paper leaves open.

    The defaults were chosen on the AlgoPerf and Pollux curves. The error ten observations ahead varies little there
    (window 16 to 64, decay 0.7 to 0.95, reach 0.5 to 2: within 2.5 percentage points).

    Attributes:
        window: Number of latest observations in a fit. With decay 0.9 the 33rd last has a weight of 3 %.
        decay: Weight of an observation relative to the next, in (0, 1].
        reach: Largest distance of the asymptote below the window's lowest loss, in ranges of the window's losses.
            Without a bound, a nearly straight history extrapolates to minus infinity.
        nonnegative: Keep the asymptote of a job at or above 0 unless it has reported a negative loss. Squared error,
            hinge, logistic and cross-entropy losses are all nonnegative.
        steps: Maximum number of Levenberg-Marquardt steps per fit.
    """

    window: Number = 32
    decay: Annotated[float, Range(0, 1, open_low=True)] = 0.9
    reach: Annotated[float, Range(0, 1e6, open_low=True)] = 1.0
    nonnegative: bool = True
    steps: Number = 30

    def fit(
        self,
        iterations: Histories,
        losses: Histories,
        families: Sequence[Family],
        *,
        targets: npt.ArrayLike | None = None,
        warm: Fits | None = None,
    ) -> Forecast:
        """Forecast N jobs from their histories.

        Args:
            iterations: Strictly increasing iteration numbers, one sequence per job.
            losses: Losses reported at those iterations, one sequence per job.
            families: Family of each job by the class of its optimiser (Table 1); `unknown` selects the smaller
                residual.
            targets: Hints of final losses, shape (N,), NaN if unknown (Section 7, non-convex jobs). The curve
                approaches the hint; a job at or below its hint is fitted without it.
            warm: `Forecast.fits` of the same jobs in an earlier epoch (`Fits.take` reorders), used as start.

        Returns:
            The forecast of all jobs.

        Raises:
            InvalidInput: Lengths differ, a family is unknown to the library, or a history cannot be used.
        """
        return self.fit_window(Window.pack(iterations, losses, self.window), families, targets=targets, warm=warm)

    def fit_window(
        self,
        window: Window,
        families: Sequence[Family],
        *,
        targets: npt.ArrayLike | None = None,
        warm: Fits | None = None,
    ) -> Forecast:
        """Forecast from packed histories; arguments as in `fit`."""
        sublinear, unknown = _families(families, len(window))
        if warm is not None and len(warm) != len(window):
            raise InvalidInput(f"warm: has {len(warm)} jobs, expected {len(window)}; reorder with Fits.take")
        low, high = self._bounds(window, targets)

        def fit_part(part: Mask) -> Fits:
            return fit_curves(window, part, low, high, decay=self.decay, warm=warm, steps=self.steps)

        fits = fit_part(sublinear)
        if unknown.any():
            # Unknown families were fitted as sublinear: fit them as superlinear too, and keep the better fit.
            other = fit_part(sublinear & ~unknown)
            fits = fits.merge(other, np.flatnonzero(unknown & (other.sse < fits.sse)))
        return Forecast(fits, window.last_iteration, window.last_loss)

    def _bounds(self, window: Window, targets: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of the asymptote, each of shape (N,)."""
        lowest = window.losses.min(axis=0)
        spread = window.losses.max(axis=0) - lowest
        low = np.maximum(lowest - self.reach * spread, -4 * MAX_LOSS)
        # One or two observations do not determine an asymptote: assume that the last reduction repeats once.
        few = window.lengths < 3
        low = np.where(few, window.last_loss - np.maximum(window.losses[0] - window.last_loss, 0.0), low)
        if self.nonnegative:
            low = np.where(lowest >= 0, np.maximum(low, 0.0), low)
        high = np.where(few, low, np.inf)
        if targets is not None:
            hint = np.asarray(targets, dtype=np.float64)
            if hint.shape != lowest.shape or np.isinf(hint).any():
                raise InvalidInput(
                    f"targets: has shape {hint.shape}, expected ({len(lowest)},), finite, or NaN without a target"
                )
            hinted = hint < window.last_loss  # False for NaN
            low, high = np.where(hinted, hint, low), np.where(hinted, hint, high)
        return low, high


def _families(families: Sequence[Family], jobs: int) -> tuple[Mask, Mask]:
    """Return two masks of shape (N,): the job is (for now) sublinear; its family is unknown."""
    if len(families) != jobs:
        raise InvalidInput(f"families: has {len(families)} entries, expected {jobs}, one per job")
    if unknown_names := sorted(set(families).difference(FAMILIES)):
        raise InvalidInput(f"families: {unknown_names[0]!r}, expected one of {', '.join(FAMILIES)}")
    names = np.array(families, dtype="U11")
    return names != "superlinear", names == "unknown"


@validate_arguments
def strawman(window: Window, k: Floats, *, deltas: Number = 1, nonnegative: bool = False) -> FloatArray:
    """Predict by the paper's strawman (4.2): the latest reduction per iteration, repeated forever.

    Args:
        window: The histories.
        k: Iterations, shape (N,) or (N, m).
        deltas: Number of latest reductions that are averaged.
        nonnegative: Stop at 0 for jobs without a negative loss. The paper's strawman is unlimited.

    Returns:
        Losses in the shape of `k`, within 1e300; a rising history predicts its latest loss.
    """
    at = np.asarray(k, dtype=np.float64)
    back = np.minimum(window.lengths - 1, deltas)
    row, jobs = len(window.losses) - 1 - back, np.arange(len(window))
    fall = np.maximum(window.losses[row, jobs] - window.last_loss, 0.0)
    width = window.last_iteration - window.iterations[row, jobs]
    shape = (-1,) + (1,) * (at.ndim - 1)
    with np.errstate(over="ignore"):
        rate = np.divide(fall, width, out=np.zeros_like(fall), where=width > 0).reshape(shape)
        elapsed = np.maximum(at - window.last_iteration.reshape(shape), 0.0)
        decrease = np.minimum(np.multiply(rate, elapsed, out=np.zeros_like(elapsed), where=rate > 0), 2 * MAX_LOSS)
    floor = np.where(nonnegative & (window.losses.min(axis=0) >= 0), 0.0, -MAX_LOSS)
    return np.asarray(np.maximum(window.last_loss.reshape(shape) - decrease, floor.reshape(shape)))
