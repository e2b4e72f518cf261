"""FIFO: first fit, never a victim."""

from __future__ import annotations

import pytest
from hypothesis import given
from preemption_examples import small

from mlsched import api
from mlsched.instances import strategies


@pytest.mark.parametrize(
    ("demands", "hosts"),
    [
        ([[5, 2]], [-1]),
        ([[1, 0]], [0]),
        ([[2, 1]], [1]),
        ([[1, 0], [1, 0], [1, 1]], [0, 1, 1]),
        ([[5, 2], [1, 0]], [-1, 0]),
    ],
)
def test_each_te_job_takes_the_first_node_with_room_or_waits(demands, hosts):
    plan = api.solve(small(te_demand=demands), "fifo").plan
    assert plan.te_node.tolist() == hosts
    assert plan.victims.tolist() == []


def test_what_drains_counts_as_room():
    inst = small(node_capacity=[[13, 6], [8, 4]], node_draining=[[4, 2], [0, 0]])
    assert api.solve(inst, "fifo").plan.te_node.tolist() == [0]


@given(instance=strategies.preemption(tes=4))
def test_it_never_suspends(instance):
    assert api.solve(instance, "fifo").plan.victims.size == 0
