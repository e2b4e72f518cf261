"""Loss histories of jobs: drawn from the presets of Table 1, or taken from recorded learning curves.

A history is the truth of a simulated job: its loss after every iteration, on any number of cores (SLAQ, footnote 4: the
loss reduction of an iteration does not depend on the allocation). A scheduler sees only `until(now)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.fields import FloatArray
from mlsched.core.losses.curves import Family, Floats
from mlsched.core.params import NotNegative, Number, check_range
from mlsched.instances.quality.table1 import TABLE_1, Algorithm
from mlsched.instances.traces.curve import Curve


@dataclass(frozen=True, eq=False)
class History:
    """The losses of one training job.

    Attributes:
        workload: Acronym of Table 1, or the workload of a recorded curve.
        family: Curve family that the job declares for its optimiser.
        steps: Iterations, increasing, shape (n,); 0 is before the first.
        losses: Loss after these iterations, shape (n,).
        core_seconds: c * S of 4.2.1: CPU seconds per iteration.
    """

    workload: str
    family: Family
    steps: FloatArray
    losses: FloatArray
    core_seconds: float

    def at(self, k: Floats) -> FloatArray:
        """Return the losses at iterations `k`: interpolated between observations, the last one after them."""
        return np.asarray(np.interp(np.asarray(k, dtype=np.float64), self.steps, self.losses))

    def until(self, now: float) -> tuple[FloatArray, FloatArray]:
        """Return the (iterations, losses) that a scheduler may see at iteration `now`; always at least the first."""
        observed = max(1, int(np.searchsorted(self.steps, now, side="right")))
        return self.steps[:observed], self.losses[:observed]


@validate_arguments
def synthetic(
    algorithm: Algorithm,
    rng: np.random.Generator,
    *,
    iterations: Number = 100,
    noise: NotNegative = 0.01,
    spread: NotNegative = 0.3,
) -> History:
    """Draw a job of this algorithm, with losses at iterations 0..`iterations`.

    Args:
        algorithm: The preset.
        rng: Source of the differences between jobs.
        iterations: The last iteration; the paper calls a job converged at 100.
        noise: Standard deviation of a loss relative to the remaining excess loss: SGD's fluctuation shrinks with the
            gradient.
        spread: Standard deviation of the logarithm of half life and work, which makes models of one algorithm differ
            ("each algorithm is further diversified", 6.1).
    """
    stretch, work = np.exp(spread * rng.standard_normal(2))
    steps = np.arange(iterations + 1, dtype=np.float64)
    clean = algorithm.losses(steps, stretch=float(stretch))
    losses = clean + noise * (clean - algorithm.final) * rng.standard_normal(len(steps))
    for array in (steps, losses):
        array.flags.writeable = False
    return History(algorithm.acronym, algorithm.family, steps, losses, algorithm.core_seconds * float(work))


def synthetic_mix(jobs: int, rng: np.random.Generator, *, iterations: int = 100, noise: float = 0.01) -> list[History]:
    """Draw `jobs` jobs of algorithms chosen evenly from Table 1."""
    rows = rng.integers(len(TABLE_1), size=jobs)
    return [synthetic(TABLE_1[row], rng, iterations=iterations, noise=noise) for row in rows]


def recorded(
    curve: Curve, *, family: Family = "sublinear", core_seconds: float = 1.0, iterations: int | None = None
) -> History:
    """Build a job that trains like a recorded curve.

    Args:
        curve: The record.
        family: Family that the job declares; Adam and SGD are first-order optimisers, hence sublinear.
        core_seconds: CPU seconds per iteration, which a log of GPU seconds lacks.
        iterations: None keeps the curve's own steps. A number resamples the curve to that many equal parts of its
            length, each called an iteration: recorded runs have 10^3 to 10^5 steps between evaluations.
    """
    if iterations is None:
        return History(curve.workload, family, curve.steps, curve.losses, core_seconds)
    check_range("iterations", iterations, 1)
    steps = np.arange(iterations + 1, dtype=np.float64)
    positions = np.linspace(curve.steps[0], curve.steps[-1], iterations + 1)
    return History(curve.workload, family, steps, np.interp(positions, curve.steps, curve.losses), core_seconds)
