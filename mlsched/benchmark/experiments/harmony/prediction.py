"""Figure 9: how far LIF's interference models are off the true speeds of jobs that were placed at random.

Section VI-A: jobs with random numbers of workers and PSs are placed randomly until the servers are full, and the speed
of each is measured (here: computed from the presets). LIF says that a task's slowdown is a function of the CPU and
network use of others; a job's is that of its slowest server. Two readings: the coefficients are *profiled*, as the
rules do (the job and random others on one server), or *fitted* to nine tenths of the placements themselves, with an
intercept; errors are of the rest. The reward network belongs to the trained policy.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.benchmark.experiments.harmony import paper
from mlsched.benchmark.experiments.harmony.grid import TESTBED, Grid
from mlsched.benchmark.experiments.harmony.studies import ALONE, NAMES
from mlsched.heuristics.placement import _lif
from mlsched.instances.placement import Instance
from mlsched.instances.placement.generate import worker_demand
from mlsched.instances.placement.models import MODELS, PS, RESOURCES, SERVER, interference
from mlsched.instances.placement.pace import Pace

#: Label -> LIF's regressors.
METHODS = {"LIF-Line": _lif.linear, "LIF-Quad": _lif.quadratic}
WAYS = ("profiled", "fitted")
PROFILES = 200
#: (way, method, model or "all") -> mean relative error, percent, one value a seed.
Errors = dict[tuple[str, str, str], list[float]]


@dataclasses.dataclass(frozen=True)
class Samples:
    """Placed jobs: model; slowdown; use of CPU and network by others on each server that hosts a part (others NaN)."""

    kind: Any
    slowdown: Any
    use: Any


def errors(grid: Grid, interference_kind: str = "pairwise") -> Errors:
    """Relative errors of the predicted speed, for every seed a new set of placements."""
    found: Errors = {}
    for seed in range(grid.rounds):
        rng = np.random.default_rng([9, seed])
        samples, instance = draw(rng, grid.samples, interference_kind)
        tested = rng.permutation(len(samples.kind)) < paper.TESTED * len(samples.kind)
        for method, features in METHODS.items():
            profiled = _lif.fit(instance, rng, features, PROFILES, 0.0)
            for way, predicted in (
                ("profiled", _profiled(samples, features, profiled)),
                ("fitted", _fitted(samples, features, ~tested)),
            ):
                error = 100 * np.abs(samples.slowdown / predicted - 1)  # of speeds, which are the reciprocals
                found.setdefault((way, method, "all"), []).append(float(error[tested].mean()))
                for k, name in enumerate(NAMES):
                    chosen = tested & (samples.kind == k)
                    found.setdefault((way, method, name), []).append(float(error[chosen].mean()))
    return found


def draw(rng: np.random.Generator, count: int, kind: str) -> tuple[Samples, Instance]:
    """At least `count` jobs placed at random on the testbed, and the last snapshot of them."""
    parts: list[tuple[Any, Any, Any]] = []
    while sum(len(p[0]) for p in parts) < count:
        instance = _snapshot(rng, kind)
        w, p = instance.run_workers.T, instance.run_ps.T
        pace = Pace(instance)
        slowdown = pace.at_server(w, p).max(axis=0) / 1000
        use = (w @ instance.use_worker[instance.run_type] + p @ instance.use_ps[instance.run_type]) / 1000
        own = (
            w[:, :, None] * instance.use_worker[instance.run_type] + p[:, :, None] * instance.use_ps[instance.run_type]
        ) / 1000
        others = np.where((w + p > 0)[:, :, None], use[:, None] - own, np.nan)
        parts.append((instance.run_type, slowdown, np.moveaxis(others, 0, 1)))
    return Samples(*(np.concatenate(column) for column in zip(*parts, strict=True))), instance


def _snapshot(rng: np.random.Generator, kind: str) -> Instance:
    """Jobs placed task by task at random until one does not fit, as running jobs."""
    free = np.tile(np.array(SERVER, dtype=np.int64), (TESTBED, 1))
    types, tables = [], []
    while True:
        model, (workers, ps) = int(rng.integers(len(MODELS))), rng.integers(1, 4, 2).tolist()
        left, on = free.copy(), np.zeros((2, TESTBED), dtype=np.int64)
        for task, demand in [(0, worker_demand(model))] * workers + [(1, PS)] * ps:
            able = np.flatnonzero((left >= demand).all(axis=1))
            if not able.size:
                break
            server = int(rng.choice(able))
            left[server] -= demand
            on[task, server] += 1
        if on.sum() < workers + ps:
            break
        free = left
        types.append(model)
        tables.append(on)
    table, none = np.array(tables).reshape(len(types), 2, TESTBED), np.zeros(0, dtype=np.int64)
    return Instance(
        resources=RESOURCES,
        server_capacity=np.tile(np.array(SERVER), (TESTBED, 1)),
        server_free=free,
        **interference(kind),
        run_type=np.array(types, dtype=np.int64),
        run_speed=np.full(len(types), ALONE),
        run_workers=table[:, 0],
        run_ps=table[:, 1],
        job_type=none,
        job_speed=none,
        job_workers=none,
        job_ps=none,
        worker_demand=np.zeros((0, len(SERVER)), dtype=np.int64),
        ps_demand=np.zeros((0, len(SERVER)), dtype=np.int64),
    )


def _profiled(samples: Samples, features: Any, models: list[Any]) -> Any:
    """Slowdown of the slowest server by models that were profiled on one server."""
    found = np.ones(len(samples.kind))
    for k, model in enumerate(models):
        chosen = samples.kind == k
        each = features(np.nan_to_num(samples.use[chosen])) @ model
        here = ~np.isnan(samples.use[chosen][..., 0])
        found[chosen] = 1 + np.maximum(np.where(here, each, 0), 0).max(axis=1)
    return found


def _fitted(samples: Samples, features: Any, trained: Any) -> Any:
    """Slowdown by models fitted, with an intercept, to the largest use by others on any server of the job."""
    found = np.ones(len(samples.kind))
    use = np.nanmax(samples.use, axis=1)
    for k in range(len(NAMES)):
        chosen = samples.kind == k
        rows = np.column_stack([features(use[chosen]), np.ones(int(chosen.sum()))])
        here = trained[chosen]
        model = np.linalg.lstsq(rows[here], samples.slowdown[chosen][here] - 1, rcond=None)[0]
        found[chosen] = 1 + np.maximum(rows @ model, 0)
    return found
