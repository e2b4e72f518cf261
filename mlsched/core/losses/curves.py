"""The two families of training-loss curves, and how losses of different jobs are put on one scale.

Paper: Zhang, Stafman, Or, Freedman, "SLAQ: Quality-Driven Scheduling for Distributed Machine Learning", SoCC 2017,
Sections 4.1 (normalisation) and 4.2.2 (families). `k` counts iterations; a loss has the job's own unit.

- sublinear, first-order optimisers, O(1/k) or O(1/k^2):  f(k) = 1 / (a k^2 + b k + c) + d
- superlinear ("linear or superlinear"), O(mu^k):          f(k) = mu^(k - b) + c

Every function broadcasts over its arguments, and none overflows or returns NaN for finite arguments.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput

FloatArray = npt.NDArray[np.float64]
Floats = npt.ArrayLike

Family = Literal["sublinear", "superlinear", "unknown"]
"""What a job declares by the class of its optimiser; `unknown` leaves the choice to the fit's residual."""
FAMILIES: tuple[Family, ...] = get_args(Family)

_MOST = 1e300
_TINY = 1e-300
_LOG_MOST = 690.0  # exp(690) is just below 1e300


def sublinear(k: Floats, a: Floats, b: Floats, c: Floats, d: Floats) -> FloatArray:
    """1 / (a k^2 + b k + c) + d; a denominator that is not positive counts as 1e-300."""
    return 1.0 / _quadratic(k, a, b, c) + np.asarray(d, dtype=np.float64)


def sublinear_slope(k: Floats, a: Floats, b: Floats, c: Floats) -> FloatArray:
    """The derivative of `sublinear` in k, clipped to 1e300 in magnitude."""
    at, first, second = _floats(k, a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        q = _quadratic(k, a, b, c)
        slope = -(2.0 * first * at + second) / q / q
    return np.asarray(np.nan_to_num(np.clip(slope, -_MOST, _MOST), nan=0.0))


def sublinear_inverse(loss: Floats, a: Floats, b: Floats, c: Floats, d: Floats) -> FloatArray:
    """The least k >= 0 at which a decreasing `sublinear` is at or below `loss`; inf where it never is."""
    value, first, second, third, floor = _floats(loss, a, b, c, d)
    gap = value - floor
    with np.errstate(all="ignore"):
        need = 1.0 / np.where(gap > 0, gap, np.nan) - third  # solve a k^2 + b k = need
        # The form without cancellation: 2 need / (b + sqrt(b^2 + 4 a need)); it also covers a = 0.
        k = 2.0 * need / (second + np.sqrt(second * second + 4.0 * first * need))
        k = np.where(need <= 0, 0.0, k)
    return np.asarray(np.where((gap > 0) & np.isfinite(k), k, np.inf))


def sublinear_decreases(a: Floats, b: Floats, c: Floats, since: Floats = 0.0) -> npt.NDArray[np.bool_]:
    """True where the sublinear curve is positive above d and nowhere rising for every k >= `since`."""
    at, first, second, third = _floats(since, a, b, c)
    return np.asarray(
        (first >= 0) & (2.0 * first * at + second >= 0) & ((first * at + second) * at + third > 0), dtype=np.bool_
    )


def sublinear_is_convex(a: Floats, b: Floats, c: Floats) -> npt.NDArray[np.bool_]:
    """True where a decreasing sublinear curve is convex for all k >= 0 (diminishing returns): b^2 >= a c."""
    first, second, third = _floats(a, b, c)
    return np.asarray(second * second >= first * third, dtype=np.bool_)


def superlinear(k: Floats, mu: Floats, b: Floats, c: Floats) -> FloatArray:
    """mu^(k - b) + c for mu > 0, the power capped at 1e300. It decreases if and only if mu < 1."""
    return _power(k, mu, b) + np.asarray(c, dtype=np.float64)


def superlinear_slope(k: Floats, mu: Floats, b: Floats) -> FloatArray:
    """The derivative of `superlinear` in k, clipped to 1e300 in magnitude."""
    (base,) = _floats(mu)
    return np.asarray(np.log(np.maximum(base, _TINY)) * np.minimum(_power(k, mu, b), _MOST / 1000))


def superlinear_inverse(loss: Floats, mu: Floats, b: Floats, c: Floats) -> FloatArray:
    """The least k >= 0 at which a decreasing `superlinear` is at or below `loss`; inf where it never is."""
    value, base, shift, floor = _floats(loss, mu, b, c)
    gap = value - floor
    with np.errstate(all="ignore"):
        k = shift + np.log(np.where(gap > 0, gap, np.nan)) / np.log(base)
    return np.asarray(np.where((gap > 0) & np.isfinite(k), np.maximum(k, 0.0), np.inf))


def _floats(*values: Floats) -> list[FloatArray]:
    return [np.asarray(v, dtype=np.float64) for v in values]


def _quadratic(k: Floats, a: Floats, b: Floats, c: Floats) -> FloatArray:
    """a k^2 + b k + c within [1e-300, 1e300]."""
    at, first, second, third = _floats(k, a, b, c)
    at = np.clip(at, -_MOST, _MOST)
    with np.errstate(over="ignore", invalid="ignore"):
        q = (first * at + second) * at + third
    # inf - inf: the larger power decides, and a >= 0 wherever a curve decreases
    return np.asarray(np.clip(np.where(np.isnan(q), np.inf, q), _TINY, _MOST))


def _power(k: Floats, mu: Floats, b: Floats) -> FloatArray:
    """mu^(k - b), at most 1e300."""
    at, base, shift = _floats(k, mu, b)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = np.nan_to_num((at - shift) * np.log(np.maximum(base, _TINY)), nan=0.0)
        return np.asarray(np.exp(np.clip(exponent, -745.0, _LOG_MOST)))


def normalised_changes(losses: Floats) -> FloatArray:
    """The change of loss an iteration over the largest change seen so far (4.1): n losses -> n - 1 numbers in [0, 1].

    A change counts by its magnitude, as in Figure 5, where every algorithm's changes fall from 1 towards 0. Where
    nothing has changed yet the result is 0.
    """
    changes = np.abs(np.diff(_finite("losses", losses) / 2.0))  # halves, so that no difference overflows
    largest = np.maximum.accumulate(changes) if changes.size else changes
    return np.asarray(np.divide(changes, largest, out=np.zeros_like(changes), where=largest > 0))


def normalised_loss(losses: Floats, first: Floats, final: Floats) -> FloatArray:
    """(l - l_final) / (l_0 - l_final), the scale of the evaluation (6.2): 1 at the start, 0 when converged.

    Where a job has nothing to gain (first <= final) the result is 0. Values outside [0, 1] are kept: a spike has one.
    """
    loss, start, end = np.broadcast_arrays(*(v / 2.0 for v in _floats(losses, first, final)))
    span = start - end
    with np.errstate(over="ignore"):
        scaled = np.divide(loss - end, span, out=np.zeros(span.shape), where=span > 0)
    return np.asarray(np.clip(scaled, -_MOST, _MOST))


def _finite(name: str, values: Floats) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name}: holds NaN or an infinity; every entry must be a finite number")
    return array
