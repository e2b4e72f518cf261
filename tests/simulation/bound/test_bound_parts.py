"""The bound of a run of rigid jobs never exceeds the best that any scheduler can do, found by trying everything."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of

from mlsched.simulation.bound import PARTS, lower_bounds, total_jct_parts
from mlsched.simulation.bound.pieces import halves
from mlsched.simulation.taskgraph.iterations import bound
from mlsched.simulation.taskgraph.iterations.workload import never_start


def packs(tasks, free) -> bool:
    """Whether the tasks (a demand each) fit the nodes."""
    if not tasks:
        return True
    for n, node in enumerate(free):
        left = tuple(a - b for a, b in zip(node, tasks[0], strict=True))
        if min(left) >= 0 and packs(tasks[1:], (*free[:n], left, *free[n + 1 :])):
            return True
    return False


def optimum(nodes, jobs) -> tuple[int, int]:
    """The least total completion time and the least makespan, by trying every set of jobs at every tick.

    jobs: (arrival, ticks, demands of the tasks). Jobs pause and move for nothing, but run whole.
    """
    arrivals = [job[0] for job in jobs]
    together = functools.cache(lambda chosen: packs(tuple(t for j in chosen for t in jobs[j][2]), nodes))

    @functools.cache
    def best(now, left):
        if not any(left):
            return 0, now
        here = [j for j, ticks in enumerate(left) if ticks and arrivals[j] <= now]
        if not here:
            return best(min(a for a, ticks in zip(arrivals, left, strict=True) if ticks), left)
        found = [(10**9, 10**9)]
        for size in range(len(here), 0, -1):
            for chosen in itertools.combinations(here, size):
                if together(chosen):
                    rest = tuple(ticks - (j in chosen) for j, ticks in enumerate(left))
                    total, end = best(now + 1, rest)
                    found.append((total + sum(now + 1 - arrivals[j] for j in chosen if not rest[j]), end))
        return min(total for total, _ in found), min(end for _, end in found)

    total, end = best(0, tuple(job[1] for job in jobs))
    return total, max(end, max(arrivals)) - min(arrivals)


@st.composite
def horizons(draw):
    """Nodes of one or two resources, templates of one to three tasks, and up to four jobs; some may stop early."""
    width = draw(st.integers(1, 2))
    nodes = draw(st.lists(st.tuples(*[st.sampled_from([2, 2, 3])] * width), min_size=1, max_size=3))
    task = st.tuples(st.sampled_from([1, 1, 2, 0]), *[st.integers(0, 2)] * width)
    templates = draw(st.lists(st.lists(task, min_size=1, max_size=3), min_size=1, max_size=3))
    job = st.tuples(
        st.integers(0, 5),
        st.integers(0, len(templates) - 1),
        st.integers(1, 3),
        st.sampled_from([10**6, 10**6, 700_000, 1_400_000]),
    )
    jobs = sorted(draw(st.lists(job, min_size=1, max_size=4)))
    least = [max(0, job[2] - draw(st.sampled_from([0, 0, 0, 1]))) for job in jobs]
    return jobs_of(
        templates, jobs, nodes=nodes, resources=("gpu", "cpu")[:width], min_iterations=least, accuracy=[[0] * 9]
    )


@settings(max_examples=draws(15, 2000))
@given(load=horizons().filter(lambda load: not never_start(load)))
def test_the_bound_never_exceeds_the_optimum(load):
    jobs = []
    for job, least in enumerate(load.min_iterations.tolist()):
        first, end = load.span(job)
        longest = int(load.duration[first:end].max())
        ticks = -(-least * max(1, longest * int(load.scale[job])) // 10**6)
        held = [tuple(load.demand[t].tolist()) for t in range(first, end) if load.duration[t]]
        jobs.append((int(load.arrival[job]), ticks, held))
    total, makespan = optimum(tuple(tuple(node) for node in load.node_capacity.tolist()), jobs)
    found = bound.bound(load)
    assert found["total_jct"] <= total
    assert found["makespan"] <= makespan


def test_the_parts_of_an_example_by_hand():
    """Four GPUs; two gangs of 3 that take 4 ticks, and a single job of 2 ticks; all arrive at 0.

    Running times: 10. The machine does 2, 12 and 12 GPU-ticks: ends at .5, 3.5, 6.5; mean busy times .25, 2, 5, and
    half of the running times: 12.25. Gangs of 3 cannot share 4 GPUs, so that one of them ends at 8: 2 + 4 + 8 = 14.
    """
    load = jobs_of([[(4, 1)] * 3, [(2, 1)]], [(0, 0, 1), (0, 0, 1), (0, 1, 1)], nodes=[(4,)])
    parts = total_jct_parts(bound.pieces(load))
    assert list(parts) == list(PARTS)
    assert parts["running times"] == 10
    # The column in which each gang counts 2 of 2: the machine takes 0 for the single job, then 4 and 8.
    assert parts["least work left"] == 12
    assert parts["mean busy times"] == 5 + 1 + 2 + 6
    assert 13.8 < parts["prices"] <= 14
    assert bound.bound(load) == {"total_jct": 14, "makespan": 8}
    assert optimum(((4,),), [(0, 4, [(1,)] * 3), (0, 4, [(1,)] * 3), (0, 2, [(1,)])]) == (14, 8)


def test_what_is_above_half_of_a_node_cannot_share_it():
    """Nodes of 8 and 4: 5 counts 2, 4 counts 1, 3 nothing; a node of 3 has room for none of them."""
    demand, capacity = halves(np.array([[5, 1], [4, 0], [3, 1]]), np.array([[8, 9], [4, 9], [3, 9]]))
    assert (demand.tolist(), capacity.tolist()) == ([[2], [1], [0]], [4])


@pytest.mark.parametrize("jobs", [[], [(3, 0, 1)]])
def test_no_job_and_one(jobs):
    load = jobs_of([[(4, 1)]], jobs)
    assert lower_bounds(bound.pieces(load)) == {"total_jct": 4 * len(jobs), "makespan": 4 * len(jobs)}
