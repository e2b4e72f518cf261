"""Exponentially weighted least-squares fits of loss curves, thousands of jobs at a time.

Both families are fitted in the form A g(k - k_0) + d, with k_0 the first iteration of the window. Unlike the paper's
parameters, this form stays well conditioned:

- sublinear    g = 1 / (1 + first k + second k^2):  a = second / A, b = first / A, c = 1 / A (about k_0)
- superlinear  g = exp(-first k):                   mu = exp(-first), b = k_0 + ln(A) / first, c = d

with A, first, second >= 0, so that every fitted curve is finite and decreasing from k_0 on. An observation `n` places
before the latest has weight `decay ** n`. Tests compare with `scipy.optimize.curve_fit` (tests/core).

Paper: SLAQ (Zhang et al., SoCC 2017), Section 4.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray
from mlsched.core.losses import _varpro
from mlsched.core.losses.curves import Floats
from mlsched.core.losses.window import Window

Mask = npt.NDArray[np.bool_]
_MAX_ITERATIONS = 1e300
_MAX_RANGES = 1e9  # an asymptote this many ranges away draws a straight line


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted curves of N jobs; every array has shape (N,). A job without a fit has NaN in `amplitude`.

    Attributes:
        sublinear: Family: True for sublinear, False for superlinear.
        origin: k_0, the origin of the parameters, in iterations.
        amplitude: A, in the job's unit of loss.
        first: First shape parameter, in 1/iteration.
        second: Second shape parameter, in 1/iteration^2.
        asymptote: d, in the job's unit of loss.
        sse: Weighted sum of squared errors, in squared ranges of the window's losses.
    """

    sublinear: Mask
    origin: FloatArray
    amplitude: FloatArray
    first: FloatArray
    second: FloatArray
    asymptote: FloatArray
    sse: FloatArray

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.origin)

    def at(self, k: Floats) -> FloatArray:
        """Return the fitted losses at iterations `k`, of shape (N,) or (N, m); before k_0, the value at k_0."""
        at = np.asarray(k, dtype=np.float64)
        shape = (len(self),) + (1,) * (at.ndim - 1)
        origin, first, second, amplitude, asymptote, sublinear = (
            v.reshape(shape)
            for v in (self.origin, self.first, self.second, self.amplitude, self.asymptote, self.sublinear)
        )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            x = np.clip(at - origin, 0.0, _MAX_ITERATIONS)
            rational = 1.0 / (1.0 + x * (first + second * x))
            g = np.where(sublinear, rational, np.exp(-np.minimum(first * x, 745.0)))
        return np.asarray(amplitude * g + asymptote)

    def take(self, jobs: npt.ArrayLike) -> Fits:
        """Select the fits of jobs by index, with -1 for a job without a fit: `warm` after jobs arrived and left."""
        index = np.asarray(jobs, dtype=np.int64)
        if not len(self):
            return unfitted(len(index))
        selection = Fits(*(getattr(self, f.name)[index] for f in fields(self)))
        return replace(selection, amplitude=np.where(index < 0, np.nan, selection.amplitude))

    def merge(self, other: Fits, jobs: npt.NDArray[np.int64]) -> Fits:
        """Return these fits, with those of `jobs` taken from `other`."""
        parts = {f.name: getattr(self, f.name).copy() for f in fields(self)}
        for name, values in parts.items():
            values[jobs] = getattr(other, name)[jobs]
        return Fits(**parts)


def unfitted(jobs: int) -> Fits:
    """Return fits for `jobs` jobs that have not been fitted."""
    zero = np.zeros(jobs)
    return Fits(np.ones(jobs, dtype=np.bool_), zero, np.full(jobs, np.nan), zero, zero, zero, zero)


def fit_curves(
    window: Window,
    sublinear: Mask,
    low: FloatArray,
    high: FloatArray,
    *,
    decay: float,
    warm: Fits | None = None,
    steps: int = 30,
) -> Fits:
    """Fit one curve per job.

    Args:
        window: Histories of N jobs.
        sublinear: Family of each job, shape (N,).
        low: Lower bounds on the asymptote d in the job's unit of loss, shape (N,); may be -inf.
        high: Upper bounds on the asymptote, shape (N,); may be inf.
        decay: Weight of an observation relative to the next, in (0, 1].
        warm: Fits of the same jobs for an earlier window, used as start if the family is the same.
        steps: Maximum number of Levenberg-Marquardt steps.
    """
    scaled = _Scaled(window, low, high, decay)
    parts = []
    for shape, members in ((_varpro.RATIONAL, sublinear), (_varpro.EXPONENTIAL, ~sublinear)):
        jobs = np.flatnonzero(members)
        if not jobs.size:
            continue
        previous = None if warm is None else _rebase_parameters(warm, shape, window, scaled, sublinear)
        parts.append((jobs, scaled.fit(shape, jobs, previous, steps)))
    theta, amplitude, asymptote, sse = (np.zeros((2, len(window))), *np.zeros((3, len(window))))
    for jobs, (parameters, lin, error) in parts:
        theta[: len(parameters), jobs] = parameters
        amplitude[jobs], asymptote[jobs], sse[jobs] = lin.amplitude, lin.asymptote, error
    with np.errstate(over="ignore"):
        return Fits(
            sublinear=sublinear,
            origin=window.iterations[0],
            amplitude=amplitude * scaled.range,
            first=np.minimum(theta[0] / scaled.span, _MAX_ITERATIONS),
            second=np.minimum(theta[1] / scaled.span / scaled.span, _MAX_ITERATIONS),
            asymptote=np.clip(asymptote * scaled.range + scaled.lowest, low, high),
            sse=sse,
        )


class _Scaled:
    """Window with iterations and losses scaled to [0, 1] per job, and the scales."""

    def __init__(self, window: Window, low: FloatArray, high: FloatArray, decay: float) -> None:
        height = len(window.losses)
        self.lengths = window.lengths
        self.lowest = window.losses.min(axis=0)
        spread = window.losses.max(axis=0) - self.lowest
        # A prescribed asymptote extends the range: far below the losses it would be a huge number otherwise.
        spread = np.maximum(spread, np.where(low == high, self.lowest - low, 0.0))
        self.range = np.where(spread > 0, spread, 1.0)
        width = window.iterations[-1] - window.iterations[0]
        self.span = np.where(width > 0, width, 1.0)
        with np.errstate(over="ignore"):
            self.problems = _varpro.Problems(
                x=(window.iterations - window.iterations[0]) / self.span,
                u=(window.losses - self.lowest) / self.range,
                w=np.where(window.observed, decay ** np.arange(height - 1.0, -1.0, -1.0)[:, None], 0.0),
                low=np.clip((low - self.lowest) / self.range, -_MAX_RANGES, _MAX_RANGES),
                high=np.clip((high - self.lowest) / self.range, -_MAX_RANGES, _MAX_RANGES),
            )

    def fit(
        self, shape: _varpro.Shape, jobs: npt.NDArray[np.int64], previous: FloatArray | None, steps: int
    ) -> tuple[FloatArray, _varpro.Linear, FloatArray]:
        """Fit `jobs`; return shape parameters (P, n), linear part and squared error (n,)."""
        complete = len(jobs) == len(self.lengths)
        problems = self.problems if complete else self.problems.take(jobs)
        high = np.repeat(shape.high[:, None], len(jobs), axis=1)
        if len(high) > 1:
            high[1, self.lengths[jobs] < 4] = 0.0  # four parameters need four observations
        theta = None if previous is None else previous[:, jobs]
        if theta is None or np.isnan(theta).any():
            without_start = np.arange(len(jobs)) if theta is None else np.flatnonzero(np.isnan(theta[0]))
            start = _varpro.best_start(shape, problems.take(without_start), None, high[:, without_start])
            theta = np.zeros((len(shape.low), len(jobs))) if theta is None else theta.copy()
            theta[:, without_start] = start
        theta = np.clip(theta, shape.low[:, None], high)
        theta, lin = _varpro.levenberg_marquardt(shape, problems, theta, high, steps)
        r = problems.u - lin.amplitude * shape.value(problems.x, theta) - lin.asymptote
        return theta, lin, _varpro.sum_products(problems.w * r, r)


def _rebase_parameters(
    warm: Fits, shape: _varpro.Shape, window: Window, scaled: _Scaled, sublinear: Mask
) -> FloatArray:
    """Convert earlier shape parameters to this window's origin and scale, shape (P, N); NaN without earlier ones."""
    delay = np.maximum(window.iterations[0] - warm.origin, 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if len(shape.low) == 1:
            theta = (warm.first * scaled.span)[None]
        else:
            # 1 + f (x + t) + s (x + t)^2 is a multiple of 1 + f' x + s' x^2: the same curve, t iterations later
            q = 1.0 + delay * (warm.first + warm.second * delay)
            first = (warm.first + 2 * warm.second * delay) / q * scaled.span
            theta = np.array([first, warm.second / q * scaled.span * scaled.span])
    usable = (warm.amplitude > 0) & (warm.sublinear == sublinear) & np.isfinite(theta).all(axis=0)
    return np.where(usable, theta, np.nan)
