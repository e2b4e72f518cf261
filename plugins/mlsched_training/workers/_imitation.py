"""Examples for Chic-plus' imitation: random decisions, and the value of each job's work in LP-MPC's plan."""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray
from mlsched.heuristics.workers.lp_mpc import work_values
from mlsched.heuristics.workers.rates import feasible_cost
from mlsched.instances.workers import Instance
from mlsched.instances.workers.models import CLUSTER, ITERATIONS, MODELS, RESOURCES
from mlsched.instances.workers.tables import from_models
from mlsched.learned.workers.chic_plus import job_features

#: Largest table: the paper's cluster never gives a job more (see `simulation/workers/synthetic.py`).
MOST_WORKERS, MOST_PS = 10, 20
#: Share of questions on the paper's cluster, and on a cluster of `LARGE` times its size; jobs of each.
PAPER_SHARE, PAPER_JOBS, LARGE, LARGE_JOBS = 0.85, (2, 12), 4, (4, 29)
#: Share of questions with evenly drawn iterations; in the others their logarithm is.
EVEN_SHARE = 0.8
#: Most jobs for which LP-MPC tries to improve its order, and its swaps.
IMPROVED_JOBS, SWAPS = 12, 3
#: Least weight of a job, value per isolated time.
LEAST = 0.01


def random_question(rng: np.random.Generator) -> Instance:
    """Return a cluster with jobs of the paper's models, with any number of iterations left."""
    scale, bounds = (1, PAPER_JOBS) if rng.random() < PAPER_SHARE else (LARGE, LARGE_JOBS)
    jobs = int(rng.integers(bounds[0], bounds[1] + 1))
    if rng.random() < EVEN_SHARE:
        remaining = rng.integers(1, ITERATIONS[1] + 1, jobs)
    else:
        remaining = np.exp(rng.uniform(0, np.log(ITERATIONS[1]), jobs)).astype(np.int64)
    return from_models(
        MODELS,
        RESOURCES,
        [scale * each for each in CLUSTER],
        model=rng.integers(0, len(MODELS), jobs),
        remaining=remaining,
        most_workers=MOST_WORKERS,
        most_ps=MOST_PS,
    )


def random_examples(count: int, rng: np.random.Generator) -> list[tuple[FloatArray, FloatArray]]:
    """Return features (jobs, features) and logarithms of weights (jobs,) of `count` questions.

    The weight of a job is the dual of its work in LP-MPC's look-ahead, over its isolated time. Questions whose linear
    program fails are left out.
    """
    rows = []
    for _ in range(count):
        instance = random_question(rng)
        swaps = SWAPS if len(instance.waiting) <= IMPROVED_JOBS else 0
        try:
            value = work_values(instance, swaps=swaps)
        except BackendError:
            continue
        cost = feasible_cost(instance)
        features, _ = job_features(instance, cost)
        rows.append((features, np.log(np.maximum(value / cost.min(axis=(1, 2)), LEAST))))
    return rows
