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

from mlsched import api
from mlsched.simulation.bound import PARTS, lower_bounds, total_jct_parts, with_halves
from mlsched.simulation.bound.pieces import halves, thirds
from mlsched.simulation.taskgraph.iterations import bound
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.strategies import workloads


def packs(tasks, free) -> bool:
    """Whether the tasks fit the nodes.

    A task: a demand of each resource. A node: what is left of it, and of each of its GPUs where they are apart; the
    first resource counts them, UNIT each. A part of one is on one GPU, whole ones are wholly free.
    """
    return not tasks or any(
        packs(tasks[1:], (*free[:n], left, *free[n + 1 :]))
        for n, (node, gpus) in enumerate(free)
        if min(rest := tuple(a - b for a, b in zip(node, tasks[0], strict=True))) >= 0
        for left in ((rest, gone) for gone in taken(gpus, tasks[0][0]))
    )


def taken(gpus, demand):
    """What may be left of a node's GPUs after a demand; nothing is taken of a pool."""
    if not gpus or not demand:
        return [gpus]
    if demand < UNIT:
        return [(*gpus[:g], gpus[g] - demand, *gpus[g + 1 :]) for g in range(len(gpus)) if gpus[g] >= demand]
    whole = [g for g in range(len(gpus)) if gpus[g] == UNIT][: demand // UNIT]
    return [tuple(0 if g in whole else left for g, left in enumerate(gpus))] if len(whole) == demand // UNIT else []


#: Of the first resource, what one GPU is where those of a node are apart.
UNIT = 4


def optimum(nodes, jobs) -> tuple[int, int]:
    """The least total completion time and the least makespan, by trying every set of jobs at every tick.

    nodes: as for `packs`; jobs: (arrival, ticks, demands of the tasks). They pause and move for nothing, but run whole.
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
    """Nodes of one or two resources, templates of one to three tasks, and up to four jobs; some may stop early.

    In a third of them tasks hold parts of GPUs.
    """
    width, shares = draw(st.integers(1, 2)), draw(st.sampled_from([False, False, True]))
    node, asked = [st.sampled_from([2, 2, 3])] * width, [st.integers(0, 2)] * width
    if shares:
        node[0], asked[0] = st.sampled_from([UNIT, 2 * UNIT]), st.sampled_from([0, 1, 2, 3, 3, UNIT, 2 * UNIT])
    nodes = draw(st.lists(st.tuples(*node), min_size=1, max_size=3))
    task = st.tuples(st.sampled_from([1, 1, 2, 0]), *asked)
    templates = draw(st.lists(st.lists(task, min_size=1, max_size=3), min_size=1, max_size=3))
    job = st.tuples(
        st.integers(0, 5),
        st.integers(0, len(templates) - 1),
        st.integers(1, 3),
        st.sampled_from([10**6, 10**6, 700_000, 1_400_000]),
    )
    jobs = sorted(draw(st.lists(job, min_size=1, max_size=4)))
    least = [max(0, job[2] - draw(st.sampled_from([0, 0, 0, 1]))) for job in jobs]
    more = {"min_iterations": least, "gpu_unit": UNIT * shares}
    return jobs_of(templates, jobs, nodes=nodes, resources=("gpu", "cpu")[:width], **more)


@settings(max_examples=draws(9, 2000))
@given(load=horizons().filter(lambda load: not never_start(load)))
def test_the_bound_never_exceeds_the_optimum(load):
    jobs = []
    for job, least in enumerate(load.min_iterations.tolist()):
        first, end = load.span(job)
        longest = int(load.duration[first:end].max())
        ticks = -(-least * max(1, longest * int(load.scale[job])) // 10**6)
        held = [tuple(load.demand[t].tolist()) for t in range(first, end) if load.duration[t]]
        jobs.append((int(load.arrival[job]), ticks, held))
    apart = [(UNIT,) * (node[0] // UNIT) if load.gpu_unit else () for node in load.node_capacity.tolist()]
    nodes = tuple((tuple(node), gpus) for node, gpus in zip(load.node_capacity.tolist(), apart, strict=True))
    total, makespan = optimum(nodes, jobs)
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
    assert 13.8 < parts["completion times"] <= 14
    assert bound.bound(load) == {"total_jct": 14, "makespan": 8}
    assert optimum((((4,), ()),), [(0, 4, [(1,)] * 3), (0, 4, [(1,)] * 3), (0, 2, [(1,)])]) == (14, 8)


def test_what_is_above_half_of_a_node_cannot_share_it():
    """Nodes of 8 and 4: 5 counts 2, 4 counts 1, 3 nothing; a node of 3 has room for none of them."""
    demand, capacity = halves(np.array([[5, 1], [4, 0], [3, 1]]), np.array([[8, 9], [4, 9], [3, 9]]))
    assert (demand.tolist(), capacity.tolist()) == ([[2], [1], [0]], [4])


def test_what_is_above_half_of_a_gpu_cannot_share_it():
    """Two GPUs of 4 on a node: tasks of 3, 2, 1, one and two GPUs."""
    demand, capacity = with_halves(np.array([[3], [2], [1], [4], [8]]), np.array([[8]]), 0, 4)
    assert demand[:, 1:3].tolist() == [[0, 2], [0, 1], [0, 0], [1, 2], [2, 4]]
    assert capacity.tolist() == [8, 2, 4, 12]


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.sampled_from([5, 6, 7, 9, 12]))
def test_what_shares_a_gpu_counts_no_more_than_it(parts, unit):
    """Of demands that fit one GPU together, what they count in thirds, and of two above a third, that they fill it."""
    counted, room = thirds(np.minimum(np.array(parts), unit)[:, None], 1, unit)
    sizes = np.minimum(parts, unit)
    if counted.size:
        assert room.tolist() == [6]
        for size in range(len(sizes) + 1):
            for some in itertools.combinations(range(len(sizes)), size):
                if sizes[list(some)].sum() <= unit:
                    assert counted[list(some)].sum() <= 6
        assert (counted[3 * sizes > unit] >= 3).all()


@pytest.mark.parametrize("jobs", [[], [(3, 0, 1)]])
def test_no_job_and_one(jobs):
    load = jobs_of([[(4, 1)]], jobs)
    assert lower_bounds(bound.pieces(load)) == {"total_jct": 4 * len(jobs), "makespan": 4 * len(jobs)}


def test_iterations_by_the_deadline_are_those_of_a_job_alone():
    """Chains of 3 ticks an iteration: 10 ticks are three of them, and a job has no more than it runs."""
    load = jobs_of([[(1, 1), (2, 1)]], [(0, 0, 5), (0, 0, 2)], edges=[(0, 1, 0, 0, 0)], nodes=[(1,)])
    assert bound.iterations_in_time(load.replace(deadline=[10, 100])).tolist() == [3, 2]
    assert bound.iterations_in_time(load.replace(deadline=[2, 1])).tolist() == [0, 0]


@settings(max_examples=draws(15, 300))
@given(work=workloads(jobs=4), patience=st.lists(st.integers(0, 60), min_size=4, max_size=4))
def test_no_run_has_a_job_in_time_that_could_not_be_alone(work, patience):
    work = work.replace(deadline=work.arrival + patience[: len(work.arrival)])
    met = api.simulate(work, "fifo").jobs["met"] == 1
    assert (bound.iterations_in_time(work)[met] == work.max_iterations[met]).all()
