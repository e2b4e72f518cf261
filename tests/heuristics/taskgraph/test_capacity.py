"""Free capacity in packed integers finds the nodes that the placer of snapshots finds."""

from __future__ import annotations

import random

import numpy as np
import pytest
from draws import draws
from jobs_examples import jobs_of

from mlsched.heuristics.taskgraph._capacity import FreeCapacity, Layout, Shape, bits, places, sets
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options


def test_amounts_are_packed_and_may_be_negative():
    layout = Layout([8, 100], 10**6)
    for amounts in ([0, 0], [3, 99], [-2, 5], [7, -1]):
        assert layout.unpack(layout.pack(amounts)) == amounts


def test_sets_of_nodes_are_bits():
    assert sets(np.array([[1, 0, 1], [0, 0, 0]])) == [5, 0]
    assert bits(0b10110) == [1, 2, 4]


def test_a_shape_needs_no_less_than_one_of_its_class_that_asks_for_as_much():
    layout = Layout([8], 100)
    one, two, pair, other = (
        Shape(layout, rows, 1, (), group) for rows, group in (([[1]], 0), ([[2]], 0), ([[1], [1]], 0), ([[2]], 1))
    )
    assert two.no_less_than(one)
    assert not one.no_less_than(two)
    assert not two.no_less_than(pair)
    assert pair.no_less_than(one)
    assert not other.no_less_than(one)


@pytest.mark.parametrize("seed", range(draws(40, 2000)))
def test_a_gang_finds_the_nodes_that_the_placer_finds(seed):
    """Random rooms, gangs of equal and of different tasks, one or two resources, jobs that run already."""
    rng = random.Random(seed)
    resources = ("gpu", "cpu")[: 1 + seed % 2]
    nodes = [tuple(rng.choice([2, 4, 8]) for _ in resources) for _ in range(rng.randint(1, 6))]

    def rows():
        count = rng.choice([1, 1, 2, 3, 5])
        row = (1, *(rng.randint(1, 3) for _ in resources))
        return [row if seed % 3 else (1, *(rng.randint(1, 3) for _ in resources)) for _ in range(count)]

    templates = [rows() for _ in range(12)]
    load = jobs_of(templates, [(0, t, 1) for t in range(12)], nodes=nodes, resources=resources)
    world = IterationWorld(load, Options())
    world.advance(0)
    for number in range(12):
        snapshot = world.ask()
        if snapshot is None:
            return
        placer = Placer(snapshot)
        at = int(np.flatnonzero(snapshot.job_id == number)[0])
        started = placer.start(int(np.searchsorted(snapshot.task_job, at)))
        found = places(world.shapes[number], world.room, world.alive)
        assert (found is not None) == started
        if found is not None:
            first = int(np.searchsorted(snapshot.task_job, at))
            assert list(found) == [dict(placer.starts)[first + task] for task in range(len(found))]
            world.begin(world.jobs[number], tuple(found))
        world._asking = True


def test_what_is_taken_is_given_back():
    layout = Layout([4, 4], 100)
    free = FreeCapacity(layout, [layout.pack([4, 4]), layout.pack([4, 4])])
    before = free.copy()
    for node, amounts in ((0, [1, 2]), (1, [4, 0]), (0, [3, 2])):
        free.take(node, layout.pack(amounts))
    assert (free.best(layout.pack([1, 1]), 3), free.best(layout.pack([0, 3]), 3)) == (-1, 1)
    for node, amounts in ((0, [1, 2]), (1, [4, 0]), (0, [3, 2])):
        free.take(node, -layout.pack(amounts))
    assert (free.free, free.groups, free.total) == (before.free, before.groups, before.total)


def test_columns_follow_what_is_taken_and_a_copy_has_its_own():
    layout = Layout([9, 9], 100)
    free = FreeCapacity(layout, [layout.pack([4, 9]), layout.pack([7, 0])])
    assert free.columns().tolist() == [[4, 9], [7, 0]]
    copy = free.copy()
    free.take(1, layout.pack([2, 0]))
    free.take(0, layout.pack([5, 1]))
    assert free.columns().tolist() == [[-1, 8], [5, 0]]
    assert copy.columns().tolist() == [[4, 9], [7, 0]]
    free.take(0, -layout.pack([5, 1]))
    assert free.columns().tolist() == [[4, 9], [5, 0]]
