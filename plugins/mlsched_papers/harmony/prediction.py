"""Figure 9: errors of LIF's models and of the reward network on the true speeds of randomly placed jobs.

Section VI-A: jobs with random numbers of workers and PSs are placed randomly until the servers are full, and the speed
of each is measured (here: computed from the presets). In LIF a task's slowdown is a function of the CPU and network use
of others; a job's is that of its slowest server. There are two interpretations of the coefficients. *Profiled*: as in
the heuristics, from the job and random others on one server. *Fitted*: to nine tenths of the placements themselves,
with an intercept; errors are of the rest. The reward network comes with mlsched. It was trained on other random
placements (`mlsched train harmony-reward`) of one kind of interference, and is tested only on that kind.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray
from mlsched.heuristics.placement import interference
from mlsched.instances.placement import Instance
from mlsched.learned.weights import of
from mlsched.simulation.placement.board import NOBODY
from mlsched_papers.harmony import paper
from mlsched_papers.harmony.grid import TESTBED, Grid
from mlsched_papers.harmony.studies import NAMES
from mlsched_training.placement.harmony_speeds import reward_model_of
from mlsched_training.placement.history import measured_slowdowns, random_placement

#: Label -> LIF's regressors.
METHODS = {"LIF-Line": interference.linear, "LIF-Quad": interference.quadratic}
WAYS = ("profiled", "fitted")
#: The reward network among the methods, and its way.
NETWORK = ("trained", "reward network")
PROFILES = 200
#: (way, method, model or "all") -> mean relative error, percent, one value per seed.
Errors = dict[tuple[str, str, str], list[float]]


@dataclasses.dataclass(frozen=True)
class Samples:
    """Placed jobs: model; slowdown; use of CPU and network by others on each server that hosts a part (others NaN)."""

    kind: Any
    slowdown: Any
    use: FloatArray


def errors(grid: Grid, interference_kind: str = "pairwise") -> Errors:
    """Return relative errors of the predicted speed, with a new set of placements for every seed."""
    result: Errors = {}
    for seed in range(grid.rounds):
        rng = np.random.default_rng([9, seed])
        samples, placements = draw(rng, grid.samples, interference_kind)
        instance = placements[-1]
        tested = rng.permutation(len(samples.kind)) < paper.TESTED * len(samples.kind)
        for method, features in METHODS.items():
            profiled = interference.fit(instance, rng, features, PROFILES)
            for way, predicted in (
                ("profiled", _profiled(samples, features, profiled)),
                ("fitted", _fitted(samples, features, ~tested)),
            ):
                _add(result, (way, method), samples, predicted, tested)
        if (predicted := _by_network(placements, interference_kind)) is not None:
            _add(result, NETWORK, samples, predicted, tested)
    return result


def _add(result: Errors, of_what: tuple[str, str], samples: Samples, predicted: Any, tested: BoolArray) -> None:
    """Add a round's errors of predicted slowdowns: over all tested jobs, and over those of each model."""
    error = 100 * np.abs(samples.slowdown / predicted - 1)  # of speeds, which are the reciprocals
    result.setdefault((*of_what, "all"), []).append(float(error[tested].mean()))
    for k, name in enumerate(NAMES):
        result.setdefault((*of_what, name), []).append(float(error[tested & (samples.kind == k)].mean()))


def draw(rng: np.random.Generator, count: int, kind: str) -> tuple[Samples, list[Instance]]:
    """Draw at least `count` jobs placed at random on the testbed, and their placements."""
    parts: list[tuple[Any, Any, Any]] = []
    placements: list[Instance] = []
    while sum(len(p[0]) for p in parts) < count:
        instance = random_placement(rng, kind, TESTBED)
        placements.append(instance)
        w, p = instance.run_workers.T, instance.run_ps.T
        use = (w @ instance.use_worker[instance.run_type] + p @ instance.use_ps[instance.run_type]) / 1000
        own = (
            w[:, :, None] * instance.use_worker[instance.run_type] + p[:, :, None] * instance.use_ps[instance.run_type]
        ) / 1000
        others = np.where((w + p > 0)[:, :, None], use[:, None] - own, np.nan)
        parts.append((instance.run_type, measured_slowdowns(instance), np.moveaxis(others, 0, 1)))
    return Samples(*(np.concatenate(column) for column in zip(*parts, strict=True))), placements


def _by_network(placements: list[Instance], interference_kind: str) -> Any:
    """Return slowdowns of all jobs by mlsched's reward network; None for another kind of interference."""
    weights = of("harmony-reward", "placement")
    if weights.card["recipe"]["model"] != interference_kind:
        return None
    slots = max(len(instance.run_type) for instance in placements)
    kind = np.full((len(placements), slots), NOBODY, dtype=np.int64)
    on = np.zeros((len(placements), TESTBED, slots, 2), dtype=np.int64)
    for k, instance in enumerate(placements):
        count = len(instance.run_type)
        kind[k, :count] = instance.run_type
        on[k, :, :count] = np.moveaxis(np.stack([instance.run_workers, instance.run_ps], axis=-1), 0, 1)
    return 1 / reward_model_of(weights)(kind, on)[kind != NOBODY]


def _profiled(samples: Samples, features: Any, models: list[Any]) -> FloatArray:
    """Return the slowdown of the slowest server by models that were profiled on one server."""
    result = np.ones(len(samples.kind))
    for k, model in enumerate(models):
        choice = samples.kind == k
        each = features(np.nan_to_num(samples.use[choice])) @ model
        here = ~np.isnan(samples.use[choice][..., 0])
        result[choice] = 1 + np.maximum(np.where(here, each, 0), 0).max(axis=1)
    return result


def _fitted(samples: Samples, features: Any, trained: Any) -> FloatArray:
    """Return the slowdown of each sample, predicted by one linear model per type of job.

    The regressors are an intercept and `features` of the largest use by others on a server of the job. The samples
    `trained` are used for the fit.
    """
    result = np.ones(len(samples.kind))
    use = np.nanmax(samples.use, axis=1)
    for k in range(len(NAMES)):
        choice = samples.kind == k
        rows = np.column_stack([features(use[choice]), np.ones(int(choice.sum()))])
        here = trained[choice]
        model = np.linalg.lstsq(rows[here], samples.slowdown[choice][here] - 1, rcond=None)[0]
        result[choice] = 1 + np.maximum(rows @ model, 0)
    return result
