"""Objectives close to 2^53: where floats begin to fail, exact solvers still agree to the unit."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws

import mlsched
from mlsched.core.fields import EXACT
from mlsched.instances import preemption, quality, workers


def tables(number: int, jobs: int, width: int) -> np.ndarray:
    """Falling by units from half of what an objective may be."""
    rng = np.random.default_rng(number)
    return EXACT // jobs - 40 - np.sort(rng.integers(0, 9, size=(jobs, width)), axis=1)


def quality_instance(number: int) -> quality.Instance:
    loss = tables(number, 3, 4)
    gain = np.sort(loss, axis=1)
    gain[:, 0] = 0
    nothing = np.zeros(3, dtype=np.int64)
    return quality.Instance(
        cores=6, gain=gain, loss=loss, weight=nothing + 1, most=nothing + 3, waiting=nothing, predictor="large"
    )


def workers_instance(number: int) -> workers.Instance:
    nothing = np.zeros(3, dtype=np.int64)
    return workers.Instance(
        resources=("gpu",),
        models=("a",),
        capacity=[6],
        worker_demand=[[1]] * 3,
        ps_demand=[[0]] * 3,
        cost=tables(number, 3, 4)[:, :, None],
        waiting=nothing + EXACT // 3 - 30,
        remaining=nothing + 1,
        model=nothing,
        current_workers=nothing,
        current_ps=nothing,
        waited=nothing,
    )


def graces(number: int) -> preemption.Instance:
    """Grace periods of some seconds below 2^50, which differ by units."""
    drawn = mlsched.generate("preemption", nodes=3, jobs=7, tes=3, seed=number)
    rng = np.random.default_rng(number)
    return drawn.replace(job_grace=2**50 - rng.integers(1, 10, size=len(drawn.job_grace)), max_grace=2**50)


@pytest.mark.parametrize(
    ("make", "objective", "names"),
    [
        (graces, "max_grace_period", ("cp-sat", "highs", "highs:engine=scip")),
        (graces, "total_score", ("highs:engine=scip",)),
        (quality_instance, "total_loss_reduction", ("dp", "highs")),
        (quality_instance, "worst_loss", ("dp", "highs")),
        (workers_instance, "total_jct", ("dp", "cp-sat", "highs")),
    ],
)
def test_exact_solvers_agree_to_the_unit(make, objective, names):
    for number in range(draws(3, 60)):
        instance = make(number)
        best = mlsched.solve(instance, "brute-force", objective=objective)
        assert best.sort_key > EXACT // 10 or objective == "total_score"
        for name in names:
            found = mlsched.solve(instance, name, objective=objective)
            assert (found.status, found.sort_key, found.sort_bound) == ("optimal", best.sort_key, best.sort_key), (
                name,
                number,
            )
