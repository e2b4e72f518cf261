"""Rules over a preemption horizon: the judge carries their decisions out as the simulated world did."""

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from preemption_horizons import horizons, values_of

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.simulation.clock import Rule
from mlsched.simulation.preemption import replay, strategies
from mlsched.simulation.preemption.rollout import horizon_of, noted, options_of, wake_of, workload_of

RULES = [a.name for a in registry().available("preemption", "heuristic") if a.name != "fifo"]


@settings(max_examples=draws(24, 2000))
@given(
    horizons(nodes=3, jobs=14, eager=st.just(0)), st.sampled_from(sorted(strategies.VERBS)), st.integers(0, 2**32 - 1)
)
def test_the_judge_and_the_world_carry_out_the_same_decisions_alike(horizon, verb, seed):
    """Every answer that is allowed, needed or not: values, faults and the replay check of the world's own log."""
    rule = Rule(verb, lambda instance, memory, rng: (strategies.VERBS[verb](instance, rng=rng), memory))
    plan, log = noted(horizon, rule, seed)
    assert replay.violations(workload_of(horizon), options_of(horizon), wake_of(horizon), log) == []
    assert horizon.violations(plan) == []
    assert horizon.evaluate(plan) == values_of(horizon, log)


@given(horizons(nodes=3, jobs=14, eager=st.just(1)), st.sampled_from(RULES), st.integers(0, 3))
def test_every_rule_that_suspends_is_eager(horizon, name, seed):
    """What `solve` says of a rule is what a simulated run says; FitGpp, LRTP and RAND let nobody wait needlessly."""
    found = mlsched.solve(horizon, name, seed=seed)
    entry = registry().solver("preemption", name)[0]
    call = Rule(name, lambda instance, memory, rng: entry.rule(instance, memory=memory, rng=rng, limits=None))
    assert found.sort_keys == values_of(horizon, noted(horizon, call, seed)[1])


def test_jobs_and_readings_survive_the_way_to_a_workload_and_back():
    horizon = mlsched.generate("preemption", "run-small", during_grace="paused", limit=2)
    again = horizon_of(workload_of(horizon), during_grace="paused", preemption_limit=2)
    assert again == horizon
    assert options_of(horizon).during_grace == "paused"


def test_a_rule_without_priority_has_no_horizon():
    horizon = mlsched.generate("preemption", "run-small")
    with pytest.raises(InvalidInput, match="fifo: serves TE jobs in turn; in a horizon they come first"):
        mlsched.solve(horizon, "fifo")


def test_an_empty_horizon_has_an_empty_plan():
    empty = mlsched.generate("preemption", "run-small", jobs=0, tes=0)
    found = mlsched.solve(empty, "fitgpp")
    assert found.sort_keys == dict.fromkeys(found.sort_keys, 0)
    assert not np.size(found.plan.te)
