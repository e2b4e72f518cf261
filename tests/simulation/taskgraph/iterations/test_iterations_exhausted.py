"""With node shape and a price of pauses, no bound is above the optimum of brute force, and no run below it."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from gangs_exhausted import drawn, optimum, workload

from mlsched import api
from mlsched.simulation.taskgraph.iterations import bound

RULES = ("fifo", "srpt", "srpt:preempt=true", "las:quantum=1", "best-effort-fifo")


@pytest.mark.parametrize("seed", range(draws(15, 2000)))
def test_the_optimum_is_between_the_bound_and_every_run(seed):
    horizon = drawn(np.random.default_rng(seed))
    load, best = workload(*horizon), optimum(*horizon)
    assert bound.bound(load)["total_jct"] <= best
    run = api.simulate(load, RULES[seed % len(RULES)])
    assert run.violations() == []
    assert best <= run.summary()["total_jct"]


def test_the_brute_force_counts_pauses_moves_and_shape():
    """By hand.

    One GPU, a job of 4 ticks, and one of 1 tick that comes at 1: to pause for it takes 1 + 5 for nothing and 1 + 6 at a
    price of 1; to keep the GPU free until it comes takes 1 + 6, to let it wait 4 + 4. Two nodes of 3 hold two jobs of 2
    at once; one node of 6 holds three. A gang of 2 + 2 and a job of 3 do not fit nodes of 3 together.
    """
    pair = [(0, 4, (1,)), (1, 1, (1,))]
    assert [optimum((1,), pair, cost, True) for cost in (0, 1, 2, 3)] == [6, 7, 7, 7]
    three = [(0, 2, (2,))] * 3
    assert (optimum((3, 3), three, 0, True), optimum((6,), three, 0, True)) == (2 + 2 + 4, 6)
    assert optimum((3, 3), [(0, 1, (2, 2)), (0, 1, (3,))], 0, True) == 3


def test_a_job_that_may_not_move_goes_on_where_it_was():
    """Nodes of 2 and 1: a job of 1 starts on the small node, or has to pause when a job of 2 comes and cannot move."""
    jobs = [(0, 2, (2,)), (0, 3, (1,)), (1, 2, (1,))]
    assert optimum((2, 1), jobs, 0, True) == optimum((2, 1), jobs, 0, False) == 2 + 3 + 3
