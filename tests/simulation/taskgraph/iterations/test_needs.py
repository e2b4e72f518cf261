"""Whether a job that waits would find room does not depend on how many others are looked at with it."""

from __future__ import annotations

import numpy as np
import pytest
from jobs_examples import jobs_of

from mlsched.heuristics.taskgraph._capacity import FreeCapacity
from mlsched.simulation.taskgraph.iterations.needs import Needs, shapes_of

#: The number of templates that are asked at once.
FEW = 4


def needs_of(templates, **changes):
    load = jobs_of(templates, [(0, t, 1) for t in range(len(templates))], **changes)
    shapes, room = shapes_of(load, load.demand)
    return Needs(load, shapes, room.layout, load.demand), room.layout, load.node_capacity * 0


def met(needs, templates, free, layout, gpus):
    return needs.met(templates, FreeCapacity(layout, [layout.pack(row) for row in free.tolist()]), gpus)


def test_tasks_that_find_room_only_one_by_one_do_not_make_a_gang():
    needs, layout, gpus = needs_of([[(4, 2), (4, 1)]] * (FEW + 1))
    for count in (1, FEW + 1):
        assert not met(needs, range(count), np.array([[2], [0]]), layout, gpus)
        assert met(needs, range(count), np.array([[2], [1]]), layout, gpus)


@pytest.mark.parametrize("gang", [0, 1])
def test_the_many_are_met_where_one_of_them_is(gang):
    rng = np.random.default_rng(gang)
    seen = set()
    for _ in range(40):
        templates = [
            [(1, *rng.integers(0, 5, 2).tolist()) for _ in range(int(rng.integers(1, 4)))] for _ in range(2 * FEW)
        ]
        needs, layout, gpus = needs_of(templates, nodes=((8, 8),) * 3, resources=("gpu", "cpu"), gang=gang)
        free = rng.integers(0, 4, (3, 2))
        single = [met(needs, [t], free, layout, gpus) for t in range(len(templates))]
        seen.add(any(single))
        assert met(needs, range(len(templates)), free, layout, gpus) == any(single)
        wrong = [
            t
            for t, rows in enumerate(templates)
            if gang and single[t] and (np.sum(rows, axis=0)[1:] > free.sum(0)).any()
        ]
        assert not wrong
    assert True in seen
