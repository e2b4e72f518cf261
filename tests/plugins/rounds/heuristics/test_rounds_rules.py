"""Every rule of rounds is feasible, pure and no better than the optimum; and what each does by hand."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from rounds_examples import generated

from mlsched import api
from mlsched.core.registry import registry
from mlsched.testing import check_scheduler
from mlsched_rounds.instances import Instance

FLUID = "gavel:policy=fluid_mpc"
RULES = [a for a in registry().available("rounds") if a.rule is not None]


@pytest.mark.parametrize("rule", RULES, ids=lambda a: a.name)
def test_rules_are_feasible_and_pure(rule):
    check_scheduler(rule.function, "rounds", examples=draws(12, 20))


def one_type(gpus: int, sizes: list[int], ages: list[int], **changes) -> Instance:
    """Jobs of fixed sizes at 1 step/s per GPU on one type."""
    kinds = sorted(set(sizes))
    rate = np.array([[1000 * s if s == k else 0 for k in kinds] for s in sizes])
    jobs = len(sizes)
    fields = {
        "capacity": np.array([gpus]), "config_type": np.zeros(len(kinds), dtype=int), "config_gpus": np.array(kinds),
        "rate": rate, "remaining": np.full(jobs, 1000), "done": np.zeros(jobs, dtype=int), "age": np.array(ages),
        "current": np.full(jobs, -1), "usual": np.full(jobs, 1000), "fair": np.full(jobs, 1000),
        "isolated": np.zeros(jobs, dtype=int), "goodput_cost": np.ones((jobs, len(kinds)), dtype=int),
    }  # fmt: skip
    return Instance(**(fields | changes))


def test_fifo_lets_nobody_overtake():
    instance = one_type(4, [2, 4, 1], [3000, 2000, 1000])
    assert api.solve(instance, "fifo").plan.config.tolist() == [1, -1, -1]
    assert api.solve(instance, "worst-served").plan.config.tolist()[0] == 1


def test_fifo_without_rates_takes_the_emptiest_type():
    instance = Instance(
        capacity=np.array([1, 3]), config_type=np.array([0, 1]), config_gpus=np.array([1, 1]),
        rate=np.array([[9000, 1000]]), remaining=np.array([10]), done=np.array([0]), age=np.array([0]),
        current=np.array([-1]), usual=np.array([1]), fair=np.array([1]), isolated=np.array([0]),
        goodput_cost=np.array([[1, 1]]),
    )  # fmt: skip
    assert api.solve(instance, "fifo").plan.config.tolist() == [0]
    assert api.solve(instance, "fifo:perf=false").plan.config.tolist() == [1]


def test_the_worst_served_runs_first():
    instance = one_type(1, [1, 1], [1000, 1000], done=np.array([5, 2]))
    assert api.solve(instance, "worst-served").plan.config.tolist() == [-1, 0]
    # Of twice the weight, job 0 has had no more than job 1.
    weighty = one_type(1, [1, 1], [1000, 1000], done=np.array([5, 3]), weight=np.array([2, 1]))
    assert api.solve(weighty, "worst-served").plan.config.tolist() == [0, -1]


def test_the_cheapest_per_gpu_is_taken_first():
    costs = np.array([[0, 200_000], [0, 100_000], [100_000, 0]])
    instance = one_type(2, [2, 2, 1], [0, 0, 0], goodput_cost=costs)
    # Saved per GPU: 450,000, 500,000 and 1,000,000.
    assert api.solve(instance, "cheapest").plan.config.tolist() == [-1, -1, 0]


def test_no_rule_beats_the_optimum():
    """A rule is not told by which objective it is judged: one plan has the values of all."""
    for number in range(20):
        instance = generated(number)
        values = {rule.name: api.solve(instance, rule.name).sort_keys for rule in RULES}
        for objective in instance.objectives:
            best = api.solve(instance, "brute-force", objective=objective.name).sort_key
            for name, found in values.items():
                assert not objective.better(found[objective.name], best), (name, objective.name)


def test_sia_is_the_optimum_of_its_own_objective():
    for number in range(20):
        instance = generated(number)
        best = api.solve(instance, "brute-force", objective="goodput_cost").sort_key
        assert api.solve(instance, "sia", objective="goodput_cost").sort_key == best


def test_shockwave_runs_who_is_behind():
    # Both want the only GPU for 1,000 s. Job 1 has waited for 10,000 s, five times as long as it ought to take.
    instance = one_type(1, [1, 1], [0, 10_000_000], length=120_000)
    assert api.solve(instance, "shockwave").plan.config.tolist() == [-1, 0]
    # Job 0 needs two GPUs, and both fit.
    assert (api.solve(one_type(3, [2, 1], [0, 0]), "shockwave").plan.config >= 0).all()


def test_las_counts_gpu_seconds_and_not_steps():
    """Job 0 has done 100 steps at 10 per second on one GPU, job 1 only 50, but at 1 per second: it has had more."""
    instance = one_type(1, [1, 1], [1000, 1000], done=np.array([100, 50]), usual=np.array([10_000, 1000]))
    assert api.solve(instance, "gavel:policy=las").plan.config.tolist() == [0, -1]


def test_fluid_mpc_sees_the_order_of_jobs_that_outlast_the_round():
    """Jobs of 100, 10 and 4,000 s: the first two end in a round of 120 s, and the longer one needs more of it."""
    jobs = {"remaining": np.array([100, 10, 4000])}
    assert api.solve(one_type(1, [1] * 3, [0] * 3, length=5000, **jobs), FLUID).plan.config.tolist() == [-1, 0, -1]
    assert api.solve(one_type(1, [1] * 3, [0] * 3, length=120_000, **jobs), FLUID).plan.config.tolist() == [0, -1, -1]
    # A round of a millisecond before jobs of thirty years.
    years = one_type(1, [1, 1], [10**12] * 2, length=1, remaining=np.array([10**9, 10**9]))
    assert (api.solve(years, FLUID).plan.config >= 0).sum() == 1
