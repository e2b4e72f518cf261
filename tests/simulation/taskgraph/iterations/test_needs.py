"""Whether a job that waits would find room does not depend on how many others are looked at with it."""

from __future__ import annotations

import numpy as np
import pytest
from jobs_examples import jobs_of

from mlsched.simulation.taskgraph.iterations.needs import FEW, Needs


def needs_of(templates, **changes):
    load = jobs_of(templates, [(0, t, 1) for t in range(len(templates))], **changes)
    return Needs(load, load.demand), load.node_capacity * 0


def test_tasks_that_find_room_only_one_by_one_do_not_make_a_gang():
    needs, gpus = needs_of([[(4, 2), (4, 1)]] * (FEW + 1))
    for count in (1, FEW + 1):
        assert not needs.met(range(count), np.array([[2], [0]]), gpus)
        assert needs.met(range(count), np.array([[2], [1]]), gpus)


@pytest.mark.parametrize("gang", [0, 1])
def test_the_many_are_met_where_one_of_them_is(gang):
    rng = np.random.default_rng(gang)
    seen = set()
    for _ in range(40):
        templates = [
            [(1, *rng.integers(0, 5, 2).tolist()) for _ in range(int(rng.integers(1, 4)))] for _ in range(2 * FEW)
        ]
        needs, gpus = needs_of(templates, nodes=((8, 8),) * 3, resources=("gpu", "cpu"), gang=gang)
        free = rng.integers(0, 4, (3, 2))
        single = [needs.met([t], free, gpus) for t in range(len(templates))]
        seen.add(any(single))
        assert needs.met(range(len(templates)), free, gpus) == any(single)
        wrong = [
            t
            for t, rows in enumerate(templates)
            if gang and single[t] and (np.sum(rows, axis=0)[1:] > free.sum(0)).any()
        ]
        assert not wrong
    assert True in seen
