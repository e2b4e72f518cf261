"""Loss histories of jobs: drawn from the presets of Table 1, or taken from recorded learning curves.

A history is the truth of a simulated job: its loss after every iteration, whatever cores it ran on (SLAQ, footnote 4:
the loss reduction of an iteration does not depend on the allocation). A scheduler sees only `until(now)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.losses.curves import Family, FloatArray, Floats
from mlsched.core.params import NotNegative, Number, check_range
from mlsched.instances.quality.table1 import TABLE_1, Algorithm
from mlsched.instances.traces.curve import Curve


@dataclass(frozen=True, eq=False)
class History:
    """The losses of one training job.

    Attributes:
        workload: acronym of Table 1, or the workload of a recorded curve.
        family: what the job declares of its optimiser.
        steps: (n,) iterations, increasing; 0 is before the first.
        losses: (n,) the loss after so many iterations.
        core_seconds: c * S of 4.2.1: CPU seconds per iteration.
    """

    workload: str
    family: Family
    steps: FloatArray
    losses: FloatArray
    core_seconds: float

    def at(self, k: Floats) -> FloatArray:
        """Losses at iterations `k`: interpolated between observations, the last one after them."""
        return np.asarray(np.interp(np.asarray(k, dtype=np.float64), self.steps, self.losses))

    def until(self, now: float) -> tuple[FloatArray, FloatArray]:
        """(iterations, losses) observed by iteration `now`, the first always: what a scheduler may see."""
        seen = max(1, int(np.searchsorted(self.steps, now, side="right")))
        return self.steps[:seen], self.losses[:seen]


@validate_arguments
def synthetic(
    algorithm: Algorithm,
    rng: np.random.Generator,
    *,
    iterations: Number = 100,
    noise: NotNegative = 0.01,
    spread: NotNegative = 0.3,
) -> History:
    """A job of this algorithm, losses at iterations 0..`iterations`.

    Args:
        algorithm: the preset.
        rng: where the job's differences come from.
        iterations: the last iteration; 100 is where the paper calls a job converged.
        noise: standard deviation of a loss over what is left of it above the final one: SGD's fluctuation shrinks with
            the gradient.
        spread: standard deviation of the logarithm of half life and work, which makes models of one algorithm differ
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
    """`jobs` jobs of algorithms drawn evenly from Table 1."""
    rows = rng.integers(len(TABLE_1), size=jobs)
    return [synthetic(TABLE_1[row], rng, iterations=iterations, noise=noise) for row in rows]


def recorded(
    curve: Curve, *, family: Family = "sublinear", core_seconds: float = 1.0, iterations: int | None = None
) -> History:
    """A job that trains as a recorded curve did.

    Args:
        curve: the record.
        family: what the job declares; Adam and SGD are first-order optimisers, hence sublinear.
        core_seconds: CPU seconds per iteration. A log of seconds on GPUs does not say.
        iterations: None keeps the curve's own steps. A number resamples the curve to so many equal parts of its length,
            and calls each an iteration: recorded runs have 10^3 to 10^5 steps between evaluations.
    """
    if iterations is None:
        return History(curve.workload, family, curve.steps, curve.losses, core_seconds)
    check_range("iterations", iterations, 1)
    steps = np.arange(iterations + 1, dtype=np.float64)
    positions = np.linspace(curve.steps[0], curve.steps[-1], iterations + 1)
    return History(curve.workload, family, steps, np.interp(positions, curve.steps, curve.losses), core_seconds)
