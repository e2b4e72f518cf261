"""RAND: random victims, cluster-wide, no roll-back, the seed decides."""

from __future__ import annotations

import numpy as np
import pytest
from preemption_examples import row, small

from mlsched import api


def answer(instance, seed: int, **params):
    plan = api.solve(instance, "rand", seed=seed, **params).plan
    return plan.te_node.tolist(), plan.victims.tolist()


#: First of each order of the three jobs that makes room for (5, 2): job 2, job 0, or jobs 1 and then 0 or 2.
OUTCOMES = {(0,): ([0], [0]), (2,): ([1], [2]), (1, 0): ([0], [0, 1]), (1, 2): ([1], [1, 2])}


@pytest.mark.parametrize("seed", range(15))
def test_it_follows_the_permutation_of_its_seed_until_a_node_fits(seed):
    order = tuple(np.random.default_rng(seed).permutation(3).tolist())
    assert answer(small(), seed) == OUTCOMES.get(order[:1]) or answer(small(), seed) == OUTCOMES[order[:2]]


def test_every_outcome_occurs_with_and_without_a_victim_in_vain():
    found = {str(answer(small(), seed)) for seed in range(60)}
    assert found == {str(outcome) for outcome in OUTCOMES.values()}


def test_each_order_of_victims_is_as_likely():
    first = [answer(row([2, 2], [2]), seed)[1][0] for seed in range(400)]
    assert all(70 <= first.count(j) <= 130 for j in range(4))


def test_jobs_at_the_limit_are_never_drawn():
    for seed in range(20):
        assert answer(small(job_preemptions=[0, 1, 1]), seed) == ([0], [0])
        assert answer(small(job_preemptions=[0, 1, 1], preemption_limit=9), seed, P=1) == ([0], [0])


def test_nothing_is_suspended_when_it_cannot_help():
    assert answer(row([2, 2], [5]), 0) == ([-1], [])
