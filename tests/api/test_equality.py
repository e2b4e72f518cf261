"""Results, fronts and runs are equal when the same was asked and answered: seconds are no part of it."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

import mlsched


def result():
    return mlsched.solve(mlsched.generate("preemption", "small", seed=1), "cp-sat")


def front():
    return mlsched.pareto(mlsched.generate("preemption", "small", seed=1))


def run():
    return mlsched.simulate(mlsched.workload("synthetic:z:jobs=20,nodes=2"), "fifo", record=1.0)


OTHER = {result: {"seed": 7}, front: {"solves": 10**6}, run: {"decisions": 10**6}}
TIMES = ("seconds", "confirm_seconds", "cpu_seconds")


@pytest.mark.parametrize("made", [result, front, run])
def test_a_copy_is_equal_and_so_is_its_hash(made):
    thing = made()
    times = {field.name: 1e9 for field in dataclasses.fields(thing) if field.name in TIMES}
    for other in (copy.deepcopy(thing), pickle.loads(pickle.dumps(thing)), made(), dataclasses.replace(thing, **times)):
        assert other == thing
        assert hash(other) == hash(thing)
        assert len({other, thing}) == 1
    assert dataclasses.replace(thing, **OTHER[made]) != thing
    assert thing != "a text"


def test_a_front_differs_by_its_points_and_their_solutions():
    one = front()
    assert dataclasses.replace(one, sort_keys=one.sort_keys + 1) != one
    assert dataclasses.replace(one, solutions=one.solutions[1:]) != one
    assert dataclasses.replace(one, plans=None) != one


def test_a_run_differs_by_its_log():
    one, other = run(), run()
    other.log.rows.pop()
    assert other != one
