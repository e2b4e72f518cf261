"""Probabilistic prediction of loss curves: several families fitted side by side, weighted by fit.

These are the weighted probabilistic learning curves by which MLFS (Section 3.5) stops jobs, after Domhan, Springenberg
and Hutter (IJCAI 2015). Each family is fitted to all observed losses (least squares, `_varpro`). It predicts the
further decrease as a normal distribution whose variance follows from the residuals (linearised at the fit). The weight
of a family is proportional to 1 / (mean squared residual per degree of freedom). Predictions are therefore uncertain if
the families disagree, or if the observations barely determine a well-fitting family.

Simplifications: five decreasing families instead of eleven; least squares and a linearised variance instead of Markov
chain Monte Carlo over all parameters and weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.losses import _varpro
from mlsched.core.losses.window import Window

#: With fewer losses, a family of four parameters has no residual to judge it by.
MIN_LOSSES = 6
_STEPS = 15
_LEAST_RESIDUAL = 1e-6  # least residual, in ranges of the observed losses, because losses are rounded


def _exponential_of(inner: Callable[[FloatArray], FloatArray], rates: list[float]) -> _varpro.Shape:
    """Return the shape exp(-rate inner(x)) for an `inner` that increases from 0."""
    return _varpro.Shape(
        lambda x, theta: np.asarray(np.exp(-theta[0] * inner(x))),
        lambda x, g, xg: [inner(x) * g],
        np.array(rates)[:, None],
        np.array([1e-3]),
        np.array([1e3]),
    )


_POWERS = [0.05, 0.2, 0.5, 1.0, 2.0, 4.0]
#: Name -> shape g of the family A g(x) + d; x is iterations since the first observation over the length of the history.
FAMILIES: Mapping[str, _varpro.Shape] = {
    "1 / quadratic": _varpro.RATIONAL,
    "exponential": _varpro.EXPONENTIAL,
    "stretched exponential": _exponential_of(np.sqrt, [0.1, 0.5, 1.5, 4.0, 10.0, 30.0]),
    "power law in tenths": _exponential_of(lambda x: np.log1p(10 * x), _POWERS),
    "power law in hundredths": _exponential_of(lambda x: np.log1p(100 * x), _POWERS),
}


@dataclass(frozen=True, eq=False)
class Belief:
    """Predicted losses of N jobs, each at one iteration, by F families.

    Attributes:
        weight: Weights of the families, shape (F, N); they sum to 1.
        mean: Mean of each family's normal prediction in the job's unit of loss, shape (F, N).
        deviation: Standard deviation of each family's prediction, shape (F, N).
    """

    weight: FloatArray
    mean: FloatArray
    deviation: FloatArray

    @property
    def expected(self) -> FloatArray:
        """Mean over the families, shape (N,)."""
        return np.asarray((self.weight * self.mean).sum(axis=0))

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of the mixture, shape (N,): within the families and between them."""
        apart = self.deviation**2 + (self.mean - self.expected) ** 2
        return np.asarray(np.sqrt((self.weight * apart).sum(axis=0)))

    def chance_of_at_least(self, loss: FloatArray) -> FloatArray:
        """Return the probability that the loss will be at least `loss`, shape (N,)."""
        from scipy.special import ndtr  # imported here because SciPy is slow to import

        return np.asarray((self.weight * ndtr((self.mean - loss) / self.deviation)).sum(axis=0))


def believe(window: Window, at: FloatArray) -> Belief:
    """Predict the losses of N jobs, never negative, at iterations `at`, shape (N,), not before the latest observation.

    Raises:
        InvalidInput: A job has fewer than MIN_LOSSES losses.
    """
    if (window.lengths < MIN_LOSSES).any():
        job = int((window.lengths < MIN_LOSSES).argmax())
        raise InvalidInput(
            f"losses[{job}]: has {window.lengths[job]}, expected at least {MIN_LOSSES} to estimate a spread"
        )
    return (
        _compute_belief(window, at) if window.losses.size > _CACHE_LIMIT else _cached_belief(_PredictionKey(window, at))
    )


#: Predictions from at most this many losses are cached: a replay, or another policy, requests them again.
_CACHE_LIMIT = 1000


class _PredictionKey:
    """Hashable arguments of a prediction, equal if all numbers are equal."""

    def __init__(self, window: Window, at: FloatArray) -> None:
        self.window, self.at = window, at
        self._numbers = tuple(part.tobytes() for part in (window.iterations, window.losses, window.lengths, at))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PredictionKey) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)


@functools.lru_cache(maxsize=2048)
def _cached_belief(key: _PredictionKey) -> Belief:
    """Return a cached prediction with read-only arrays."""
    belief = _compute_belief(key.window, key.at)
    for array in (belief.weight, belief.mean, belief.deviation):
        array.setflags(write=False)
    return belief


def _compute_belief(window: Window, at: FloatArray) -> Belief:
    lowest = window.losses.min(axis=0)
    scale = window.losses.max(axis=0) - lowest
    scale = np.where(scale > 0, scale, 1.0)
    first = window.iterations[0]
    span = window.iterations[-1] - first
    problems = _varpro.Problems(
        x=(window.iterations - first) / span,
        u=(window.losses - lowest) / scale,
        w=window.observed.astype(np.float64),
        low=-lowest / scale,
        high=np.full(len(window), 1.0),
    )
    ends = np.stack([np.ones(len(window)), np.maximum(at - first, span) / span])
    fits = [_fit(shape, problems, ends, window.lengths.astype(np.float64)) for shape in FAMILIES.values()]
    fall, deviation, residual = (np.array(column) for column in zip(*fits, strict=True))
    weight = 1 / residual
    return Belief(weight / weight.sum(axis=0), window.last_loss - fall * scale, deviation * scale)


def _fit(
    shape: _varpro.Shape, problems: _varpro.Problems, ends: FloatArray, lengths: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit one family.

    Args:
        shape: The family.
        problems: The scaled histories of N jobs.
        ends: Two scaled iterations per job, shape (2, N): the latest observation and the predicted iteration.
        lengths: Number of observations per job, shape (N,).

    Returns:
        Decrease between the two ends, its standard deviation, and the mean squared residual, each of shape (N,).
    """
    high = np.repeat(shape.high[:, None], ends.shape[1], axis=1)
    theta = _varpro.best_start(shape, problems, None, high)
    theta, lin = _varpro.levenberg_marquardt(shape, problems, theta, high, _STEPS)
    g = shape.value(problems.x, theta)
    r = problems.u - lin.amplitude * g - lin.asymptote
    residual = np.maximum(_varpro.sum_products(problems.w * r, r) / (lengths - 2 - len(shape.low)), _LEAST_RESIDUAL**2)
    end_values = shape.value(ends, theta)
    gradient, end_gradient = _gradient(shape, problems.x, g, lin), _gradient(shape, ends, end_values, lin)
    normal = np.einsum("hn,ihn,jhn->nij", problems.w, gradient, gradient)
    ridge = 1e-9 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(len(gradient))
    difference = (end_gradient[:, 1] - end_gradient[:, 0]).T[:, :, None]
    variance = (difference * np.linalg.solve(normal + ridge, difference)).sum(axis=(1, 2))
    fall = lin.amplitude * (end_values[0] - end_values[1])
    return np.asarray(fall), np.asarray(np.sqrt(residual * np.maximum(variance, 1e-12))), residual


def _gradient(shape: _varpro.Shape, x: FloatArray, g: FloatArray, lin: _varpro.Linear) -> FloatArray:
    """Return the derivatives of the curve in its amplitude, asymptote and P shape parameters, shape (P + 2, H, N)."""
    slopes = [-lin.amplitude * slope for slope in shape.slopes(x, g, x * g)]
    return np.array([g, np.ones_like(g), *slopes])
