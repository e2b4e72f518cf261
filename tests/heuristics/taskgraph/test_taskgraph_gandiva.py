"""Gandiva: affinity of nodes and relief of overloaded GPUs, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from jobs_examples import jobs_of, seen_at

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.gandiva import answer
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options

RNG = np.random.default_rng(0)


def starts(snapshot):
    plan = answer(snapshot, rng=RNG)
    assert snapshot.violations(plan) == []
    return list(zip(plan.start_task.tolist(), plan.start_node.tolist(), strict=True))


def test_tasks_go_beside_their_like_then_to_empty_nodes_then_anywhere():
    """Four nodes of 4 GPUs. On node 1 runs a single, on node 2 a gang of two, nodes 0 and 3 are empty.

    The single that comes first goes to node 1, the gang to node 2, and the job of four GPUs to node 0, which is empty.
    The next of four takes node 3, and the last single, for which node 1 has room, goes there.
    """
    shapes = [[(9, 1)], [(9, 1), (9, 1)], [(9, 4)]]
    jobs = [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (1, 2, 1), (1, 2, 1), (1, 0, 1)]
    load = jobs_of(shapes, jobs, nodes=[(4,)] * 4)
    script = {0: {"start": [(0, 1), (1, 2), (2, 2)]}, 1: {"start": [(3, 1)], "wake_at": 9}}
    snapshot = seen_at(load, 1, script)
    assert starts(snapshot) == [(3, 1), (4, 2), (5, 2), (6, 0), (7, 3), (8, 1)]


def test_of_nodes_alike_the_least_used_comes_first_and_without_any_the_least_used_of_all():
    """Two nodes with a single each, of which node 0's uses more than it asked for; a gang finds no empty node."""
    load = jobs_of([[(9, 1)], [(9, 1), (9, 1)]], [(0, 0, 1), (0, 0, 1), (1, 0, 1), (1, 1, 1)], nodes=[(4,)] * 2)
    script = {0: {"start": [(0, 0), (1, 1)]}, 1: {"start": [(2, 1)], "wake_at": 2}}
    seen = seen_at(load, 1, script).replace(usage=[[3], [1], [0], [0], [0]])
    # Node 1 has 1 in use, then the 1 that the single asks for, then 1 of the gang's; as much as node 0, which is first.
    assert starts(seen) == [(2, 1), (3, 1), (4, 0)]
    seen = seen.replace(usage=[[1], [2], [0], [0], [0]])
    assert starts(seen) == [(2, 0), (3, 0), (4, 1)]


def test_a_gang_that_finds_no_room_leaves_no_load_behind():
    """Nodes of 4 and 3 GPUs, both empty. Tasks of 3, 3 and 2 GPUs: the first two go to node 0 and node 1, and the third
    nowhere. For the single both are then as empty as before, and node 0 is the first.
    """
    load = jobs_of([[(9, 3), (9, 3), (9, 2)], [(9, 1)]], [(0, 0, 1), (0, 1, 1)], nodes=[(4,), (3,)], gang=1)
    world = IterationWorld(load, Options())
    world.advance(0)
    assert starts(world.ask()) == [(3, 0)]


#: Two nodes of 2 GPUs of 1000. Jobs 0 and 1 have 600 and 400 of GPU 0 of node 0, job 2 has 300 of GPU 1 of node 0.
SHARED = jobs_of(
    [[(9, 600)], [(9, 400)], [(9, 300)]],
    [(0, job, 1) for job in range(3)],
    nodes=((2000,), (2000,)),
    resources=("gpu_milli",),
    gpu_unit=1000,
)
PLACED = {0: {"start": [(0, 0, 0), (1, 0, 0), (2, 0, 1)], "wake_at": 1}}


@pytest.mark.parametrize(
    ("usage", "moves"),
    [
        ([500, 300, 100], []),  # nothing is overloaded
        ([700, 300, 0], [(1, 0, 1)]),  # 1000 of 1000: the least user goes to GPU 1 of its node, the first unused one
        ([700, 300, 100], [(1, 1, 0)]),  # of which another uses something now: to node 1
        ([200, 900, 100], [(0, 1, 0)]),  # the least user is job 0
        ([950, 960, 100], []),  # wherever the least user went, that GPU would be overloaded
    ],
)
def test_the_least_user_of_an_overloaded_gpu_goes_to_the_gpu_used_least(usage, moves):
    seen = seen_at(SHARED, 1, PLACED, movement="anytime").replace(usage=[[u] for u in usage])
    plan = answer(seen, rng=RNG, overload=0.9)
    assert seen.violations(plan) == []
    columns = (plan.migrate_task, plan.migrate_node, plan.migrate_gpu)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == moves


def test_without_movement_nothing_moves():
    seen = seen_at(SHARED, 1, PLACED, movement="anytime").replace(usage=[[700], [300], [0]], movement="none")
    assert answer(seen, rng=RNG, overload=0.5).migrate_task.tolist() == []


def test_where_gpus_are_one_pool_nodes_are_relieved():
    """Node 0 uses 5 of 4, job 1 the least of it: it goes to node 1."""
    load = jobs_of([[(9, 2)]], [(0, 0, 1), (0, 0, 1)], nodes=[(4,), (4,)])
    seen = seen_at(load, 1, {0: {"start": [(0, 0), (1, 0)], "wake_at": 1}}, movement="anytime")
    plan = answer(seen.replace(usage=[[3], [2]]), rng=RNG)
    assert (plan.migrate_task.tolist(), plan.migrate_node.tolist(), plan.migrate_gpu.tolist()) == ([1], [1], [-1])
    assert answer(seen.replace(usage=[[2], [1]]), rng=RNG).migrate_task.tolist() == []


def test_settings_are_checked():
    with pytest.raises(InvalidInput, match=r"overload: 0\.0, expected above 0"):
        api.simulate(SHARED, "gandiva:overload=0")
