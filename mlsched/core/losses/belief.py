"""What a loss curve will come to and how sure one may be: several families fitted side by side, weighted by fit.

The weighted probabilistic learning curves that MLFS (Section 3.5) stops jobs by, after Domhan, Springenberg and Hutter
(IJCAI 2015). Each family is fitted to all losses seen (least squares, `_varpro`) and says how far the loss will yet
fall from the latest one: normal, with the variance that the residuals leave its parameters (linearised at the fit). The
families are mixed with weights in proportion to 1 / (mean squared residual, degrees of freedom taken off). So
predictions are unsure where the families disagree, and where one that fits is hardly determined by what has been seen.

What is simpler than in the source: five decreasing families instead of eleven, least squares and a linear variance
instead of Markov chain Monte Carlo over all parameters and weights together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.losses import _varpro
from mlsched.core.losses.curves import FloatArray
from mlsched.core.losses.window import Window

#: Fewer losses than these determine no family of four parameters with anything left to judge it by.
MIN_LOSSES = 6
_STEPS = 15
_FLOOR = 1e-6  # no residual is taken to be smaller, in ranges of the losses seen: they are rounded


def _of_one(of: Callable[[FloatArray], FloatArray], rates: list[float]) -> _varpro.Shape:
    """exp(-rate of(x)), of rising from 0."""
    return _varpro.Shape(
        lambda x, theta: np.asarray(np.exp(-theta[0] * of(x))),
        lambda x, g, xg: [of(x) * g],
        np.array(rates)[:, None],
        np.array([1e-3]),
        np.array([1e3]),
    )


_POWERS = [0.05, 0.2, 0.5, 1.0, 2.0, 4.0]
#: Name -> shape g of the family A g(x) + d, x being iterations since the first one seen over the length of the history.
FAMILIES: Mapping[str, _varpro.Shape] = {
    "1 / quadratic": _varpro.RATIONAL,
    "exponential": _varpro.EXPONENTIAL,
    "stretched exponential": _of_one(np.sqrt, [0.1, 0.5, 1.5, 4.0, 10.0, 30.0]),
    "power law in tenths": _of_one(lambda x: np.log1p(10 * x), _POWERS),
    "power law in hundredths": _of_one(lambda x: np.log1p(100 * x), _POWERS),
}


@dataclass(frozen=True, eq=False)
class Belief:
    """The losses of N jobs at an iteration each, as F families predict them.

    Attributes:
        weight: (F, N) weights of the families, summing to 1.
        mean, deviation: (F, N) of each family's normal prediction, in the job's unit of loss.
    """

    weight: FloatArray
    mean: FloatArray
    deviation: FloatArray

    @property
    def expected(self) -> FloatArray:
        """(N,) the mean over the families."""
        return np.asarray((self.weight * self.mean).sum(axis=0))

    @property
    def spread(self) -> FloatArray:
        """(N,) standard deviation of the mixture: the families' own, and how far they lie apart."""
        apart = self.deviation**2 + (self.mean - self.expected) ** 2
        return np.asarray(np.sqrt((self.weight * apart).sum(axis=0)))

    def chance_of_at_least(self, loss: FloatArray) -> FloatArray:
        """(N,) probability that the loss will be no lower than this."""
        from scipy.special import ndtr  # here, since SciPy is slow to import

        return np.asarray((self.weight * ndtr((self.mean - loss) / self.deviation)).sum(axis=0))


def believe(window: Window, at: FloatArray) -> Belief:
    """What the losses of N jobs, never negative, will be at iterations `at` (N,), no earlier than the latest one seen.

    Raises:
        InvalidInput: a job has fewer than MIN_LOSSES losses.
    """
    if (window.lengths < MIN_LOSSES).any():
        job = int((window.lengths < MIN_LOSSES).argmax())
        raise InvalidInput(
            f"losses[{job}]: has {window.lengths[job]}: must be at least {MIN_LOSSES} to say how sure one is"
        )
    return _believed(window, at) if window.losses.size > _SMALL else _known(_Asked(window, at))


#: Questions of so few losses are answered once: a replay, and another policy of the same jobs, ask the same again.
_SMALL = 1000


class _Asked:
    """A question, which equals another one of the same numbers."""

    def __init__(self, window: Window, at: FloatArray) -> None:
        self.window, self.at = window, at
        self._numbers = tuple(part.tobytes() for part in (window.iterations, window.losses, window.lengths, at))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)


@functools.lru_cache(maxsize=256)
def _known(asked: _Asked) -> Belief:
    """The answer to a question, which is kept, and whose numbers nobody may therefore change."""
    found = _believed(asked.window, asked.at)
    for array in (found.weight, found.mean, found.deviation):
        array.setflags(write=False)
    return found


def _believed(window: Window, at: FloatArray) -> Belief:
    lowest = window.losses.min(axis=0)
    scale = window.losses.max(axis=0) - lowest
    scale = np.where(scale > 0, scale, 1.0)
    first = window.iterations[0]
    span = window.iterations[-1] - first
    problems = _varpro.Problems(
        x=(window.iterations - first) / span,
        u=(window.losses - lowest) / scale,
        w=window.held.astype(np.float64),
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
    """One family: how far it falls between the two `ends` (2, N), the standard deviation of that, and the mean squared
    residual; all (N,).
    """
    high = np.repeat(shape.high[:, None], ends.shape[1], axis=1)
    theta = _varpro.best_start(shape, problems, None, high)
    theta, lin = _varpro.solve(shape, problems, theta, high, _STEPS)
    g = shape.value(problems.x, theta)
    r = problems.u - lin.amplitude * g - lin.asymptote
    residual = np.maximum(_varpro.dot(problems.w * r, r) / (lengths - 2 - len(shape.low)), _FLOOR**2)
    there = shape.value(ends, theta)
    seen, later = _gradient(shape, problems.x, g, lin), _gradient(shape, ends, there, lin)
    normal = np.einsum("hn,ihn,jhn->nij", problems.w, seen, seen)
    ridge = 1e-9 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(len(seen))
    along = (later[:, 1] - later[:, 0]).T[:, :, None]
    reach = (along * np.linalg.solve(normal + ridge, along)).sum(axis=(1, 2))
    fall = lin.amplitude * (there[0] - there[1])
    return np.asarray(fall), np.asarray(np.sqrt(residual * np.maximum(reach, 1e-12))), residual


def _gradient(shape: _varpro.Shape, x: FloatArray, g: FloatArray, lin: _varpro.Linear) -> FloatArray:
    """(P + 2, H, N) derivatives of the curve in its amplitude, its asymptote and its P shape parameters."""
    slopes = [-lin.amplitude * slope for slope in shape.slopes(x, g, x * g)]
    return np.array([g, np.ones_like(g), *slopes])
