"""Shortest remaining processing time: the job with the least estimated work left comes first. Also named `srtf`.

SRPT is defined for one machine, where it may interrupt at any time and is optimal for the total completion time
(Schrage, Operations Research 16(3), 1968). Here jobs are graphs on many nodes: what is left is estimated work or the
longest chain, what does not fit is passed by, and runs are interrupted only with `preempt`. The optimality carries over
to jobs that need the whole of one node, with `preempt` and true estimates.

With `preempt`, the cluster is filled anew at every round in order of what is left, and what no longer fits pauses, a
gang whole. In the source a pause costs nothing. Where it has a price c (`Snapshot.pause_cost`), of two jobs for one
place the one that runs, with r left, should be preempted by one with w left only if w + c < r, or w + 2 c < r if that
has to go on after a pause itself: so c counts for what runs, and against what would go on (`hysteresis`). Between two
rounds what is left of a running job shrinks and of a waiting one does not: nobody has to be preempted before the next
event. Within an iteration of a graph with edges, all of its tasks are taken to have been worked on for as long as the
iteration runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Literal

import numpy as np

from mlsched.core.params import NotNegative
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import _order
from mlsched.heuristics.taskgraph._order import Job, Order
from mlsched.heuristics.taskgraph.preemption import world_of_preempting
from mlsched.instances.taskgraph import Round, Snapshot


def order(
    *, size: str = "work", preempt: bool = False, hysteresis: float = 1.0, stop: str = "most", nodes: str = "auto"
) -> Order:
    """Return the order of what is left of jobs."""

    def area(job: Job) -> int:
        return job.remaining * job.share_units

    left: Callable[[Job], int]
    left = area if size == "area" else operator.attrgetter("remaining" if size == "time" else "remaining_work")

    def with_prices(job: Job) -> int:
        """Ticks by which a job comes sooner because it runs, or later because it would continue after a pause."""
        runs = job.runs
        if not runs and job.first_start < 0:
            return left(job)
        price = round(hysteresis * job.pause_cost) * (1 if size == "time" else job.share_units)
        return left(job) - price if runs else left(job) + price

    if not preempt:
        return Order(left, stop=stop, nodes=nodes)
    return Order(with_prices, preempts=True, must_pause="srpt: preempt = true", falls=True, stop=stop, nodes=nodes)


@solver(
    "srtf",
    problem="taskgraph",
    called="online",
    order=order,
    world=world_of_preempting,
    objectives=("total_jct",),
    paper="Schrage 1968",
)
@solver(
    "srpt",
    problem="taskgraph",
    called="online",
    order=order,
    world=world_of_preempting,
    warm_start=True,
    objectives=("total_jct",),
    paper="Schrage 1968",
)
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    size: Literal["work", "time", "area"] = "work",
    preempt: bool = False,
    hysteresis: NotNegative = 1.0,
    stop: str = "most",
    nodes: str = "auto",
) -> Round:
    """Start ready tasks in order of the work that remains of their jobs; with `preempt`, they preempt what comes later.

    size: "work" - ticks x dominant share of the cluster, over all runs left; "time" - ticks of the runs left on the
    longest chain of the graph; "area" - these x the dominant shares of all tasks: what a gang takes from the others, as
    its tasks hold their places while they wait for each other. preempt: needs a world with pausing = "keep", and asks
    for one. hysteresis: with `preempt`, so many prices of a pause weigh for a job that runs, and against one that would
    go on. stop, nodes: as for fifo.
    """
    rule = order(size=size, preempt=preempt, hysteresis=hysteresis, stop=stop, nodes=nodes)
    return _order.answer(snapshot, rule)
