"""Rules rolled out over a horizon: the fluid judge accepts what the world makes of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.simulation.workers.rollout import horizon_of, rollout, stages, workload_of
from mlsched.simulation.workers.strategies import options, workloads

pytestmark = pytest.mark.filterwarnings("ignore:the offered load")

RULES = ["optimus", "fair", "drf", "srpt", "marginal-gain"]


@settings(max_examples=draws(8, 40))
@given(load=workloads(), readings=options(), name=st.sampled_from(RULES), interval=st.booleans())
def test_the_fluid_judge_accepts_every_run_and_counts_the_same_time(load, readings, name, interval):
    """Whatever the interpretation of the floor and the cadence: whole workers and PSs are a case of the fluid model."""
    instance = horizon_of(load)
    run = api.simulate(load, name, options=readings, scheduling_events="interval:8" if interval else "events")
    plan = stages(instance, run.log)
    assert instance.violations(plan) == []
    total = 1000 * run.jobs["completion_s"].sum()
    assert instance.evaluate(plan)["total_jct"] == pytest.approx(total)


@settings(max_examples=draws(8, 100))
@given(load=workloads(), name=st.sampled_from(RULES))
def test_solve_answers_a_horizon_by_any_rule(load, name):
    result = api.solve(horizon_of(load), name)
    assert result.status == "feasible"
    run = api.simulate(load, name)
    assert result.sort_key == pytest.approx(1000 * run.jobs["completion_s"].sum())


@given(load=workloads(models=3))
def test_a_horizons_jobs_are_a_workload_again(load):
    again = workload_of(horizon_of(load))
    assert again.models == load.models
    assert again.model.tolist() == load.model.tolist()
    for name in ("worker_demand", "ps_demand", "iteration"):
        used = np.unique(load.model)
        assert np.array_equal(getattr(again, name)[used], getattr(load, name)[used])


def test_jobs_of_one_model_that_differ_become_further_models():
    load = api.workload("synthetic:chic", jobs=4, seed=1)
    instance = horizon_of(load).replace(model=[0, 0, 0, 0], models=("one", "none"))
    found = workload_of(instance)
    kinds = len(np.unique(load.model))
    assert found.models[:2] == ("one", "none")
    assert len(found.models) == 2 + kinds - 1
    assert found.model[0] == 0
    assert np.array_equal(found.iteration[found.model], load.iteration[load.model])
    assert api.solve(instance, "fair").sort_key == api.solve(horizon_of(load), "fair").sort_key
    with pytest.raises(InvalidInput, match="names of their own"):
        workload_of(instance.replace(models=("one", "one (2)")))


def test_a_horizon_without_jobs_has_no_stages():
    load = api.workload("synthetic:chic", jobs=1)
    names = ("worker_demand", "ps_demand", "time", "remaining", "model", "arrival")
    empty = horizon_of(load).replace(**{name: [] for name in names})
    assert api.solve(empty, "fair").sort_key == 0


def test_random_rules_are_rolled_out_by_their_seed():
    load = api.workload("synthetic:chic", jobs=6, seed=3)
    first, again, other = (api.solve(horizon_of(load), "uniform-random", seed=s) for s in (1, 1, 2))
    assert first.plan == again.plan
    assert first.plan != other.plan


def test_no_rule_beats_the_clairvoyant():
    load = api.workload("synthetic:chic", jobs=5, seed=2, rate=2.7)
    best = api.solve(horizon_of(load), "clairvoyant")
    assert best.status == "optimal"
    for name in (*RULES, "uniform-random", "max-rate"):
        assert api.solve(horizon_of(load), name).sort_key >= best.sort_bound * (1 - 1e-6)


def test_the_world_is_asked_as_by_simulate():
    """The default interpretations: all jobs, Eq. 7's floor."""
    load = api.workload("synthetic:chic", jobs=5, seed=4)
    rule = api.simulate(load, "optimus").rule
    assert rollout(horizon_of(load), rule, 0) == stages(horizon_of(load), api.simulate(load, "optimus").log)
    narrow = dataclasses.replace(rule, options={"window": 1})
    run = api.simulate(load, "optimus", options={"window": 1})
    assert (
        rollout(horizon_of(load), narrow, 0)
        == stages(horizon_of(load), run.log)
        != stages(horizon_of(load), api.simulate(load, "optimus").log)
    )
