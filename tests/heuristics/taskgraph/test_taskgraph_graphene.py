"""Graphene: troublesome tasks, the virtual schedule, and the online score."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from snapshot_examples import greedy, horizon, play, snapshot_at

from mlsched import api
from mlsched.heuristics.taskgraph._troublesome import ORDERS, Space, _reach, _troublesome, ranks, schedule
from mlsched.heuristics.taskgraph.graphene import priorities
from mlsched.heuristics.taskgraph.measures import remaining_ticks
from mlsched.simulation.taskgraph.strategies import snapshots


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


def test_what_needs_nothing_from_elsewhere_goes_first():
    """Tasks 0 and 2 are done on nodes 0 and 1, and node 0 is taken: of their successors, task 3 has its data there."""
    inst = horizon(
        [(0, 1, [(2, 1), (2, 1)]), (0, 1, [(2, 1), (2, 1)]), (2, 1, [(9, 1)])],
        edges=[(0, 1, 0, 5, 0), (2, 3, 0, 5, 0)],
        nodes=[(1,), (1,)],
    )
    script = {0: {"start": [(0, 0), (2, 1)]}, 2: {"start": [(4, 0)], "wake_at": 3}}
    snapshot = snapshot_at(inst, 3, script)
    for remote, first in ((0.5, 3), (1.0, 1)):
        plan = api.solve(snapshot, f"graphene:remote={remote}").plan
        assert (plan.start_task.tolist(), plan.start_node.tolist()) == ([first], [1])


def gains(snapshot, remote):
    """Task -> the first term of its score, from the statement: the best over the nodes that can take it now."""
    largest, order, found = snapshot.node_capacity.max(axis=0), priorities(snapshot), {}
    edges = [column.tolist() for column in (snapshot.edge_from, snapshot.edge_to, snapshot.edge_lag)]
    for task in np.flatnonzero(snapshot.startable).tolist():
        sources = [
            int(snapshot.home[u] if lag else snapshot.node[u]) for u, v, lag in zip(*edges, strict=True) if v == task
        ]
        held = snapshot.demand[task] * (snapshot.duration[task] > 0)
        for node in np.flatnonzero(snapshot.may_start_on(task) & (held <= snapshot.free).all(axis=1)).tolist():
            local = 1.0 if set(sources) <= {-1, node} else remote
            gain = order[task] * float((held / largest) @ (np.maximum(snapshot.free[node], 0) / largest)) * local
            found[task] = max(found.get(task, 0.0), gain)
    return found


@settings(max_examples=draws(12, 500))
@given(snapshot=snapshots(pausing="none"), remote=st.sampled_from([0.0, 0.8]))
def test_the_first_to_start_scores_highest(snapshot, remote):
    """Left out are snapshots with data on its way: the score does not look at that, only the start does."""
    assume(not snapshot.fetching)
    gain = gains(snapshot, remote)
    share = (snapshot.demand / np.maximum(snapshot.node_capacity.sum(axis=0), 1)).max(axis=1, initial=0.0)
    work = np.bincount(snapshot.task_job, share * remaining_ticks(snapshot, snapshot.max_iterations))
    plan = api.solve(snapshot, f"graphene:remote={remote}").plan
    assert bool(gain) == bool(len(plan.start_task))
    if gain:
        left = {task: float(work[snapshot.task_job[task]]) for task in gain}
        eta = np.mean(list(gain.values())) / max(float(np.mean(list(left.values()))), 1e-9)
        score = {task: gain[task] - eta * left[task] for task in gain}
        assert score[int(plan.start_task[0])] == pytest.approx(max(score.values()))
