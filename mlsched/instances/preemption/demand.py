"""Demands of the FitGpp workload's jobs: calibration Z, and truncated normal draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray

RESOURCES = ("cpu", "ram", "gpu")
#: One node of the paper's cluster: CPUs, GB of RAM, GPUs (Section 4.1).
NODE = (32, 256, 8)
#: (mean, standard deviation) per resource, and the smallest demand; the largest is a complete node.
BE_DEMAND = ((-1.0, 6.5), (-2.5, 26.6), (2.8, 1.0))
TE_DEMAND = ((4.4, 14.9), (73.5, 21.4), (0.34, 1.36))
MINIMAL = (1, 1, 0)
#: (mean, standard deviation, smallest, largest) of execution times and grace periods, minutes (Section 4.2; the paper
#: prints only means and largest values).
TE_MINUTES, BE_MINUTES, GRACE_MINUTES = (5.0, 5.0, 1.0, 30.0), (30.0, 10.0, 1.0, 1440.0), (3.0, 1.25, 0.0, 20.0)


def draw_demand(
    rng: np.random.Generator, kind: tuple[tuple[float, float], ...], count: int, margin: float = 0.0
) -> IntArray:
    """`count` demand vectors (count x 3): normal, rejected outside [least - margin, node + margin], rounded to nearest.

    A margin of half a unit is the same as rounding before the test.
    """
    columns = []
    for (mean, sd), low, high in zip(kind, MINIMAL, NODE, strict=True):
        sample = truncated_normal(rng, mean, sd, low - margin, high + margin, count)
        columns.append(np.clip(np.rint(sample), low, high))
    return np.stack(columns, axis=1).astype(np.int64)


def truncated_normal(
    rng: np.random.Generator, mean: float, sd: float, low: float, high: float, count: int
) -> npt.NDArray[np.float64]:
    """`count` normal draws, each drawn again while it is outside [low, high]."""
    sample = rng.normal(mean, sd, count)
    while (outside := (sample < low) | (sample > high)).any():
        sample[outside] = rng.normal(mean, sd, int(outside.sum()))
    return sample


def fits_somewhere(demand: IntArray, capacity: IntArray) -> npt.NDArray[np.bool_]:
    """Check each row of `demand` for a fit on an empty node; rows of `capacity` are nodes."""
    shapes = np.unique(capacity, axis=0)
    fits: Any = np.less_equal(demand[:, None, :], shapes[None, :, :]).all(axis=2)
    return np.asarray(fits.any(axis=1), dtype=np.bool_)
