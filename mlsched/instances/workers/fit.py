"""Speed models from measured points, by non-negative least squares (Optimus Section 3.2).

Both of Optimus' models are linear in their parameters, so the best fit to measured times is a non-negative
least-squares problem. By default each point counts by its relative error: with absolute errors the slowest points (one
worker) would dominate. Parameters are rounded to integer nanoseconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.instances.workers.speed import Asynchronous, SpeedModel, Synchronous

#: A measured point: workers, PSs, seconds per iteration.
Point = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class Fitted:
    """A model and how far it is off the points: relative errors |model - measured| / measured, as shares of 1."""

    model: SpeedModel
    mean_error: float
    largest_error: float
    points: int


@validate_arguments
def fit(
    points: Sequence[Point], *, mode: Literal["synchronous", "asynchronous"] = "synchronous", relative: bool = True
) -> Fitted:
    """Fit the closest Optimus model to `points`.

    Points that cannot distinguish two parameters (for example with a constant number of PSs) are accepted: the model is
    then right along them and arbitrary elsewhere.

    Args:
        points: Measured (workers, PSs, seconds).
        mode: "synchronous" or "asynchronous".
        relative: Minimise the sum of squared relative errors; False: of squared seconds.

    Raises:
        InvalidInput: `points` is empty, or a value is not a positive finite number.
    """
    table = np.array(points, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 3 or not len(table):
        raise InvalidInput("points: expected at least one of (workers, PSs, seconds)")
    wrong = ~(np.isfinite(table) & (table > 0)).all(axis=1)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(f"points[{i}]: {tuple(table[i].tolist())}, expected finite numbers > 0")
    w, p, seconds = table.T
    if mode == "synchronous":
        features = [1 / w, np.ones_like(w), w / p, w, p]
    else:
        features = [1 / w, 1 / p, np.ones_like(w), p / w]
    columns = np.stack(features, axis=1)
    theta = solve(columns, seconds, relative=relative)
    model = Synchronous(*theta) if mode == "synchronous" else Asynchronous(*theta)
    return Fitted(model, *errors(columns, theta, seconds), len(table))


def solve(columns: npt.NDArray[np.float64], seconds: npt.NDArray[np.float64], *, relative: bool = True) -> list[float]:
    """Return non-negative parameters in integer nanoseconds whose combination of `columns` is nearest to `seconds`."""
    from scipy.optimize import nnls

    scale = 1 / seconds if relative else np.ones_like(seconds)
    # Columns of similar length: nnls stops by an absolute tolerance.
    length = np.sqrt(((columns * scale[:, None]) ** 2).sum(axis=0))
    length[length == 0] = 1
    coefficients, _ = nnls(columns * scale[:, None] / length, seconds * scale)
    return [round(float(theta), 9) for theta in coefficients / length]


def errors(
    columns: npt.NDArray[np.float64], theta: list[float], seconds: npt.NDArray[np.float64]
) -> tuple[float, float]:
    """Return the mean and largest relative error of the combination `theta` of `columns`."""
    off = np.abs(columns @ np.array(theta) - seconds) / seconds
    return float(off.mean()), float(off.max())
