"""Measurements without a cluster: Fig. 1 and 5 (the curves), Fig. 6 and 10(a) (prediction errors), Fig. 10(c) (time).

The losses are those of our stand-ins for Table 1's algorithms (`instances.quality.table1`): curves of the very families
that the predictor fits, plus noise. The errors are therefore a lower bound on those of real jobs.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from mlsched import api
from mlsched.core.registry import registry
from mlsched.instances.quality import Instance
from mlsched.instances.quality.histories import synthetic
from mlsched.instances.quality.table1 import TABLE_1, algorithm
from mlsched.simulation.quality import Options
from mlsched.simulation.quality.forecast import Forecaster
from mlsched_papers.claim import Estimate, estimate
from mlsched_papers.slaq.errors import prediction_errors
from mlsched_papers.slaq.grid import Grid

#: Iterations ahead of Fig. 6; the last is Fig. 10(a)'s.
AHEAD = (1, 2, 4, 6, 8, 10)
#: Fig. 1: four algorithms, percent of the loss reduction, and the change of loss at which a job has converged.
FOUR, REDUCTIONS, CONVERGED = ("LogReg", "SVM", "LDA", "MLPC"), (50, 75, 90, 95, 99), 1e-4
#: Most cores per job in Fig. 10(c): wider tables would take gigabytes without an effect on jobs of four cores each.
WIDTH = 64


@dataclasses.dataclass(frozen=True)
class Errors:
    """Mean prediction errors, percent, one value per seed: by (algorithm or "all", iterations ahead)."""

    fit: dict[tuple[str, int], list[float]]
    strawman: dict[tuple[str, int], list[float]]


def errors(grid: Grid) -> Errors:
    """Return errors relative to the true value, `grid.models` jobs of every algorithm per seed."""
    result = Errors({}, {})
    families = {row.acronym: row.family for row in TABLE_1}
    for seed in range(grid.seeds):
        rng = np.random.default_rng(seed)
        histories = [synthetic(row, rng) for row in TABLE_1 for _ in range(grid.models)]
        for ahead in AHEAD:
            for row in prediction_errors(histories, families=dict(families), ahead=ahead):
                result.fit.setdefault((row.workload, ahead), []).append(100 * row.fit)
                result.strawman.setdefault((row.workload, ahead), []).append(100 * row.strawman)
    return result


def scheduling_seconds(grid: Grid) -> dict[int, Estimate | None]:
    """Return Fig. 10(c): jobs -> CPU seconds of one decision (fits, tables and Algorithm 1) with four cores per job."""
    return {jobs: estimate([_one_decision(jobs, seed) for seed in range(grid.seeds)]) for jobs in grid.scales}


def _one_decision(jobs: int, seed: int) -> float:
    load = api.workload("synthetic:table1", "quality", jobs=jobs, seed=seed, cores=4 * jobs, cap=WIDTH, mean_arrival=0)
    rng = np.random.default_rng(seed)
    service = (load.total * rng.uniform(0, 0.9, jobs)).astype(np.int64)
    rule, _ = registry().solver("quality", "slaq")
    forecaster = Forecaster(load, Options())
    start = time.process_time()
    gain, loss = forecaster.tables(np.arange(jobs), service, WIDTH)
    instance = Instance.trusted(
        cores=load.cores,
        gain=gain,
        loss=loss,
        weight=load.weight,
        most=load.most,
        waiting=np.zeros(jobs, dtype=np.int64),
        reserved=0,
        least=1,
        predictor="fit",
    )
    rule.function(instance, rng=rng)
    return time.process_time() - start


def shares_of_time(acronym: str) -> list[float]:
    """Return Fig. 1: percent of the time to convergence after which each of REDUCTIONS is reached; without noise."""
    losses = algorithm(acronym).losses(np.arange(5001.0))
    changes = -np.diff(losses)
    last = int((changes < CONVERGED * changes[0]).argmax())
    reduced = (losses[0] - losses) / (losses[0] - losses[last])
    return [100 * float((reduced >= percent / 100).argmax()) / last for percent in REDUCTIONS]


def changes(acronym: str, iterations: int = 50) -> list[float]:
    """Return Fig. 5: changes of loss over the largest so far (4.1); without noise."""
    result = np.abs(np.diff(algorithm(acronym).losses(np.arange(iterations + 1.0))))
    return [float(v) for v in result / np.maximum.accumulate(result)]
