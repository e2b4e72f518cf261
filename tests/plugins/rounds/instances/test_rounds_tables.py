"""Instances from real numbers: units, roundings, and what jobs are measured by."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched_rounds.instances import PROBLEM
from mlsched_rounds.instances.goodput import Configurations
from mlsched_rounds.instances.tables import State, from_rates, reference_rates, without_rates
from mlsched_rounds.solvers.shares import Rates, isolated, proportional


def test_units_and_references_by_hand():
    configurations = Configurations(np.array([0, 1]), np.array([1, 1]), np.array([1, 3]))
    state = State(
        remaining=[10, 20], done=[5, 0], age=[2.5, 0.0], current=np.array([0, -1]),
        restarts=np.zeros(2, dtype=int), restart_seconds=np.array([1.0, 0.0]),
    )  # fmt: skip
    made = from_rates(np.array([[2.0, 1.0], [0.0, 0.00049]]), configurations, state, length=1.5, pause=0.25)
    assert made.rate.tolist() == [[2000, 1000], [0, 0]]
    assert made.age.tolist() == [2500, 0]
    assert (made.length, made.pause) == (1500, 250)
    # A quarter of the GPUs is of type 0; alone, job 0 would have 1/2 of type 0 and all of the rest of its time on 1.
    assert made.usual.tolist() == [1250, 1]
    assert made.fair.tolist()[0] == round(1000 * (0.5 * 2 + 1.5 * 1) / 2)
    assert made.isolated.tolist()[0] == 5_000_000 // made.fair.tolist()[0]
    # Staying: G = 2, a cost of 1 / sqrt 2. Moving keeps (2.5 - 0) / 3.5.
    assert made.goodput_cost[0].tolist() == [round(10**6 * 2**-0.5), round(10**6 * (2.5 / 3.5) ** -0.5)]
    assert made.waiting_cost.tolist() == [1_100_000] * 2


@pytest.mark.parametrize("seed", range(5))
def test_references_are_gavels_where_numbers_of_gpus_are_fixed(seed):
    rng = np.random.default_rng(seed)
    rate, gpus, capacity = rng.lognormal(0, 1, (5, 3)), rng.choice([1, 2], 5), rng.integers(2, 9, 3)
    configurations = Configurations(np.array([0, 1, 2] * 2), np.array([1] * 3 + [2] * 3), capacity)
    wide = np.hstack([np.where(gpus[:, None] == n, rate, 0.0) for n in (1, 2)])
    usual, fair = reference_rates(wide, configurations)
    asked = Rates(rate, gpus, capacity)
    assert np.allclose(usual, asked.advanced(proportional(asked)))
    assert np.allclose(fair, asked.advanced(isolated(asked)))


def test_a_blind_copy_shows_no_rates():
    instance = api.generate("rounds", "adaptive", seed=3)
    blind = without_rates(instance)
    assert ((blind.rate > 0) == (instance.rate > 0)).all()
    assert set((blind.rate / blind.config_gpus)[blind.rate > 0].tolist()) == {1000.0}
    answer = api.solve(blind, "highs", objective="least_served").plan
    assert instance.violations(answer) == []
    seeing = api.solve(instance, "highs", objective="least_served").sort_key
    assert instance.evaluate(answer)["least_served"] <= seeing


def test_presets_are_frozen_and_valid():
    for name, preset in PROBLEM.presets.items():
        if name not in ("large", "sia"):
            instance = api.generate("rounds", name, seed=0)
            assert len(instance.remaining) == preset.sizes["jobs"]
            held = np.bincount(
                instance.config_type[instance.current[instance.current >= 0]],
                instance.config_gpus[instance.current[instance.current >= 0]],
                minlength=len(instance.capacity),
            )
            assert (held <= instance.capacity).all()
            assert (instance.current >= 0).any()
