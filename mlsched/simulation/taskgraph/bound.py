"""Least demand of the jobs of a workload of the task engine, for lower bounds."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from mlsched.simulation.bound import Pieces, lower_bounds, with_halves
from mlsched.simulation.taskgraph.workload import Workload

if TYPE_CHECKING:
    from mlsched.instances.taskgraph import Instance
    from mlsched.simulation.taskgraph.iterations.workload import Jobs

#: Task -> (other task, lag) of each edge.
Edges = dict[int, list[tuple[int, int]]]


def bound(workload: Workload, pausing: bool = True) -> dict[str, int]:
    """Return lower bounds on the total_jct and the makespan of every run and every Timetable of a workload.

    Args:
        workload: Jobs and their cluster.
        pausing: Tasks may be interrupted.
    """
    return lower_bounds(pieces(workload), pausing=pausing)


def pieces(workload: Workload) -> Pieces:
    """Return one piece per run of a task, for every job's least iterations and with the true durations.

    A run starts at the earliest after the longest chain of durations up to it, and the job ends at the earliest after
    the longest chain behind it. Chains follow edges, and lead from each run of a task to its next. Delays between
    nodes, pauses and moves only delay it. A job's completion time is charged to its runs in proportion to their share
    of the cluster (the largest over the resources) times their duration; to its end only if the runs use zero
    resources.
    """
    horizon = workload.horizon
    durations, iterations = workload.true_duration.tolist(), horizon.min_iterations.tolist()
    demand, capacity = with_halves(horizon.demand, horizon.node_capacity)
    share = (horizon.demand / np.maximum(horizon.node_capacity.sum(axis=0), 1)).max(axis=1, initial=0)
    into, out = edges_into(horizon), edges_into(horizon, backwards=True)
    ends = np.searchsorted(horizon.task_job, np.arange(len(horizon.arrival) + 1)).tolist()
    running, weights = [], []
    runs: list[tuple[int, int, int, int]] = []  # job, task (-1: without), earliest start, least time after its end
    for job, rounds in enumerate(iterations):
        tasks = range(ends[job], ends[job + 1])
        before, after = chains(tasks, into, durations, rounds), chains(tasks, out, durations, rounds)
        running.append(max((max(done_values.values(), default=0) for done_values in before), default=0))
        whole = rounds * sum(share[task] * durations[task] for task in tasks)
        if not whole:
            runs.append((job, -1, 0, running[-1]))
            weights.append(1.0)
        for i in range(rounds if whole else 0):
            for task in tasks:
                took = durations[task]
                runs.append((job, task, before[i][task] - took, after[rounds - 1 - i][task] - took))
                weights.append(share[task] * took / whole)
    job_of, task_of, start, later = np.array(runs, dtype=np.int64).reshape(-1, 4).T
    return Pieces(
        arrival=horizon.arrival,
        running=np.array(running, dtype=np.int64),
        capacity=capacity,
        job=job_of,
        release=horizon.arrival[job_of] + start,
        length=np.append(workload.true_duration, 0)[task_of],  # the last entry is for pieces without a task
        demand=np.vstack([demand, np.zeros_like(capacity)])[task_of],
        after=later,
        weight=np.array(weights),
    )


def edges_into(asked: Instance | Jobs, *, backwards: bool = False) -> Edges:
    """Return the edges into each task; with `backwards`, the edges out of each task."""
    into: Edges = {}
    for u, v, lag in zip(asked.edge_from.tolist(), asked.edge_to.tolist(), asked.edge_lag.tolist(), strict=True):
        near, far = (u, v) if backwards else (v, u)
        into.setdefault(near, []).append((far, lag))
    return into


def chains(tasks: Iterable[int], into: Edges, durations: list[int], iterations: int) -> list[dict[int, int]]:
    """Return for each iteration the earliest end of each task's run: the longest chain of durations up to it.

    Chains go along edges, and from a run to the task's next. With backward edges, the result is the least time of a run
    and all its successors, for the last iteration first.
    """
    order = graphlib.TopologicalSorter({v: [u for u, lag in into.get(v, ()) if not lag] for v in tasks})
    longest: list[dict[int, int]] = []
    sequence = list(order.static_order())
    for _ in range(iterations):
        ends: dict[int, int] = {}
        for v in sequence:
            last = longest[-1] if longest else {}
            start = max([last.get(v, 0), *((last if lag else ends).get(u, 0) for u, lag in into.get(v, ()))])
            ends[v] = start + durations[v]
        longest.append(ends)
    return longest
