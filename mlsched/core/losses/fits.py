"""Exponentially weighted least-squares fits of loss curves, thousands of jobs at a time.

Paper: SLAQ (Zhang et al., SoCC 2017), Section 4.2.2. Both families are fitted in the form A g(k - k_0) + d, k_0 being
the first iteration that the window holds, because it stays well conditioned where the paper's parameters do not:

- sublinear    g = 1 / (1 + first k + second k^2):  a = second / A, b = first / A, c = 1 / A (about k_0)
- superlinear  g = exp(-first k):                   mu = exp(-first), b = k_0 + ln(A) / first, c = d

with A, first, second >= 0, which makes every fitted curve finite and decreasing from k_0 on. An observation `n` places
before the latest one weighs `decay ** n`. The checked reference is `scipy.optimize.curve_fit` (tests/core).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from mlsched.core.losses import _varpro
from mlsched.core.losses.curves import FloatArray, Floats
from mlsched.core.losses.window import Window

Mask = npt.NDArray[np.bool_]
_LONGEST = 1e300
_FARTHEST = 1e9  # an asymptote so many ranges away draws a straight line


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted curves of N jobs; every array is (N,). A job that has none holds NaN in `amplitude`.

    Attributes:
        sublinear: the family: True sublinear, False superlinear.
        origin: k_0, the iteration the parameters are about.
        amplitude, asymptote: A and d, in the job's unit of loss.
        first, second: shape, in 1/iteration and 1/iteration^2.
        sse: weighted sum of squared errors, in units of the window's range of losses, squared.
    """

    sublinear: Mask
    origin: FloatArray
    amplitude: FloatArray
    first: FloatArray
    second: FloatArray
    asymptote: FloatArray
    sse: FloatArray

    def __len__(self) -> int:
        """N, the number of jobs."""
        return len(self.origin)

    def at(self, k: Floats) -> FloatArray:
        """The fitted losses at iterations `k`: (N,) -> (N,), (N, m) -> (N, m). Before k_0 the value at k_0."""
        at = np.asarray(k, dtype=np.float64)
        shape = (len(self),) + (1,) * (at.ndim - 1)
        origin, first, second, amplitude, asymptote, sublinear = (
            v.reshape(shape)
            for v in (self.origin, self.first, self.second, self.amplitude, self.asymptote, self.sublinear)
        )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            x = np.clip(at - origin, 0.0, _LONGEST)
            rational = 1.0 / (1.0 + x * (first + second * x))
            g = np.where(sublinear, rational, np.exp(-np.minimum(first * x, 745.0)))
        return np.asarray(amplitude * g + asymptote)

    def take(self, jobs: npt.ArrayLike) -> Fits:
        """The fits of the jobs with these indices, -1 meaning a job that has none: `warm` after jobs came and went."""
        index = np.asarray(jobs, dtype=np.int64)
        if not len(self):
            return unfitted(len(index))
        found = Fits(*(getattr(self, f.name)[index] for f in fields(self)))
        return replace(found, amplitude=np.where(index < 0, np.nan, found.amplitude))

    def merge(self, other: Fits, jobs: npt.NDArray[np.int64]) -> Fits:
        """These fits with those of `jobs` taken from `other`."""
        parts = {f.name: getattr(self, f.name).copy() for f in fields(self)}
        for name, values in parts.items():
            values[jobs] = getattr(other, name)[jobs]
        return Fits(**parts)


def unfitted(jobs: int) -> Fits:
    """The fits of `jobs` jobs that have none."""
    zero = np.zeros(jobs)
    return Fits(np.ones(jobs, dtype=np.bool_), zero, np.full(jobs, np.nan), zero, zero, zero, zero)


def fit(
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
        window: the histories, N jobs.
        sublinear: (N,) each job's family.
        low, high: (N,) bounds on the asymptote d in the job's unit of loss (-inf and inf allowed).
        decay: weight of an observation over that of the next one, in (0, 1].
        warm: the same jobs' fits of an earlier window, to start from where they are of the same family.
        steps: at most so many Levenberg-Marquardt steps.
    """
    scaled = _Scaled(window, low, high, decay)
    parts = []
    for shape, chosen in ((_varpro.RATIONAL, sublinear), (_varpro.EXPONENTIAL, ~sublinear)):
        jobs = np.flatnonzero(chosen)
        if not jobs.size:
            continue
        previous = None if warm is None else _carried(warm, shape, window, scaled, sublinear)
        parts.append((jobs, scaled.fit(shape, jobs, previous, steps)))
    theta, amplitude, asymptote, sse = (np.zeros((2, len(window))), *np.zeros((3, len(window))))
    for jobs, (found, lin, error) in parts:
        theta[: len(found), jobs] = found
        amplitude[jobs], asymptote[jobs], sse[jobs] = lin.amplitude, lin.asymptote, error
    with np.errstate(over="ignore"):
        return Fits(
            sublinear=sublinear,
            origin=window.iterations[0],
            amplitude=amplitude * scaled.range,
            first=np.minimum(theta[0] / scaled.span, _LONGEST),
            second=np.minimum(theta[1] / scaled.span / scaled.span, _LONGEST),
            asymptote=np.clip(asymptote * scaled.range + scaled.lowest, low, high),
            sse=sse,
        )


class _Scaled:
    """A window whose iterations and losses are scaled to [0, 1] job by job, and the scales."""

    def __init__(self, window: Window, low: FloatArray, high: FloatArray, decay: float) -> None:
        height = len(window.losses)
        self.lengths = window.lengths
        self.lowest = window.losses.min(axis=0)
        spread = window.losses.max(axis=0) - self.lowest
        # A prescribed asymptote is part of the picture: far below the losses it would be a huge number in their range.
        spread = np.maximum(spread, np.where(low == high, self.lowest - low, 0.0))
        self.range = np.where(spread > 0, spread, 1.0)
        width = window.iterations[-1] - window.iterations[0]
        self.span = np.where(width > 0, width, 1.0)
        with np.errstate(over="ignore"):
            self.problems = _varpro.Problems(
                x=(window.iterations - window.iterations[0]) / self.span,
                u=(window.losses - self.lowest) / self.range,
                w=np.where(window.held, decay ** np.arange(height - 1.0, -1.0, -1.0)[:, None], 0.0),
                low=np.clip((low - self.lowest) / self.range, -_FARTHEST, _FARTHEST),
                high=np.clip((high - self.lowest) / self.range, -_FARTHEST, _FARTHEST),
            )

    def fit(
        self, shape: _varpro.Shape, jobs: npt.NDArray[np.int64], previous: FloatArray | None, steps: int
    ) -> tuple[FloatArray, _varpro.Linear, FloatArray]:
        """Shape parameters (P, n), linear part and squared error of `jobs`."""
        whole = len(jobs) == len(self.lengths)
        problems = self.problems if whole else self.problems.take(jobs)
        high = np.repeat(shape.high[:, None], len(jobs), axis=1)
        if len(high) > 1:
            high[1, self.lengths[jobs] < 4] = 0.0  # four parameters want four observations
        theta = None if previous is None else previous[:, jobs]
        if theta is None or np.isnan(theta).any():
            cold = np.arange(len(jobs)) if theta is None else np.flatnonzero(np.isnan(theta[0]))
            found = _varpro.best_start(shape, problems.take(cold), None, high[:, cold])
            theta = np.zeros((len(shape.low), len(jobs))) if theta is None else theta.copy()
            theta[:, cold] = found
        theta = np.clip(theta, shape.low[:, None], high)
        theta, lin = _varpro.solve(shape, problems, theta, high, steps)
        r = problems.u - lin.amplitude * shape.value(problems.x, theta) - lin.asymptote
        return theta, lin, _varpro.dot(problems.w * r, r)


def _carried(warm: Fits, shape: _varpro.Shape, window: Window, scaled: _Scaled, sublinear: Mask) -> FloatArray:
    """(P, N) earlier shape parameters about this window's origin and in its scale; NaN where there are none."""
    delay = np.maximum(window.iterations[0] - warm.origin, 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if len(shape.low) == 1:
            theta = (warm.first * scaled.span)[None]
        else:
            # 1 + f (x + t) + s (x + t)^2 is a multiple of 1 + f' x + s' x^2: the curve seen from t iterations later
            q = 1.0 + delay * (warm.first + warm.second * delay)
            first = (warm.first + 2 * warm.second * delay) / q * scaled.span
            theta = np.array([first, warm.second / q * scaled.span * scaled.span])
    usable = (warm.amplitude > 0) & (warm.sublinear == sublinear) & np.isfinite(theta).all(axis=0)
    return np.where(usable, theta, np.nan)
