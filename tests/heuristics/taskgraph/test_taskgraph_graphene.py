"""Graphene: troublesome tasks, the virtual schedule, and the online score."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from snapshot_examples import greedy, horizon, play

from mlsched import api
from mlsched.heuristics.taskgraph._troublesome import ORDERS, Space, _reach, _troublesome, ranks, schedule
from mlsched.heuristics.taskgraph.graphene import priorities


@st.composite
def graphs(draw, most: int = 6):
    """Durations, demands (of a capacity of 3) and edges of a small graph."""
    count = draw(st.integers(1, most))
    duration = tuple(draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)))
    demand = tuple((d,) for d in draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    pairs = list(itertools.combinations(range(count), 2))
    edges = tuple(draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else ()
    return duration, demand, edges


@given(graph=graphs(), order=st.sampled_from(ORDERS), data=st.data())
def test_a_virtual_schedule_keeps_order_and_capacity_whatever_is_troublesome(graph, order, data):
    duration, demand, edges = graph
    count = len(duration)
    before, after = _reach(count, edges), _reach(count, tuple((v, u) for u, v in edges))
    long, large = data.draw(st.sampled_from([0.3, 0.6, 1.0])), data.draw(st.sampled_from([0.3, 0.6, 1.0]))
    chosen = _troublesome(duration, [d[0] / 3 for d in demand], before, after, long, large)
    space = schedule(duration, np.array(demand), before, after, np.array([3]), chosen, order)
    assert set(space.start) == set(range(count)), "every task is placed"
    assert all(space.end[k] - space.start[k] == duration[k] for k in range(count))
    assert all(space.end[u] <= space.start[v] for u, v in edges)
    for t in range(min(space.start.values()), max(space.end.values())):
        assert sum(demand[k][0] for k in range(count) if space.start[k] <= t < space.end[k]) <= 3
    # Closed under paths: nothing lies between two troublesome tasks that is not troublesome.
    assert all(not (before[k] & chosen and after[k] & chosen) for k in set(range(count)) - chosen)


@given(graph=graphs())
def test_the_order_is_a_topological_one(graph):
    duration, demand, edges = graph
    found = ranks(duration, demand, edges, (3,))
    assert sorted(found) == list(range(len(duration)))
    assert all(found[u] < found[v] for u, v in edges)


def test_the_long_task_comes_first_although_its_branch_starts_with_a_small_one():
    """Tasks 0 -> 1 (long); 2, 3, 4 fill the machine beside it; first come, first served leaves the long one late."""
    duration, demand = (1, 9, 3, 3, 3), ((1,), (1,), (1,), (1,), (1,))
    order = ranks(duration, demand, ((0, 1),), (2,))
    assert order[0] == 0
    assert order[1] < order[3]
    assert order[1] < order[4]


def test_space_places_in_the_first_and_the_last_gap():
    space = Space(np.array([2]))
    one = np.array([1])
    space.put(0, 0, 4, np.array([2]))
    space.put(1, 6, 9, np.array([2]))
    space.forwards(2, 2, one, 0)
    assert space.start[2] == 4
    space.forwards(3, 3, one, 0)
    assert space.start[3] == 9
    space.backwards(4, 2, one, 6)
    assert (space.start[4], space.end[4]) == (4, 6)
    space.backwards(5, 1, one, 6)
    assert (space.start[5], space.end[5]) == (-1, 0)
    assert space.length() == 13


def test_priorities_fall_evenly_from_one():
    inst = horizon([(0, 1, [(2, 1), (2, 1)]), (0, 1, [(1, 1)])], edges=[(0, 1, 0, 0, 0)])
    assert priorities(play(inst, greedy())[2][0]).tolist() == [1.0, 0.5, 1.0]


def test_packing_prefers_the_demand_that_fills_and_srpt_the_short_job():
    """Job 0 asks for 3 of 4 GPUs for 9 ticks, job 1 for two for 2 ticks: there is no room for both."""
    inst = horizon([(0, 1, [(9, 3)]), (0, 1, [(2, 2)])], nodes=[(4,)])
    packing = api.solve(inst, "graphene:srpt=0").plan
    short = api.solve(inst, "graphene:srpt=5").plan
    assert packing.task[packing.start == 0].tolist() == [0]
    assert short.task[short.start == 0].tolist() == [1]


def test_remote_nodes_score_less():
    """Task 0 is done on the node with less room; with remote=0 its successor follows it, with remote=1 it goes away."""
    inst = horizon([(0, 1, [(2, 1), (2, 1)])], edges=[(0, 1, 0, 5, 0)], nodes=[(2,), (4,)], eligible=[[1, 0], [1, 1]])
    places = {
        r: dict(zip(*(c.tolist() for c in (p.task, p.node)), strict=True))
        for r in (0.0, 1.0)
        for p in [api.solve(inst, f"graphene:remote={r}").plan]
    }
    assert places == {0.0: {0: 0, 1: 0}, 1.0: {0: 0, 1: 1}}
