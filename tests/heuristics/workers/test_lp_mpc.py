"""LP-MPC: the contract, what a unit of work is worth by hand, and its place between the other rules and the optimum."""

import pytest
from draws import draws
from workers_examples import one_resource

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.workers.lp_mpc import work_values
from mlsched.instances.workers import NEVER
from mlsched.instances.workers.horizons import horizon
from mlsched.testing import check_scheduler


@pytest.mark.parametrize("rule", ["lp-mpc", "lp-mpc:swaps=0,greed=0"])
def test_the_rule_keeps_the_contract(rule):
    check_scheduler(rule, "workers", examples=draws(12, 20))


def test_jobs_one_after_the_other_are_worth_the_jobs_they_hold_up():
    # One GPU, 1 s and 3 s: the first holds up both, so its work is worth twice the time; total 1 + 4 s.
    assert work_values(one_resource([[1000], [3000]], 1)) == pytest.approx([2000.0, 3000.0])


def test_a_job_alone_gets_its_fastest_configuration():
    assert mlsched.solve(one_resource([[9000, 5000, 6000]], 3), "lp-mpc").plan.workers.tolist() == [2]


def test_the_shorter_job_comes_first_where_sharing_gains_nothing():
    assert mlsched.solve(one_resource([[3000], [1000]], 1), "lp-mpc").plan.workers.tolist() == [0, 1]


def test_jobs_that_cannot_train_wait():
    plan = mlsched.solve(one_resource([[NEVER], [1000]], 5), "lp-mpc").plan
    assert plan.workers.tolist() == [0, 1]
    assert mlsched.solve(one_resource([[1000]], 1, demand=2), "lp-mpc").plan.workers.tolist() == [0]


def test_parameters_are_checked():
    with pytest.raises(InvalidInput, match="swaps"):
        mlsched.solve(one_resource([[1000]], 1), "lp-mpc", swaps=-1)


def test_it_lies_between_the_optimum_and_the_other_rules():
    """Over some horizons of the paper's cluster together; each is near, but not at, the clairvoyant optimum."""
    total = dict.fromkeys(("clairvoyant", "lp-mpc", "max-rate", "optimus", "fair", "srpt"), 0.0)
    for seed in range(draws(2, 3)):
        for name in total:
            total[name] += mlsched.solve(horizon("poisson-6", seed), name).sort_key
    assert total["clairvoyant"] < total["lp-mpc"] < 1.05 * total["clairvoyant"]
    assert all(total["lp-mpc"] < total[name] for name in ("max-rate", "optimus", "fair", "srpt"))
