"""The placer: gangs start whole, and what is not tried again would have found no room."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from snapshot_examples import horizon, snapshot_at

from mlsched.heuristics.taskgraph._by_share import start_by_share
from mlsched.heuristics.taskgraph.measures import by_job, tasks_of
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import preempt_by_priority
from mlsched.simulation.taskgraph.strategies import snapshots


def with_gangs(snapshot, flags):
    """The snapshot with some of the jobs as gangs whose tasks all wait or all run."""
    whole = [len(set(snapshot.state[snapshot.task_job == j].tolist())) == 1 for j in range(len(snapshot.arrival))]
    return snapshot.replace(gang=[int(w and f) for w, f in zip(whole, flags, strict=False)])


@given(snapshot=snapshots(), flags=st.lists(st.booleans(), min_size=3, max_size=3), simulator=st.booleans())
def test_leaving_out_the_hopeless_changes_nothing(snapshot, flags, simulator):
    snapshot = with_gangs(snapshot, flags)
    if simulator and not (snapshot.state == 3).any():
        snapshot = snapshot.replace(simulator="iterations")
    quick, slow = Placer(snapshot), Placer(snapshot)
    tasks = by_job(snapshot)
    quick.start_in_order(tasks)
    for task in tasks.tolist():
        if slow.open[task]:
            slow.start(task)
    assert quick.starts == slow.starts
    assert snapshot.violations(quick.round()) == []


def units_in_order(snapshot, placer, rank):
    """What starts, stays and pauses as one, in order: its tasks, and whether they run."""
    may, units = placer.open, {}
    for task in np.flatnonzero((snapshot.state == 1) | may).tolist():
        job = int(snapshot.task_job[task])
        key = (
            int(rank[job]),
            snapshot.state[task] != 1,
            -1 if snapshot.gang[job] else int(-snapshot.tails[task]),
            task,
        )
        units.setdefault((job, -1) if snapshot.gang[job] else (job, task), []).append(key)
    found = [([key[-1] for key in sorted(keys)], min(keys)) for keys in units.values()]
    gangs = [len(tasks) == (snapshot.task_job == snapshot.task_job[tasks[0]]).sum() for tasks, _ in found]
    whole = [
        not snapshot.gang[snapshot.task_job[tasks[0]]] or all_ for (tasks, _), all_ in zip(found, gangs, strict=True)
    ]
    found = [unit for unit, all_ in zip(found, whole, strict=True) if all_]
    return [tasks for tasks, _ in sorted(found, key=lambda unit: (*unit[1][:2], *unit[1][2:]))]


def fits_somewhere(snapshot, held, free, tasks):
    """Whether these tasks find nodes together, whatever way they take."""
    if not tasks:
        return True
    for node in np.flatnonzero(snapshot.may_start_on(tasks[0])).tolist():
        if (free[node] >= held[tasks[0]]).all() or not held[tasks[0]].any():
            left = free.copy()
            left[node] -= held[tasks[0]]
            if fits_somewhere(snapshot, held, left, tasks[1:]):
                return True
    return False


@given(
    snapshot=snapshots(pausing="keep"),
    flags=st.lists(st.booleans(), min_size=3, max_size=3),
    order=st.permutations(range(3)),
    lost=st.lists(st.integers(0, 1), min_size=3, max_size=3),
)
def test_who_is_within_capacity_runs_unless_those_before_it_are_in_its_way(snapshot, flags, order, lost):
    """Also where nodes have lost something of what they have, and are overloaded; and nobody pauses for nothing."""
    snapshot = with_gangs(snapshot, flags)
    less = np.array(lost[: len(snapshot.node_capacity)])[:, None]
    snapshot = snapshot.replace(node_capacity=np.maximum(snapshot.node_capacity - less, 0))
    jobs = np.array([job for job in order if job < len(snapshot.arrival)], dtype=np.int64)
    rank = np.argsort(jobs)
    placer, asked = Placer(snapshot), Placer(snapshot)
    tasks = by_job(snapshot, rank)
    pauses = preempt_by_priority(placer, tasks, jobs)
    plan = placer.round(pauses)
    assert snapshot.violations(plan) == []
    held = snapshot.demand * (snapshot.duration > 0)[:, None]
    place = {task: int(snapshot.node[task]) for task in np.flatnonzero(snapshot.state == 1).tolist()}
    place |= dict(placer.starts) | dict(placer.moves)
    place = {task: node for task, node in place.items() if task not in pauses}
    free, chosen = snapshot.node_capacity.copy(), snapshot.node_capacity.sum(axis=0)
    bound = np.where(snapshot.state == 1, snapshot.node, snapshot.bound)
    spaces = snapshot.node_capacity.copy()  # of the nodes, for what is chosen and bound to them
    for unit in units_in_order(snapshot, asked, rank):
        amount, fixed = held[unit].sum(axis=0), snapshot.movement != "anytime" and (bound[unit] >= 0).all()
        within = (amount <= chosen).all()
        if fixed and within:
            np.subtract.at(spaces, bound[unit], held[unit])
            within = (spaces >= 0).all()
            np.add.at(spaces, bound[unit], held[unit] * (not within))
        chosen = chosen - amount * within
        if unit[0] in place:
            for task in unit:
                free[place[task]] -= held[task]
        elif within and snapshot.state[unit[0]] != 1:
            assert not fits_somewhere(snapshot, held, free, unit), "those before it leave room for it"
    for task in pauses:
        unit = [k for k in pauses if snapshot.task_job[k] == snapshot.task_job[task]]
        unit = unit if snapshot.gang[snapshot.task_job[task]] else [task]
        after = free.copy()
        np.subtract.at(after, snapshot.node[unit], held[unit])
        assert (after[snapshot.node[unit]] < 0).any(), "it could have stayed"
    for task in tasks.tolist():
        unit = (
            range(*tasks_of(snapshot, int(snapshot.task_job[task])))
            if snapshot.gang[snapshot.task_job[task]]
            else [task]
        )
        if task not in place and all(asked.open[k] for k in unit):
            assert not fits_somewhere(snapshot, held, free, list(unit)), "it could have started"


def test_nothing_gives_way_where_there_is_room():
    """Job 1 comes first and would take node 0, the one with the least work, from job 0; node 1 is free for it."""
    inst = horizon([(0, 1, [(4, 1)]), (1, 1, [(9, 1)])], nodes=[(1,), (1,)])
    snapshot = snapshot_at(inst, 1, {0: {"start": [(0, 0)]}}, pausing="keep")
    placer = Placer(snapshot)
    assert preempt_by_priority(placer, np.array([1]), np.array([1, 0])) == []
    assert placer.starts == [(1, 1)]


def test_a_gang_without_room_for_all_leaves_no_trace_and_later_ones_pass():
    """Three tasks of a GPU on two nodes with 1 free GPU each; the single task behind takes one of them."""
    inst = horizon([(0, 1, [(4, 1), (4, 1), (4, 1)]), (1, 1, [(4, 1)])], nodes=[(1,), (1,)])
    snapshot = snapshot_at(inst, 1, {1: {"wake_at": 2}}).replace(gang=[1, 0])
    placer = Placer(snapshot)
    assert not placer.start(0)
    assert (placer.starts, placer.free.tolist(), placer.open.all()) == ([], [[1], [1]], True)
    placer.start_in_order(by_job(snapshot))
    assert placer.starts == [(3, 0)]
    strict = Placer(snapshot)
    strict.start_in_order(by_job(snapshot), strict=True)
    assert strict.starts == []


def test_gangs_that_ask_for_as_much_are_not_tried_after_one_found_no_room():
    """Two tasks of 2 GPUs do not fit nodes with 3 and 1 free; one of 3 x 2 GPUs is above all that is free."""
    jobs = [(0, 1, [(4, 2)] * n) for n in (2, 3, 2, 1)]
    snapshot = snapshot_at(horizon(jobs, nodes=[(3,), (1,)]), 0, {0: {"wake_at": 1}}).replace(gang=[1, 1, 1, 1])
    placer = Placer(snapshot)
    tried = []
    start = placer.start
    placer.start = lambda task: (tried.append(int(snapshot.task_job[task])), start(task))[1]
    placer.start_in_order(by_job(snapshot))
    assert tried == [0, 3]
    assert placer.starts == [(7, 0)]


def test_shares_start_gangs_whole_and_count_every_task():
    jobs = [(0, 1, [(4, 1)] * 2), (0, 1, [(4, 1)] * 2)]
    snapshot = snapshot_at(horizon(jobs, nodes=[(3,)]), 0, {0: {"wake_at": 1}}).replace(gang=[1, 0])
    placer, counts = Placer(snapshot), np.zeros(2)

    def taken(task):
        counts[snapshot.task_job[task]] += 1

    start_by_share(placer, lambda jobs: counts[jobs], taken)
    assert counts.tolist() == [2, 1]
