"""Fastest type first: the shortest job comes first, and takes the fastest type of nodes with room.

If each machine is faster by the same factor for every job, the shortest job on the fastest machine first is optimal
for the total completion time of jobs that arrive together (Horvath, Lam and Sethi, J. ACM 24(1), 1977). Here jobs
gain by different factors, and arrive over time, so this is a list rule. The size of a job is its remaining work on
its fastest type. The rule sees rates (`information="profiled"`). If all nodes are alike, it is `srpt`, or
`best-effort-fifo`.

With `preempt`, the cluster is filled again in every round as by `srpt`. If jobs may move, a running job moves to a
faster type with room if it saves more there than the pause costs.
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
    """Start ready jobs in order, each on its fastest type of nodes with room.

    Args:
        snapshot: Current state of the cluster.
        rng: Unused.
        order: "shortest": jobs with the least remaining work on their fastest type first. "arrival": in order of
            arrival; a job without room does not hold up later jobs.
        size: As for srpt.
        preempt: As for srpt.
        stop: As for fifo.
        nodes: As for fifo.
    """
    placer = Placer(snapshot, stop, nodes, rates=True)
    units, least = share_units(snapshot), least_slowness(snapshot)
    if order == "arrival":
        remaining = np.zeros_like(snapshot.arrival)
    elif size == "work":
        remaining = _scale_ticks(sum_per_job(snapshot, remaining_ticks(snapshot, placer.stop_after) * units), least)
    else:
        remaining = _scale_ticks(remaining_time(snapshot, placer.stop_after), least)
    if not preempt:
        placer.start_in_order(by_job(snapshot, remaining))
        return placer.round()
    refuse_unless_pausing(snapshot, "fastest-first: preempt = true")
    price = prices_of_pauses(snapshot)
    if order == "shortest":
        remaining = remaining + price * (sum_per_job(snapshot, units) if size == "work" else 1)
    pauses = serve(placer, remaining)
    if placer.types is not None and snapshot.movement == "anytime" and not placer.gpus:
        _move_to_faster_types(placer, np.argsort(remaining, kind="stable"), set(pauses))
        placer.start_in_order(by_job(snapshot, remaining))  # by their remaining work
    return placer.round(pauses)


def _scale_ticks(ticks: IntArray, slowness: IntArray) -> IntArray:
    """Scale ticks by ppm of slowness; rounded, since they only order jobs."""
    return np.asarray(np.rint(ticks * (slowness / WHOLE)).astype(np.int64))


def _move_to_faster_types(placer: Placer, jobs: IntArray, pausing: set[int]) -> None:
    """Move running jobs, in this order, to faster types with room if that pays."""
    snapshot, types = placer.snapshot, placer.types
    assert types is not None, "nodes are of several types"
    placer.spare = placer.free
    remaining = remaining_time(snapshot, placer.stop_after)
    movers = {task for task, _ in placer.moves}
    for job in jobs.tolist():
        first, end = tasks_of(snapshot, job)
        own = range(first, end)
        if (
            not (snapshot.state[first:end] == RUNNING).all()
            or not pausing.isdisjoint(own)
            or not movers.isdisjoint(own)
        ):
            continue
        now = slowness_on(snapshot, first, int(snapshot.node_type[snapshot.node[first]]))
        worth = WHOLE * int(snapshot.pause_cost[job])
        better = [
            m for m in fastest(snapshot, first) if int(remaining[job]) * (now - slowness_on(snapshot, first, m)) > worth
        ]
        if not better:
            continue
        types.only[job] = better
        placer.open[first:end] = True
        if placer.start(first):
            np.add.at(placer.free, snapshot.node[first:end], placer.held[first:end])
        placer.open[first:end] = False
