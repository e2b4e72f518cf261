"""On nodes of two types, no bound is above the optimum of brute force, and no run below it."""

from __future__ import annotations

import installed
import numpy as np
import pytest
from draws import draws
from gangs_exhausted import optimum, typed, typed_workload

from mlsched import api
from mlsched.simulation.taskgraph.iterations import bound

RULES = installed.rules(
    "taskgraph",
    *("fifo", "srpt", "srpt:preempt=true", "las:quantum=1", "easy-backfill", "conservative-backfill"),
    *("fastest-first", "fastest-first:order=arrival", "fastest-first:preempt=true"),
    *("earliest-finish", "earliest-finish:order=shortest", "gavel:round=2,reset=3", "round-by-round:round=2"),
)
#: No pause is worth so many ticks.
NEVER = 1000


@pytest.mark.parametrize("seed", range(draws(len(RULES), 500)))
def test_the_optimum_is_between_the_bound_and_every_run(seed):
    horizon = typed(np.random.default_rng(seed))
    load, best = typed_workload(*horizon), optimum(*horizon)
    assert bound.bound(load)["total_jct"] <= best
    nodes, jobs, _, moves, *rest = horizon
    whole = optimum(nodes, jobs, NEVER, moves, *rest)
    assert bound.bound(load, pausing=False)["total_jct"] <= whole
    run = api.simulate(load, RULES[seed % len(RULES)])
    assert run.violations() == []
    assert (best if run.pauses else whole) <= run.summary()["total_jct"]


def test_the_brute_force_counts_types():
    """By hand: two jobs of 2 ticks at 6; the other node does half as much, so that waiting is as good as going there.

    A third of 1 tick goes to the slow node, for 2. A gang of two tasks is on one type: on both together it never is.
    """
    two = [(0, 12, (1,)), (0, 12, (1,))]
    assert optimum((1, 1), two, 0, True, (0, 1), ((6, 3), (6, 3))) == 2 + 3  # it begins there, and moves
    assert optimum((1, 1), two, 1, True, (0, 1), ((6, 3), (6, 3))) == 2 + 4
    assert optimum((1, 1), two, 0, True, (0, 1), ((6, 0), (6, 0))) == 2 + 4
    assert optimum((1, 2), [(0, 12, (1, 1))], 0, True, (0, 1), ((6, 3),)) == 4
