"""Rules over a quality horizon: the judge carries their cores out as the simulated world did."""

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from quality_horizons import horizons, values_of

import mlsched
from mlsched.simulation.clock import Rule
from mlsched.simulation.quality import replay, strategies
from mlsched.simulation.quality.rollout import epochs_of, logged, options_of, wake_of, workload_of


@settings(max_examples=draws(24, 2000))
@given(horizons(jobs=5, cores=8, iterations=6), st.sampled_from(sorted(strategies.VERBS)), st.integers(0, 2**32 - 1))
def test_the_judge_and_the_world_carry_out_the_same_cores_alike(horizon, verb, seed):
    """Goals agree to the ms; losses are whole ppm in the judge, 10^-9 in the world: within 1 ppm per job and epoch."""
    rule = Rule(verb, lambda instance, memory, rng: (strategies.VERBS[verb](instance, rng=rng), memory))
    log = logged(horizon, rule, seed)
    assert replay.violations(workload_of(horizon), options_of(horizon), wake_of(horizon), log) == []
    plan = epochs_of(horizon, log)
    assert horizon.violations(plan) == []
    total, worst, goals = values_of(horizon, log)
    values = horizon.evaluate(plan)
    rounding = plan.cores.shape[0] * int(horizon.weight.sum())
    assert values["total_loss"] - total + 1e-3 * rounding >= 0
    assert values["total_loss"] - total <= rounding
    assert abs(values["total_worst_loss"] - worst) <= rounding
    assert values["total_time_to_goal"] == goals


@pytest.mark.parametrize("name", ["slaq", "slaq-max-min", "envelope-greedy", "fair"])
def test_rules_are_rolled_out_and_judged(name):
    """What rules see is the horizon's to say: with known curves SLAQ does as well as it can, with fits it does not."""
    values = []
    for information in ("oracle", "observed"):
        found = [
            mlsched.solve(mlsched.generate("quality", "epochs", seed=s, information=information), name).sort_key
            for s in range(3)
        ]
        values.append(sum(found))
    assert (values[0] == values[1]) == (name == "fair")
    if name == "slaq":
        assert values[0] < values[1]


def test_an_empty_horizon_has_an_empty_plan():
    empty = mlsched.generate("quality", "epochs", jobs=0)
    for solver in ("slaq", "epoch-dp", "every-epoch"):
        found = mlsched.solve(empty, solver)
        assert found.sort_key == 0
        assert not np.size(found.plan.cores)
