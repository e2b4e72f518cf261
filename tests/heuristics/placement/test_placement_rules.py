"""Every rule gives feasible plans, and does what its name says on examples worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from placement_examples import small

import mlsched
from mlsched.core.registry import registry
from mlsched.heuristics.placement import _lif
from mlsched.instances import strategies

RULES = [a.name for a in registry().available("placement", "heuristic")]


def test_the_names_are_those_of_the_paper():
    expected = {"load-balancing", "tetris", "bin-packing", "standalone", "lif-linear", "lif-quadratic", "local-search"}
    assert expected <= set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_plans_are_feasible_and_reproducible(rule):
    @given(instance=strategies.placement())
    def check(instance):
        one, two = (mlsched.solve(instance, rule, seed=1) for _ in range(2))
        assert one.plan == two.plan

    check()


def empty_servers(**changes):
    """Two servers with room for four tasks each, nothing runs."""
    fields = {
        "server_capacity": [[4], [4]],
        "server_free": [[4], [4]],
        "run_type": [],
        "run_speed": [],
        "run_workers": np.zeros((0, 2), dtype=np.int64),
        "run_ps": np.zeros((0, 2), dtype=np.int64),
    }
    return small(**{**fields, **changes})


def hosts(plan, job):
    return set(np.flatnonzero((plan.workers + plan.ps)[job]).tolist())


def test_load_balancing_spreads_and_bin_packing_packs():
    spread = mlsched.solve(empty_servers(), "load-balancing").plan
    packed = mlsched.solve(empty_servers(), "bin-packing").plan
    assert (spread.workers + spread.ps).sum(axis=0).tolist() == [2, 2]
    assert hosts(spread, 0) == {0, 1}
    assert (packed.workers + packed.ps).sum(axis=0).tolist() == [4, 0]


def test_standalone_shares_no_server():
    plan = mlsched.solve(empty_servers(), "standalone").plan
    assert hosts(plan, 0) == {0}
    assert hosts(plan, 1) == {1}
    three = empty_servers(
        job_type=[0, 0, 0],
        job_speed=[1, 1, 1],
        job_workers=[1, 1, 1],
        job_ps=[1, 1, 1],
        worker_demand=[[1]] * 3,
        ps_demand=[[1]] * 3,
    )
    assert not mlsched.solve(three, "standalone").plan.workers[2].any()


def test_tetris_takes_less_work_first():
    """Room for one job only: the shorter one (larger K) gets it."""
    inst = empty_servers(server_free=[[2], [0]], job_speed=[100, 1_000_000])
    plan = mlsched.solve(inst, "tetris").plan
    assert not plan.workers[0].any()
    assert plan.workers[1].any()


def test_a_job_that_does_not_fit_whole_is_rolled_back():
    inst = empty_servers(server_free=[[1], [0]])
    for rule in RULES:
        assert not mlsched.solve(inst, rule).plan.workers.any(), rule


@pytest.mark.parametrize(("rule", "model"), [("linear", "linear"), ("quadratic", "quadratic")])
def test_lif_recovers_a_world_that_is_as_it_assumes(rule, model):
    instance = mlsched.generate("placement", "6x5", model=model)
    features = getattr(_lif, rule)
    fitted = _lif.fit(instance, np.random.default_rng(0), features, 200, 0.0)
    use, measured = _lif.profile(instance, np.random.default_rng(1), 50, 0.0)
    for t in range(len(instance.types)):
        assert np.allclose(features(use[t]) @ fitted[t], measured[t], atol=1e-6)


def test_local_search_is_at_least_as_good_as_its_greedy_start():
    for seed in range(5):
        instance = mlsched.generate("placement", "6x5", seed=seed)
        start = mlsched.solve(instance, "local-search", moves=0).value
        assert mlsched.solve(instance, "local-search").value >= start
