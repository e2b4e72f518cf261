"""From predicted losses to the integer tables of an instance: the only rounding of real quantities.

Paper: SLAQ (Zhang et al., SoCC 2017). A job after k iterations does n(a) = a T / (c S) more in an epoch of T on a
cores, if one iteration costs c S core-milliseconds (4.2.1). "floor" counts only complete iterations, "fluid" also the
part of one. With f the job's loss:

    gain[j, a] = floor(10^6 (f(k) - f(k + n(a))) / largest change of the loss in one iteration so far)         (4.1)
    loss[j, a] = ceil(10^6 (f(k + n(a)) - final) / (first - final)), at least 0                                (6.2)

Both are rounded against the job, so that no plan promises more than was predicted. Values within 1e-6 ppm of an integer
become that integer: float64 noise must not cost a complete ppm. Then `gain` is made non-decreasing in a and `loss`
non-increasing (a running maximum and minimum), without effect for a decreasing f.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import ValidatedFields
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, FloatArray, IntArray
from mlsched.core.losses.curves import Family, sublinear, superlinear
from mlsched.core.params import Number, Range
from mlsched.instances.quality.instance import PPM, Instance, waiting_in_arrival_order

Rounding = Literal["floor", "fluid"]
#: Within so many ppm of an integer a number counts as that integer.
NOISE = 1e-6
#: (jobs x m) iterations -> (jobs x m) losses in the jobs' own units.
LossAt = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Epoch(ValidatedFields):
    """The cores to allocate and the length of the epoch.

    Attributes:
        cores: C, the total.
        reserved: Cores that non-ML jobs use.
        milliseconds: T, the length of the epoch.
        rounding: "floor" or "fluid" iterations.
        least: Fewest cores of a running job.
        width: Largest number of cores in the tables; 0 for the most that a single job could get while all others have
            `least`.
    """

    cores: Annotated[int, Range(0)]
    milliseconds: Number
    rounding: Rounding = "floor"
    reserved: Annotated[int, Range(0)] = 0
    least: Annotated[int, Range(0)] = 1
    width: Annotated[int, Range(0)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reserved > self.cores:
            raise InvalidInput(f"reserved: {self.reserved}, expected at most {self.cores} (cores)")

    def iterations(self, work: IntArray, width: int) -> FloatArray:
        """Compute n(a), the iterations on a = 0..width cores at `work` core-milliseconds each; (jobs, width + 1)."""
        core_time = np.arange(width + 1, dtype=np.int64) * self.milliseconds
        if self.rounding == "floor":
            return np.asarray(core_time[None, :] // work[:, None], dtype=np.float64)
        return np.asarray(core_time[None, :] / work[:, None], dtype=np.float64)

    def columns(self, running: int) -> int:
        """Return the largest number of cores in the tables for this number of running jobs."""
        room = max(self.cores - self.reserved - self.least * max(running - 1, 0), self.least)
        return min(self.width, room) if self.width else room


@dataclass(frozen=True, eq=False)
class Curves:
    """Known loss curves, one per job.

    families: "sublinear" or "superlinear". parameters: jobs x 4, a row a, b, c, d of a sublinear curve or mu, b, c and
    anything of a superlinear one.
    """

    families: Sequence[Family]
    parameters: FloatArray

    def __post_init__(self) -> None:
        if self.parameters.shape != (len(self.families), 4):
            raise InvalidInput(f"parameters: has shape {self.parameters.shape}, expected ({len(self.families)}, 4)")
        for j, family in enumerate(self.families):
            if family == "unknown":
                raise InvalidInput(f"families[{j}]: {family!r}, expected sublinear or superlinear for a known curve")

    @functools.cached_property
    def _sublinear(self) -> npt.NDArray[np.bool_]:
        return np.array([family == "sublinear" for family in self.families], dtype=bool)

    def loss_at(self, k: FloatArray) -> FloatArray:
        """Compute the losses at iterations `k`, shape (jobs,) or (jobs, m)."""
        losses = np.empty(k.shape)
        axes = (slice(None),) + (None,) * (k.ndim - 1)
        for rows, curve in ((self._sublinear, sublinear), (~self._sublinear, superlinear)):
            parts = self.parameters[rows].T[: 4 if curve is sublinear else 3]
            losses[rows] = curve(k[rows], *(part[axes] for part in parts))
        return losses

    @functools.cached_property
    def asymptote(self) -> FloatArray:
        """Return the limit of each curve's loss: d, or c of a superlinear one."""
        return np.where(self._sublinear, self.parameters[:, 3], self.parameters[:, 2])

    def largest_change(self, iteration: FloatArray) -> FloatArray:
        """Return the largest loss change in one iteration so far; of the first iteration for a job at iteration 0.

        A decreasing curve falls fastest at its inflection, if it has one, else at 0, so only these places are checked.
        """
        first = np.zeros(len(self.families))
        a, b, c, _ = self.parameters.T
        bent = self._sublinear & (a > 0) & (a * c > b * b)
        # The root of the second derivative: 3 a^2 k^2 + 3 a b k + b^2 - a c = 0.
        a, b, c = a[bent], b[bent], c[bent]
        first[bent] = np.floor((np.sqrt(3 * (4 * a * c - b * b)) - 3 * b) / (6 * a))
        last = np.maximum(np.floor(iteration) - 1, 0)
        at = np.clip(first[:, None] + np.array([-1.0, 0.0, 1.0]), 0, last[:, None])
        return np.asarray((self.loss_at(at) - self.loss_at(at + 1)).max(axis=1))


def gain_table(losses: FloatArray, largest_change: FloatArray) -> IntArray:
    """Compute `gain` in ppm from losses with a = 0, 1, ... cores; all 0 without an observed change."""
    has_changed = largest_change > 0
    scale = np.where(has_changed, PPM, 0.0) / np.where(has_changed, largest_change, 1.0)
    # Rounded down; more cores never gain less.
    return np.maximum.accumulate(_integers("gain", np.floor((losses[:, :1] - losses) * scale[:, None] + NOISE)), axis=1)


def loss_table(losses: FloatArray, first: FloatArray, final: FloatArray) -> IntArray:
    """Compute `loss` in ppm from losses with a = 0, 1, ... cores; all 0 for a job without possible gain."""
    span = first - final
    scale = np.where(span > 0, PPM, 0.0) / np.where(span > 0, span, 1.0)
    # Rounded up; more cores never lose more.
    return np.minimum.accumulate(_integers("loss", np.ceil((losses - final[:, None]) * scale[:, None] - NOISE)), axis=1)


def _integers(name: str, values: FloatArray) -> IntArray:
    wrong = ~(values <= EXACT)
    if wrong.any():
        j, a = (int(i) for i in np.argwhere(wrong)[0])
        raise InvalidInput(f"{name}[{j}][{a}]: {values[j, a]}, expected at most 2^53; check the curve and its scale")
    return np.maximum(values, 0).astype(np.int64)


def from_predictions(
    loss_at: LossAt,
    epoch: Epoch,
    *,
    iteration: npt.ArrayLike,
    work: npt.ArrayLike,
    largest_change: npt.ArrayLike,
    first: npt.ArrayLike,
    final: npt.ArrayLike,
    weight: npt.ArrayLike | None = None,
    most: npt.ArrayLike | None = None,
    waiting: npt.ArrayLike | None = None,
    predictor: str = "given",
) -> Instance:
    """Build the instance of jobs with predicted losses `loss_at`, in arrival order.

    Args:
        epoch: The cores and the length of the epoch.
        loss_at: Losses at given iterations.
        iteration: Iterations that each job has done.
        work: c S, core-milliseconds of one iteration, at least 1.
        largest_change, first, final: Scales of the two tables, in each job's unit of loss.
        weight: 1 by default.
        most: Core caps, by default the width of the tables.
        waiting: By default, the jobs for which fewer than `least` cores remain.
    """
    costs = np.asarray(work)
    jobs = len(costs)
    if costs.dtype.kind not in "iu" or (costs < 1).any():
        raise InvalidInput(f"work: {costs.tolist()!r:.60}, expected integers >= 1 (core-milliseconds per iteration)")
    waits = waiting_in_arrival_order(jobs, epoch.cores - epoch.reserved, epoch.least)
    if waiting is not None:
        waits = np.asarray(waiting, dtype=np.int64)
    width = epoch.columns(int((waits == 0).sum()))
    start = np.asarray(iteration, dtype=np.float64)
    losses = loss_at(start[:, None] + epoch.iterations(costs.astype(np.int64), width))
    caps = np.full(jobs, width) if most is None else np.minimum(np.asarray(most, dtype=np.int64), width)
    scales: list[Any] = [np.asarray(part, dtype=np.float64) for part in (largest_change, first, final)]
    return Instance(
        cores=epoch.cores,
        reserved=epoch.reserved,
        least=epoch.least,
        gain=gain_table(losses, scales[0]),
        loss=loss_table(losses, scales[1], scales[2]),
        weight=np.ones(jobs, dtype=np.int64) if weight is None else np.asarray(weight),
        most=caps,
        waiting=waits,
        predictor=predictor,
    )


def from_curves(
    curves: Curves, epoch: Epoch, *, iteration: npt.ArrayLike, work: npt.ArrayLike, **options: Any
) -> Instance:
    """Build the instance of jobs with known curves; `options` are passed to `from_predictions`.

    The scales follow from the curves: the largest change so far, the loss at iteration 0, the asymptote.
    """
    at = np.asarray(iteration, dtype=np.float64)
    scales = {
        "largest_change": curves.largest_change(at),
        "first": curves.loss_at(np.zeros(len(at))),
        "final": curves.asymptote,
        "predictor": f"known curves, {epoch.rounding}",
    }
    return from_predictions(curves.loss_at, epoch, iteration=at, work=work, **{**scales, **options})


def from_histories(
    iterations: Sequence[npt.ArrayLike],
    losses: Sequence[npt.ArrayLike],
    families: Sequence[Family],
    epoch: Epoch,
    *,
    work: npt.ArrayLike,
    predict: Any = None,
    **options: Any,
) -> Instance:
    """Build the instance of jobs with only loss histories (4.2.2); `options` are passed to `from_predictions`.

    predict: A `core.predict.Predictor`; None uses the default settings. The final loss is predicted too. A history of
    one loss has no change yet: its predicted first change stands in.
    """
    from mlsched.core.losses.predict import Predictor

    forecast = (Predictor() if predict is None else predict).fit(iterations, losses, families)
    largest = np.array([np.abs(np.diff(np.asarray(h, dtype=np.float64))).max(initial=0.0) for h in losses])
    next_change = forecast.reduction_at(forecast.last_iteration + 1)
    scales = {
        "largest_change": np.where(largest > 0, largest, next_change),
        "first": np.array([np.asarray(h, dtype=np.float64)[0] for h in losses]),
        "final": forecast.final_loss(),
        "predictor": f"weighted fits, {epoch.rounding}",
    }
    return from_predictions(
        forecast.loss_at, epoch, iteration=forecast.last_iteration, work=work, **{**scales, **options}
    )
