"""Hull greedy and rank-rate: the contract, the gap of one decision, and the fallback of exact rules."""

import numpy as np
import pytest
from draws import draws
from workers_examples import one_resource

import mlsched
from mlsched.core.errors import TooLarge
from mlsched.formulations.workers.columns import columns
from mlsched.heuristics.workers import rates
from mlsched.heuristics.workers._hull import hull_greedy
from mlsched.testing import check_scheduler


@pytest.mark.parametrize("rule", ["hull-greedy", "rank-rate"])
def test_rules_keep_the_contract(rule):
    check_scheduler(rule, "workers", examples=draws(12, 500))


@pytest.mark.parametrize("preset", ["paper", "paper-10", "crowded", "cpu-bound"])
def test_one_decision_is_close_to_the_optimum(preset):
    gaps = []
    for seed in range(50, 50 + draws(3, 30)):
        drawn = mlsched.generate("workers", preset, seed=seed)
        greedy, best = (mlsched.solve(drawn, name).value for name in ("hull-greedy", "dp"))
        gaps.append(greedy / best - 1)
    assert np.mean(gaps) <= 0.015, gaps


def test_the_steepest_step_comes_first():
    # One GPU each saves 10 of 50 and 40 of 90 s; a second GPU for job 1 saves 30 more. Three GPUs in all.
    drawn = one_resource([[50_000, 45_000], [90_000, 50_000], [80_000, 79_000]], 4)
    assert mlsched.solve(drawn, "hull-greedy").plan.workers.tolist() == [1, 2, 1]


def test_a_column_off_the_hull_fills_what_is_left():
    # Two GPUs lie above the line from one to three, so the hull skips them; they are best once two GPUs are left.
    drawn = one_resource([[90_000, 89_000, 10_000]], 2)
    assert mlsched.solve(drawn, "hull-greedy").plan.workers.tolist() == [2]


def test_a_column_that_uses_nothing_scarce_is_taken():
    # The second resource never runs short, so the job's only column costs less than waiting and has size 0.
    drawn = one_resource([[5000]], 100)
    choice = columns(drawn)
    assert not len(choice.capacity)
    assert choice.plan(hull_greedy(choice)).workers.tolist() == [1]


def test_rank_rate_serves_the_shorter_job_first():
    assert mlsched.solve(one_resource([[3000], [1000]], 1), "rank-rate").plan.workers.tolist() == [0, 1]


def test_rank_rate_gives_everybody_something_where_speedups_are_poor():
    cost = [[4000, 3900], [4000, 3900]]
    assert mlsched.solve(one_resource(cost, 2), "rank-rate").plan.workers.tolist() == [1, 1]


@pytest.mark.parametrize("rule", ["max-rate", "lp-mpc"])
def test_a_rule_answers_where_the_exact_search_is_too_large(rule, monkeypatch):
    drawn = mlsched.generate("workers", "crowded", seed=3)
    exact = mlsched.solve(drawn, rule)

    def refuse(choice):
        raise TooLarge("too many states")

    monkeypatch.setattr(rates, "cheapest", refuse)
    greedy = mlsched.solve(drawn, rule)
    assert drawn.violations(greedy.plan) == []
    assert greedy.plan.workers.sum() >= 0.5 * exact.plan.workers.sum()


def test_a_decorated_function_passed_as_an_object_plans_a_whole_run():
    from mlsched.heuristics.workers.max_rate import answer

    stream = mlsched.generate("workers", "poisson-6", seed=1)
    assert mlsched.solve(stream, answer).value == mlsched.solve(stream, "max-rate").value
