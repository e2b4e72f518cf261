"""Random horizons: jobs of the Chic paper that arrive as a Poisson process on its cluster.

Presets are frozen: measurements and tests quote them by name; never change one, add another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Preset
from mlsched.core.errors import UnknownName
from mlsched.core.fields import IntArray
from mlsched.core.params import Count, CountOrNone, Range, check_size
from mlsched.instances.workers.horizon import Horizon
from mlsched.instances.workers.models import CLUSTER, ITERATIONS, MODELS, RESOURCES, TrainingModel

HORIZONS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("poisson-6", "6 jobs of the paper, 2.7 per hour", {"jobs": 6, "rate": 2.7}),
        Preset("poisson-8", "8 jobs of the paper, 2.7 per hour", {"jobs": 8, "rate": 2.7}),
        Preset("poisson-10", "10 jobs of the paper, 2.7 per hour", {"jobs": 10, "rate": 2.7}),
        Preset("burst-4", "4 jobs at almost the same time", {"jobs": 4, "rate": 3600.0}),
    )
}


def horizon(preset: str, seed: int = 0) -> Horizon:
    """Return the horizon of a preset and a seed."""
    if preset not in HORIZONS:
        raise UnknownName(f"unknown horizon '{preset}' of workers; there are {', '.join(HORIZONS)}")
    sizes: dict[str, Any] = dict(HORIZONS[preset].sizes)
    return generate_horizon(np.random.default_rng(seed), **sizes)


@validate_arguments
def generate_horizon(
    rng: np.random.Generator,
    *,
    jobs: CountOrNone = 6,
    rate: Annotated[float, Range(0, 10**6, open_low=True)] = 2.7,
    most_workers: Count = 10,
    most_ps: Count = 20,
) -> Horizon:
    """Draw a horizon: `rate` arrivals per hour, the first at time 0; models and iterations uniform as in the paper.

    most_workers, most_ps: Size of the tables. Larger configurations are useless: the cluster has 10 GPUs, and with 10
    workers all models stop gaining at 18 PSs or fewer.
    """
    check_size("jobs x workers x PSs", max(jobs, len(MODELS)) * most_workers * most_ps)
    gaps = rng.exponential(3_600_000 / rate, max(0, jobs - 1))
    arrival = np.concatenate([[0.0], np.cumsum(gaps)])[:jobs]
    return from_jobs(
        MODELS,
        RESOURCES,
        CLUSTER,
        model=rng.integers(0, len(MODELS), jobs),
        remaining=rng.integers(ITERATIONS[0], ITERATIONS[1] + 1, jobs),
        arrival=np.rint(arrival).astype(np.int64),
        most_workers=most_workers,
        most_ps=most_ps,
    )


def from_jobs(
    models: Sequence[TrainingModel],
    resources: Sequence[str],
    capacity: npt.ArrayLike,
    *,
    model: npt.ArrayLike,
    remaining: npt.ArrayLike,
    arrival: npt.ArrayLike,
    most_workers: int = 10,
    most_ps: int = 20,
) -> Horizon:
    """Build the horizon of jobs of known models by arrival (`arrival` in ms); an iteration's time is ceil(g) ns."""
    kinds: list[int] = np.asarray(model, dtype=np.int64).tolist()
    tables = [m.speed.times(most_workers, most_ps).nanoseconds() for m in models]

    def demand(role: str) -> IntArray:
        rows = [getattr(models[k], role) for k in kinds]
        return np.array(rows, dtype=np.int64).reshape(len(kinds), len(resources))

    return Horizon(
        resources=tuple(resources),
        models=tuple(m.name for m in models),
        capacity=np.asarray(capacity, dtype=np.int64),
        worker_demand=demand("worker"),
        ps_demand=demand("ps"),
        time=np.array([tables[k] for k in kinds], dtype=np.int64).reshape(len(kinds), most_workers, most_ps),
        remaining=np.asarray(remaining, dtype=np.int64),
        model=np.array(kinds, dtype=np.int64),
        arrival=np.asarray(arrival, dtype=np.int64),
    )
