"""Placement of a gang: either all of its tasks start or none.

The tasks are placed one after another, in their order. If one of them does not fit, they are tried the largest first.
If that fails too, an exact search with a limit of work follows (`_packing`). So a gang that fits an empty cluster
starts on it. If one of its tasks fits nowhere even by itself, all of this is skipped. Gangs that are to be packed
(`Placer.packed`) first look for as few nodes as possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.fields import BoolArray, IntArray
from mlsched.heuristics.taskgraph.measures import tasks_of
from mlsched.heuristics.taskgraph.packing import packing

if TYPE_CHECKING:
    from mlsched.heuristics.taskgraph.place import Placer


def start(placer: Placer, first: int, end: int) -> bool:
    """Start the gang of these tasks; return False without room."""
    members = range(first, end)
    if not placer.open[first:end].all() or (placer.gpus and not placer.gpus.may_hold(members)):
        return False
    if _stuck(placer, first, end) >= 0:
        return False
    if placer.packed[placer.snapshot.task_job[first]] and _on_few_nodes(placer, first, end):
        return True
    if placer.alike(first):
        return _fill_equal_tasks(placer, first, end) if placer.plain(first, end) else placer.start_in_turn(members)
    if placer.start_in_turn(members):
        return True
    size = (placer.held[first:end] / placer.largest).max(axis=1, initial=0.0)
    by_size = (first + np.argsort(-size, kind="stable")).tolist()
    return (by_size != list(members) and placer.start_in_turn(by_size)) or _start_by_search(placer, first, end)


def _stuck(placer: Placer, first: int, end: int) -> int:
    """Return a task of the gang that fits nowhere even by itself, or -1."""
    return next((task for task in range(first, end) if not placer.room(task).any()), -1)


def as_stuck(placer: Placer, task: int, others: IntArray) -> BoolArray:
    """Return for each of the others if it fails too, because a task of the failed gang fits nowhere by itself.

    All gangs fail that have a task of the same class with at least the same demand. `task`: of the failed gang.
    """
    snapshot, jobs = placer.snapshot, placer.snapshot.task_job[others]
    none = np.zeros(len(others), dtype=np.bool_)
    first, end = tasks_of(snapshot, int(snapshot.task_job[task]))
    if not snapshot.gang[snapshot.task_job[task]] or placer.types:
        return none
    stuck = _stuck(placer, first, end)
    if stuck < 0 or not placer.free_to_go(stuck, stuck + 1):
        return none
    more = (snapshot.task_class[others] == snapshot.task_class[stuck]) & (snapshot.duration[others] > 0)
    for r in np.flatnonzero(snapshot.demand[stuck]).tolist():
        more &= snapshot.demand[:, r][others] >= snapshot.demand[stuck, r]
    short = np.zeros(len(snapshot.gang), dtype=np.bool_)
    short[jobs[more & (snapshot.gang[jobs] == 1)]] = True
    return np.asarray(more | short[jobs])


def _fill_equal_tasks(placer: Placer, first: int, end: int) -> bool:
    """Start equal tasks that may use any node of their class: the fullest nodes take as many as they have room for."""
    need, count = placer.held[first], end - first
    demands = np.flatnonzero(need)
    may = placer.may(first)
    per_node = np.zeros(len(may), dtype=np.int64)
    nodes = list[int]()
    for room in [placer.spare] * (placer.spare is not placer.free) + [placer.free]:
        many = np.where(may, (np.maximum(room[:, demands], 0) // need[demands]).min(axis=1) - per_node, 0)
        order = np.argsort(placer.fullness(np.arange(len(may)), need), kind="stable")
        before = np.cumsum(many[order]) - many[order]
        more = np.clip(count - len(nodes) - before, 0, many[order])
        per_node[order] += more
        nodes += np.repeat(order, more).tolist()
    if len(nodes) < count:
        return False
    for task, node in zip(range(first, end), nodes, strict=True):
        placer.put(task, node)
    return True


def _start_by_search(placer: Placer, first: int, end: int) -> bool:
    """Start a gang at places from an exact search, if possible without preemption."""
    snapshot, gpus, tasks = placer.snapshot, placer.gpus, slice(first, end)
    may = np.array([placer.may(task) for task in range(first, end)])
    attempts: list[IntArray] = []
    for quiet in [True] * (placer.spare is not placer.free) + [False]:
        room = np.minimum(placer.free, placer.spare) if quiet else placer.free
        devices = None
        if gpus:
            devices = np.minimum(gpus.free, gpus.spare) if quiet else gpus.free
        here = [room] if devices is None else [room, devices]
        if attempts and all(map(np.array_equal, attempts, here)):
            return False  # without preemption in either case
        attempts = here
        needs = snapshot.gpu_demand[tasks].tolist() if gpus else None
        places = packing(placer.held[tasks], may, room, needs, devices, snapshot.gpu_unit if gpus else 0)
        if places is not None:
            for task, (node, gpu) in zip(range(first, end), places, strict=True):
                placer.put(task, node, gpu, quiet)
            return True
    return False


def _on_few_nodes(placer: Placer, first: int, end: int) -> bool:
    """Start a gang on as few nodes as possible: repeatedly on the node that takes most of the remaining tasks.

    Ties go to the node with the least room. For equal tasks the result is the least number of nodes.
    """
    for room in [placer.spare] * (placer.spare is not placer.free) + [placer.free]:
        nodes = _few_nodes(placer, first, end, room.copy(), room is not placer.free)
        if len(nodes) == end - first:
            for task, node in zip(range(first, end), nodes, strict=True):
                placer.put(task, node)
            return True
    return False


def _few_nodes(placer: Placer, first: int, end: int, left: IntArray, quiet: bool) -> list[int]:
    """Return the nodes of the tasks from `first` to `end`, one after another, as far as there is room.

    Args:
        placer: Tasks and nodes.
        first, end: Tasks.
        left: Free amounts, shape (nodes, resources), reduced in place.
        quiet: Use only GPUs without preemption of a job.
    """
    nodes = list[int]()
    while len(nodes) < end - first:
        tasks = range(first + len(nodes), end)
        may = np.array([placer.may(task) for task in tasks])
        fits = may & (np.cumsum(placer.held[tasks], axis=0)[:, None, :] <= left).all(axis=2)
        # Tasks that fit on each node together, in order, up to the first that does not.
        many = np.logical_and.accumulate(fits, axis=0).sum(axis=0)
        if placer.gpus:  # used nodes are not tried again
            few = [placer.gpus.many(tasks, n, quiet) for n in range(len(left))]
            many = np.where(np.isin(np.arange(len(left)), nodes), 0, np.minimum(many, few))
        if not many.max(initial=0):
            break
        node = int(np.lexsort(((left / placer.largest).sum(axis=1), -many))[0])
        left[node] -= placer.held[first + len(nodes) : first + len(nodes) + many[node]].sum(axis=0)
        nodes += [node] * int(many[node])
    return nodes
