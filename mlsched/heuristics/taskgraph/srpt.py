"""Shortest remaining processing time: the job with the least estimated work left comes first. Also named `srtf`.

SRPT is defined for one machine, where it may interrupt at any time and is optimal for the total completion time
(Schrage, Operations Research 16(3), 1968). Here jobs are graphs on many nodes. The remaining time is estimated work
or the longest chain, jobs that do not fit are skipped, and runs are interrupted only with `preempt`. The optimality
carries over to jobs that need one complete node, with `preempt` and true estimates.

With `preempt`, the cluster is filled again in every round in order of remaining time, and jobs that no longer fit
pause, a gang as a unit. In the source a pause is free. Suppose a pause costs c (`Snapshot.pause_cost`) and two jobs
compete for one place: a running job with r left, and a waiting job with w left. The waiting job should preempt only
if w + c < r, or w + 2 c < r if it has to resume from a pause itself. So c counts for running jobs, and against paused
jobs (`hysteresis`). Between two rounds the remaining time shrinks only for running jobs, so preemption can wait for
the next event. Within an iteration of a graph with edges, all of its tasks count as executed for as long as the
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
    """Return the order of the remaining time of jobs."""

    def area(job: Job) -> int:
        return job.remaining * job.share_units

    remaining: Callable[[Job], int]
    remaining = area if size == "area" else operator.attrgetter("remaining" if size == "time" else "remaining_work")

    def with_prices(job: Job) -> int:
        """Return ticks by which a job comes sooner because it runs, or later because it would resume."""
        runs = job.runs
        if not runs and job.first_start < 0:
            return remaining(job)
        price = round(hysteresis * job.pause_cost) * (1 if size == "time" else job.share_units)
        return remaining(job) - price if runs else remaining(job) + price

    if not preempt:
        return Order(remaining, stop=stop, nodes=nodes)
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
    """Start ready tasks in order of the work that remains of their jobs; with `preempt`, they preempt later jobs.

    size: "work" - ticks x dominant share of the cluster, over all runs left; "time" - ticks of the runs left on the
    longest chain of the graph; "area" - these x the dominant shares of all tasks, which a gang takes from the others
    while its tasks wait for each other. preempt: needs a world with pausing = "keep", and selects it. hysteresis:
    with `preempt`, the number of pause costs that count for a running job, and against a job that would resume. stop,
    nodes: as for fifo.
    """
    rule = order(size=size, preempt=preempt, hysteresis=hysteresis, stop=stop, nodes=nodes)
    return _order.answer(snapshot, rule)
