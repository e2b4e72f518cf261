"""List rules where the GPUs of a node are told apart: which GPU they name, and who gives way for whom.

A node of 3 GPUs (1000 each), another of 1.
"""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of

import mlsched
from mlsched import api
from mlsched.heuristics.taskgraph import fifo as fifo_file
from mlsched.heuristics.taskgraph._gpus import Gpus
from mlsched.heuristics.taskgraph.measures import by_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import preempt_by_priority
from mlsched.instances.taskgraph.gpus import empty
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.simulation.taskgraph import Workload
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options
from mlsched.simulation.taskgraph.iterations.strategies import options, workloads


def cluster(*demands, gang=0):
    """Jobs of one task each (a gang: one job of all of them) that arrive at 0 and run for long."""
    templates = [[(50, d) for d in demands]] if gang else [[(50, d)] for d in demands]
    jobs = [(0, t, 1) for t in range(len(templates))]
    nodes = ((3000,), (1000,))
    return jobs_of(templates, jobs, nodes=nodes, resources=("gpu_milli",), gpu_unit=1000, gang=gang)


def first(jobs):
    """The first snapshot."""
    world = IterationWorld(jobs, Options())
    world.advance(0)
    return world.ask()


def fifo(snapshot, nodes="least-work"):
    plan = fifo_file.answer(snapshot, rng=np.random.default_rng(0), strict=False, nodes=nodes)
    assert snapshot.violations(plan) == []
    return list(zip(plan.start_task.tolist(), plan.start_node.tolist(), plan.start_gpu.tolist(), strict=True))


def test_parts_go_to_the_fullest_gpu_that_has_room():
    """The node is chosen by the work bound to it: 600 to each node, 500 to the larger one, and so on."""
    assert fifo(first(cluster(600, 700, 500, 400, 300))) == [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 0, 0), (4, 0, 1)]


def test_by_best_fit_the_fullest_node_is_taken_and_on_it_the_fullest_gpu():
    """600 go to the smaller node; 700 and 500 to the larger one; 400 fill the smaller one up, 300 the first GPU."""
    found = [(0, 1, 0), (1, 0, 0), (2, 0, 1), (3, 1, 0), (4, 0, 0)]
    assert fifo(first(cluster(600, 700, 500, 400, 300)), "best-fit") == found
    assert fifo(first(cluster(600, 700, 500, 400, 300)), "auto") == found


@pytest.mark.parametrize(
    ("demands", "free", "found"),
    [
        ((500,) * 8, (1000, 1000, 1000, 1000), True),
        ((500,) * 8, (1000, 1000, 1000, 900), False),
        ((501, 400, 400, 400), (500, 1000, 1000, 0), True),
        ((501, 501, 400, 400), (500, 1000, 1000, 400), True),
        ((501, 501, 501), (500, 1000, 1000, 500), False),
        ((2000, 1000, 300), (1000, 1000, 300, 1000), True),
        ((2000, 1000, 300), (1000, 300, 1000, 1000), True),
        ((2000, 300, 300, 300), (1000, 300, 300, 1000), False),
    ],
)
def test_whether_gpus_may_hold_a_gang(demands, free, found):
    """Three GPUs of one node and one of another. Of every demand, there must be room for as many as ask for it or more.

    Where the larger tasks went is not asked: of two whole GPUs, a third and a whole one, all have room one by one.
    """
    gpus = Gpus(first(cluster(*demands, gang=1)))
    gpus.free[0], gpus.free[1, 0] = free[:3], free[3]
    assert gpus.may_hold(range(len(demands))) == found


@settings(max_examples=draws(9, 200))
@given(
    work=workloads(jobs=5, gpus=True), readings=options(), rule=st.sampled_from(["fifo", "tiresias", "fair", "gandiva"])
)
def test_to_know_that_changes_no_run(work, readings, rule):
    work = work.replace(gang=np.ones_like(work.gang))
    run = api.simulate(work, rule, options=readings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gpus, "may_hold", lambda self, tasks: True)
        tried = api.simulate(work, rule, options=readings)
    assert (run.log.rows, run.log.places) == (tried.log.rows, tried.log.places)


def test_whole_gpus_are_not_named_and_find_no_room_where_all_are_shared():
    """400 is free of each of three GPUs: room for 1000 in the pool, and on no GPU."""
    snapshot = first(cluster(3000, 600))
    assert fifo(snapshot) == [(0, 0, -1), (1, 1, 0)]
    assert fifo(first(cluster(600, 600, 600, 600, 1000))) == [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 0, 2)]


def test_a_gang_of_parts_starts_whole_or_not_at_all():
    assert len(fifo(first(cluster(600, 600, 600, 600, gang=1)))) == 4
    jobs = cluster(600, 600, 600, 400, gang=1)
    snapshot = first(jobs.replace(demand=[[600]] * 4, node_capacity=[[3000], [1000]]))
    placer = Placer(snapshot.replace(gpu_in_use=[[500, 0, 0], [0, 0, 0]], in_use=[[500], [0]]))
    assert not placer.start(0)
    assert (placer.starts, placer.gpus.names, placer.gpus.free.tolist()) == ([], {}, [[500, 1000, 1000], [1000, 0, 0]])
    placer.packed[:] = True
    assert not placer.start(0)


def test_packed_gangs_share_gpus():
    placer = Placer(first(cluster(500, 500, 500, 500, gang=1)), nodes="few")
    assert placer.start(0)
    assert placer.starts == [(task, 0) for task in range(4)]
    assert [placer.gpus.names[task] for task in range(4)] == [0, 0, 1, 1]


def test_what_runs_gives_way_gpu_by_gpu():
    """Tasks 0 (600 on GPU 0 of node 0) and 1 (two GPUs) run; 2 (500) and 3 (a GPU) come first, and 0 comes last.

    Task 2 goes to node 1, so 3 has no GPU there; on node 0, task 1 keeps its GPUs, and task 0 leaves.
    """
    jobs = cluster(600, 2000, 500, 1000)
    world = IterationWorld(jobs, Options(pausing="keep"))
    world.advance(0)
    world.apply(world.ask().round(start=[(0, 0, 0), (1, 0)]))
    world.advance(1)
    snapshot = world.ask()
    placer = Placer(snapshot)
    pauses = preempt_by_priority(placer, by_job(snapshot, np.array([1, 1, 0, 0])), np.array([2, 3, 1, 0]))
    plan = placer.round(pauses)
    assert snapshot.violations(plan) == []
    assert (placer.starts, placer.gpus.names, pauses) == ([(2, 1), (3, 0)], {2: 0, 3: -1}, [0])


@pytest.mark.parametrize("seed", range(draws(4, 10)))
def test_what_gives_way_holds_no_gpu_until_it_is_kept(seed):
    """Whatever runs gives back all that it holds, parts and whole GPUs, and finds room again at once or one by one."""
    horizon = mlsched.generate("taskgraph", "sharing", seed=seed, runs=60, jobs=12, sharing=0.5)
    run = mlsched.simulate(Workload(horizon=horizon, true_duration=horizon.duration), "las", record=1.0)
    whole = 0
    for snapshot in (found.instance for found in run.recorded):
        running = np.flatnonzero(snapshot.state == RUNNING)
        whole += ((snapshot.gpu >= 0) & (snapshot.gpu_demand == snapshot.gpu_unit)).any()
        for batches in ([running], running[:, None]):
            gpus = Gpus(snapshot)
            gpus.spare = gpus.free.copy()
            gpus.release(running)
            assert np.array_equal(gpus.free, empty(snapshot))
            assert all(gpus.keep(np.array(tasks)) for tasks in batches)
            assert np.array_equal(gpus.free, snapshot.gpu_free)
            gpus.leave(running)
            assert np.array_equal(gpus.spare, empty(snapshot))
    assert whole, "or whole GPUs were not looked at"
