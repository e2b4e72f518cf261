"""Harmony as a solver: what it takes, what it refuses, and that its plans are feasible."""

from __future__ import annotations

import numpy as np
import pytest
from placement_examples import small

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.registry import registry
from mlsched.instances.placement import generate
from mlsched.learned.placement.harmony_policy import Policy, policy
from mlsched.learned.weights import Weights, of


@pytest.mark.parametrize("greedy", [True, False])
def test_plans_are_feasible_and_do_not_depend_on_interference(greedy):
    for seed in range(3):
        instance = generate(np.random.default_rng(seed), jobs=8)
        name = f"harmony:greedy={str(greedy).lower()}"
        plan = mlsched.solve(instance, name).plan
        assert instance.violations(plan) == []
        other = instance.replace(sigma_worker=3 * instance.sigma_worker, rho_ps=0 * instance.rho_ps)
        assert mlsched.solve(other, name).plan == plan
    assert registry().solvers["placement", "harmony"].information == "observed"


def test_a_run_in_the_world_is_sound():
    run = mlsched.simulate(mlsched.workload("synthetic:uniform", "placement", jobs=10, seed=1), "harmony")
    assert run.violations() == []
    shape = policy("").shape
    assert (run.options.window, run.options.most_jobs) == (shape.new, shape.running)


@pytest.mark.parametrize(
    ("instance", "line"),
    [
        (lambda: generate(np.random.default_rng(0), servers=5), "has 5 servers: these weights know 6"),
        (lambda: small(server_capacity=[[4]] * 6, server_free=[[4]] * 6, run_type=[], run_speed=[], run_workers=[],
                       run_ps=[]), "resources: are cpu"),
        (lambda: generate(np.random.default_rng(0)).replace(types=list("abcdef")), "is unknown to these weights"),
    ],
)  # fmt: skip
def test_what_the_weights_do_not_know_is_refused(instance, line):
    with pytest.raises(InvalidInput, match=line):
        mlsched.solve(instance(), "harmony")


def test_too_many_running_jobs_are_refused():
    instance = generate(np.random.default_rng(0))
    most = policy("").shape.running + 1
    many = instance.replace(
        run_type=[0] * most,
        run_speed=[1] * most,
        run_workers=np.eye(6, dtype=np.int64)[np.zeros(most, dtype=int)],
        run_ps=np.zeros((most, 6), dtype=np.int64),
    )
    with pytest.raises(InvalidInput, match="13 jobs are running: these weights know up to 12"):
        mlsched.solve(many, "harmony")


def test_types_that_must_stay_apart_do():
    instance = generate(np.random.default_rng(3), jobs=6, contention=0.4)
    instance = instance.replace(apart=1 - np.eye(6, dtype=np.int64))
    assert instance.violations(mlsched.solve(instance, "harmony").plan) == []


def test_weights_of_another_shape_are_refused():
    weights = of("harmony", "placement")
    card = dict(weights.card)
    with pytest.raises(InvalidFile, match="does not fit its recipe"):
        Policy(Weights(weights.tensors, {**card, "recipe": {**card["recipe"], "new": 5}}, "x"))
    with pytest.raises(InvalidFile, match="lacks servers"):
        Policy(Weights(weights.tensors, {**card, "data": {}}, "x"))
