"""Fastest type first: the shortest job comes first, and takes the type of nodes on which it is fastest and finds room.

On machines of which each is faster by the same factor for every job, the shortest job on the fastest machine first is
optimal for the total completion time of jobs that come together (Horvath, Lam and Sethi, J. ACM 24(1), 1977). Here jobs
gain by different factors, and come over time: it is a list rule. A job counts by what is left of it where it is
fastest. It sees rates (`information="profiled"`); where all nodes are alike, it is `srpt`, or `best-effort-fifo`.

With `preempt`, the cluster is filled anew at every round as by `srpt`. Where jobs may move, one that runs then goes
over to a faster type with room if what it saves there is more than the pause costs.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.measures import (
    by_job,
    remaining_ticks,
    remaining_time,
    share_units,
    sum_per_job,
    tasks_of,
)
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import prices_of_pauses, refuse_unless_pausing, serve, world_of_preempting
from mlsched.heuristics.taskgraph.types import WHOLE, fastest, least_slowness, slowness_on
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING


@solver(
    "fastest-first",
    problem="taskgraph",
    called="online",
    information="profiled",
    world=world_of_preempting,
    objectives=("total_jct",),
    paper="Horvath, Lam and Sethi, J. ACM 1977",
)
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    order: Literal["shortest", "arrival"] = "shortest",
    size: Literal["work", "time"] = "work",
    preempt: bool = False,
    stop: str = "most",
    nodes: str = "auto",
) -> Round:
    """Start ready jobs in order, each on the type of nodes on which it is fastest of those with room for it.

    order: "shortest" - the least left where it is fastest; "arrival" - those behind may pass what finds no room. size,
    preempt: as for srpt. stop, nodes: as for fifo.
    """
    placer = Placer(snapshot, stop, nodes, rates=True)
    units, least = share_units(snapshot), least_slowness(snapshot)
    if order == "arrival":
        left = np.zeros_like(snapshot.arrival)
    elif size == "work":
        left = _scaled(sum_per_job(snapshot, remaining_ticks(snapshot, placer.stop_after) * units), least)
    else:
        left = _scaled(remaining_time(snapshot, placer.stop_after), least)
    if not preempt:
        placer.start_in_order(by_job(snapshot, left))
        return placer.round()
    refuse_unless_pausing(snapshot, "fastest-first: preempt = true")
    price = prices_of_pauses(snapshot)
    if order == "shortest":
        left = left + price * (sum_per_job(snapshot, units) if size == "work" else 1)
    pauses = serve(placer, left)
    if placer.types is not None and snapshot.movement == "anytime" and not placer.gpus:
        _go_over(placer, np.argsort(left, kind="stable"), set(pauses))
        placer.start_in_order(by_job(snapshot, left))  # on what they have left
    return placer.round(pauses)


def _scaled(ticks: IntArray, slowness: IntArray) -> IntArray:
    """Ticks where jobs take so many ppm of them; rounded, since they only order jobs."""
    return np.asarray(np.rint(ticks * (slowness / WHOLE)).astype(np.int64))


def _go_over(placer: Placer, jobs: IntArray, pausing: set[int]) -> None:
    """Running jobs, in this order, move to faster types with room where that pays."""
    snapshot, types = placer.snapshot, placer.types
    assert types is not None, "nodes are of several types"
    placer.spare = placer.free
    left = remaining_time(snapshot, placer.stop_after)
    moved = {task for task, _ in placer.moves}
    for job in jobs.tolist():
        first, end = tasks_of(snapshot, job)
        own = range(first, end)
        if not (snapshot.state[first:end] == RUNNING).all() or not pausing.isdisjoint(own) or not moved.isdisjoint(own):
            continue
        now = slowness_on(snapshot, first, int(snapshot.node_type[snapshot.node[first]]))
        worth = WHOLE * int(snapshot.pause_cost[job])
        better = [
            m for m in fastest(snapshot, first) if int(left[job]) * (now - slowness_on(snapshot, first, m)) > worth
        ]
        if not better:
            continue
        types.only[job] = better
        placer.open[first:end] = True
        if placer.start(first):
            np.add.at(placer.free, snapshot.node[first:end], placer.held[first:end])
        placer.open[first:end] = False
