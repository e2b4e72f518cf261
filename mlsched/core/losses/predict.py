"""What a training job will lose and how long it will take: the two predictions that SLAQ schedules by.

Paper: SLAQ (Zhang et al., SoCC 2017): run time 4.2.1, loss 4.2.2, hints of non-convex jobs Section 7.

    predictor = Predictor()
    forecast = predictor.fit(iterations, losses, families)          # all jobs at once
    forecast.loss_at(k)                                              # (N,) or (N, m)
    forecast = predictor.fit(..., warm=forecast.fits)                # next epoch

A forecast is finite for every history, at most the job's current loss and non-increasing in k: a predicted loss
reduction is never negative. The form and the weights are the paper's; window length, decay and the bounds on the
asymptote are not in the paper and are documented at `Predictor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.losses.curves import FAMILIES, Family, FloatArray, Floats
from mlsched.core.losses.fits import Fits, Mask, fit
from mlsched.core.losses.window import MOST_LOSS, Window
from mlsched.core.params import Number, Range

Histories = Sequence[npt.ArrayLike]
"""One list of numbers per job, of any lengths."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Fitted curves of N jobs, clamped to what a schedule may count on.

    Attributes:
        fits: the curves; hand them to the next `Predictor.fit` as `warm`.
        last_iteration, last_loss: (N,) each job's latest observation.
    """

    fits: Fits
    last_iteration: FloatArray
    last_loss: FloatArray

    def loss_at(self, k: Floats) -> FloatArray:
        """Losses at iterations `k` in the jobs' units, (N,) or (N, m) as `k` is: at most the current loss."""
        at = np.asarray(k, dtype=np.float64)
        if at.ndim not in (1, 2) or len(at) != len(self.last_loss):
            raise InvalidInput(
                f"k: has shape {at.shape}: must be ({len(self.last_loss)},) or ({len(self.last_loss)}, m)"
            )
        if np.isnan(at).any():
            raise InvalidInput("k: holds NaN; every iteration must be a number")
        shape = (-1,) + (1,) * (at.ndim - 1)
        now, loss = self.last_iteration.reshape(shape), self.last_loss.reshape(shape)
        return np.where(at <= now, loss, np.minimum(self.fits.at(at), loss))

    def reduction_at(self, k: Floats) -> FloatArray:
        """Current loss less the loss at iterations `k`; never negative, shapes as in `loss_at`."""
        shape = (-1,) + (1,) * (np.ndim(k) - 1)
        return self.last_loss.reshape(shape) - self.loss_at(k)

    def final_loss(self) -> FloatArray:
        """(N,) the loss that training approaches: l_final of the normalisation, which online is a prediction."""
        return np.minimum(self.fits.asymptote, self.last_loss)


@dataclass(frozen=True)
class Predictor(ValidatedFields):
    """Weighted curve fitting of 4.2.2, with the numbers that the paper leaves open.

    The defaults were chosen by looking at the AlgoPerf and Pollux curves, where the error ten observations ahead varies
    little (window 16 to 64, decay 0.7 to 0.95, reach 0.5 to 2: within 2.5 percentage points).

    Attributes:
        window: how many of the latest observations are fitted. With decay 0.9 the 33rd last weighs 3 %.
        decay: weight of an observation over that of the next one, in (0, 1].
        reach: how far below the window's lowest loss the asymptote may lie, in ranges of the window's losses. Without
            a bound a nearly straight history extrapolates to minus infinity.
        nonnegative: keep the asymptote of a job at or above 0 unless it has reported a negative loss. Squared
            errors, hinge, logistic and cross-entropy losses are all nonnegative.
        steps: most Levenberg-Marquardt steps a fit.
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
        """Forecasts of N jobs from their histories.

        Args:
            iterations, losses: a history a job: strictly increasing iteration numbers, and the losses reported there.
            families: each job's family, as its optimiser's class says (Table 1); `unknown`: the smaller residual.
            targets: (N,) hints of final losses (Section 7, non-convex jobs), NaN where there is none. The curve
                approaches the hint; a job already at or below its hint is fitted without it.
            warm: the same jobs' `Forecast.fits` of an earlier epoch (`Fits.take` reorders), to start from.

        Raises:
            InvalidInput: lengths differ, a family is unknown to the library, or a history cannot be used.
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
        """`fit` for callers that keep their histories packed."""
        sublinear, unknown = _families(families, len(window))
        if warm is not None and len(warm) != len(window):
            raise InvalidInput(f"warm: holds {len(warm)} jobs: must be {len(window)}; reorder with Fits.take")
        low, high = self._bounds(window, targets)

        def fitted(part: Mask) -> Fits:
            return fit(window, part, low, high, decay=self.decay, warm=warm, steps=self.steps)

        fits = fitted(sublinear)
        if unknown.any():
            other = fitted(sublinear ^ unknown)
            fits = fits.merge(other, np.flatnonzero(unknown & (other.sse < fits.sse)))
        return Forecast(fits, window.last_iteration, window.last_loss)

    def _bounds(self, window: Window, targets: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        """(N,) each: the interval of the asymptote."""
        lowest = window.losses.min(axis=0)
        spread = window.losses.max(axis=0) - lowest
        low = np.maximum(lowest - self.reach * spread, -4 * MOST_LOSS)
        # One observation says nothing, and two no asymptote: let what is still to come be the last reduction again.
        few = window.lengths < 3
        low = np.where(few, window.last_loss - np.maximum(window.losses[0] - window.last_loss, 0.0), low)
        if self.nonnegative:
            low = np.where(lowest >= 0, np.maximum(low, 0.0), low)
        high = np.where(few, low, np.inf)
        if targets is not None:
            hint = np.asarray(targets, dtype=np.float64)
            if hint.shape != lowest.shape or np.isinf(hint).any():
                raise InvalidInput(f"targets: has shape {hint.shape}: must be ({len(lowest)},), finite or NaN for none")
            hinted = hint < window.last_loss  # False for NaN
            low, high = np.where(hinted, hint, low), np.where(hinted, hint, high)
        return low, high


def _families(families: Sequence[Family], jobs: int) -> tuple[Mask, Mask]:
    """(N,) masks: the job is (for now) sublinear; its family is unknown."""
    if len(families) != jobs:
        raise InvalidInput(f"families: has {len(families)} entries: must be {jobs}, one per job")
    if strange := sorted(set(families).difference(FAMILIES)):
        raise InvalidInput(f"families: holds {strange[0]!r}: must be one of {', '.join(FAMILIES)}")
    names = np.array(families, dtype="U11")
    return names != "superlinear", names == "unknown"


@validate_arguments
def strawman(window: Window, k: Floats, *, deltas: Number = 1, nonnegative: bool = False) -> FloatArray:
    """The paper's strawman (4.2): the latest reduction per iteration, repeated for ever.

    Args:
        window: the histories.
        k: iterations, (N,) or (N, m).
        deltas: take the average of so many of the latest reductions instead of one.
        nonnegative: stop at 0 for jobs without a negative loss. The paper's strawman has no floor.

    Returns:
        Losses shaped like `k`, within 1e300; a rising history predicts its latest loss.
    """
    at = np.asarray(k, dtype=np.float64)
    back = np.minimum(window.lengths - 1, deltas)
    row, jobs = len(window.losses) - 1 - back, np.arange(len(window))
    fall = np.maximum(window.losses[row, jobs] - window.last_loss, 0.0)
    width = window.last_iteration - window.iterations[row, jobs]
    shape = (-1,) + (1,) * (at.ndim - 1)
    with np.errstate(over="ignore"):
        rate = np.divide(fall, width, out=np.zeros_like(fall), where=width > 0).reshape(shape)
        passed = np.maximum(at - window.last_iteration.reshape(shape), 0.0)
        dropped = np.minimum(np.multiply(rate, passed, out=np.zeros_like(passed), where=rate > 0), 2 * MOST_LOSS)
    floor = np.where(nonnegative & (window.losses.min(axis=0) >= 0), 0.0, -MOST_LOSS)
    return np.asarray(np.maximum(window.last_loss.reshape(shape) - dropped, floor.reshape(shape)))
