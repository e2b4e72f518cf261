"""The two families of training-loss curves.

`k` counts iterations; a loss has the job's own unit.

- sublinear, first-order optimisers, O(1/k) or O(1/k^2):  f(k) = 1 / (a k^2 + b k + c) + d
- superlinear ("linear or superlinear"), O(mu^k):          f(k) = mu^(k - b) + c

Every function broadcasts over its arguments; finite arguments never overflow or return NaN.

Paper: Zhang, Stafman, Or, Freedman, "SLAQ: Quality-Driven Scheduling for Distributed Machine Learning", SoCC 2017,
Section 4.2.2.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray

Floats = npt.ArrayLike

Family = Literal["sublinear", "superlinear", "unknown"]
"""What a job declares by the class of its optimiser; `unknown` leaves the choice to the fit's residual."""
FAMILIES: tuple[Family, ...] = get_args(Family)

_MOST = 1e300
_TINY = 1e-300
_LOG_MOST = 690.0  # exp(690) is just below 1e300


def sublinear(k: Floats, a: Floats, b: Floats, c: Floats, d: Floats) -> FloatArray:
    """Return 1 / (a k^2 + b k + c) + d; a denominator that is not positive counts as 1e-300."""
    return 1.0 / _quadratic(k, a, b, c) + np.asarray(d, dtype=np.float64)


def superlinear(k: Floats, mu: Floats, b: Floats, c: Floats) -> FloatArray:
    """Return mu^(k - b) + c for mu > 0, with the power capped at 1e300; it decreases if and only if mu < 1."""
    return _power(k, mu, b) + np.asarray(c, dtype=np.float64)


def _floats(*values: Floats) -> list[FloatArray]:
    return [np.asarray(v, dtype=np.float64) for v in values]


def _quadratic(k: Floats, a: Floats, b: Floats, c: Floats) -> FloatArray:
    """Return a k^2 + b k + c within [1e-300, 1e300]."""
    at, first, second, third = _floats(k, a, b, c)
    at = np.clip(at, -_MOST, _MOST)
    with np.errstate(over="ignore", invalid="ignore"):
        q = (first * at + second) * at + third
    # inf - inf: the larger power decides, and a >= 0 for every decreasing curve
    return np.asarray(np.clip(np.where(np.isnan(q), np.inf, q), _TINY, _MOST))


def _power(k: Floats, mu: Floats, b: Floats) -> FloatArray:
    """Return mu^(k - b), at most 1e300."""
    at, base, shift = _floats(k, mu, b)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = np.nan_to_num((at - shift) * np.log(np.maximum(base, _TINY)), nan=0.0)
        return np.asarray(np.exp(np.clip(exponent, -745.0, _LOG_MOST)))
