"""Least demand of the jobs of a workload of the iteration engine, for lower bounds."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.gpus import gpu_column
from mlsched.simulation.bound import Pieces, lower_bounds, with_halves
from mlsched.simulation.bound.pieces import Kinds
from mlsched.simulation.taskgraph.bound import chains, edges_into
from mlsched.simulation.taskgraph.iterations.fits import oversize_on
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


def bound(workload: Jobs, pausing: bool = True) -> dict[str, int]:
    """Return lower bounds on the total_jct and the makespan of every run of a workload; `pausing`: jobs may pause."""
    return lower_bounds(pieces(workload), pausing=pausing)


def pieces(workload: Jobs) -> Pieces:
    """Return one piece per job: while it makes progress, all of its tasks use their demand.

    It runs for its least iterations at the pace of its longest chain of durations, as if all of its tasks were on one
    node. Pauses and moves, delays between nodes, lost parts of iterations and usage above capacity only make it longer.
    A task occupies its full demand even if it uses less. Tasks that only some nodes may run (partitions, types) also
    use these nodes' own capacity. A job makes progress in integer ticks: all its segments begin and end at ticks.
    """
    jobs = workload
    demands = jobs.demand * (jobs.duration > 0)[:, None]
    demand, capacity = with_halves(demands, jobs.node_capacity, gpu_column(jobs.resources), jobs.gpu_unit)
    narrow, there = _node_set_columns(jobs, demands)
    demand, capacity = np.hstack([demand, narrow]), np.append(capacity, there)
    job_demand = np.zeros((len(jobs.gang), demand.shape[1]), dtype=np.int64)
    np.add.at(job_demand, jobs.task_template, demand)
    length = _least_lengths(jobs)
    count = len(jobs.arrival)
    return Pieces(
        arrival=jobs.arrival,
        running=length,
        capacity=capacity,
        job=np.arange(count),
        release=jobs.arrival,
        length=length,
        demand=job_demand[jobs.template],
        after=np.zeros(count, dtype=np.int64),
        weight=np.ones(count),
        kinds=_kinds_by_type(jobs, demands, narrow, there) if jobs.slowness.size else None,
    )


def _kinds_by_type(jobs: Jobs, demands: IntArray, narrow: IntArray, there: IntArray) -> Kinds:
    """Return the jobs on each type of node with room for them.

    Args:
        jobs: Workload.
        demands: Demands.
        narrow, there: Columns that count on all types alike.
    """
    ticks = np.full((jobs.slowness.shape[1], len(jobs.arrival)), np.inf)
    stated = (_critical_paths(jobs)[jobs.template] * jobs.scale).tolist()
    rounds, blocks, room = jobs.min_iterations.tolist(), list[IntArray](), list[IntArray]()
    for m, nodes in enumerate(jobs.one_type):
        columns, capacity = with_halves(
            demands, jobs.node_capacity[nodes], gpu_column(jobs.resources) if jobs.gpu_unit else -1, jobs.gpu_unit
        )
        job_demand = np.zeros((len(jobs.gang), columns.shape[1]), dtype=np.int64)
        np.add.at(job_demand, jobs.task_template, columns)
        blocks.append(job_demand[jobs.template])
        room.append(capacity)
        able = np.array([not oversize_on(jobs, template, nodes) for template in range(len(jobs.gang))])
        factor = jobs.slowness[jobs.class_of, m][jobs.template].tolist()
        for job in np.flatnonzero(able[jobs.template]).tolist():
            ticks[m, job] = rounds[job] * max(stated[job] * factor[job] // WHOLE, 1) / WHOLE
    job_demand = np.zeros((len(jobs.gang), narrow.shape[1]), dtype=np.int64)
    np.add.at(job_demand, jobs.task_template, narrow)
    widths = [block.shape[1] for block in blocks]
    demand = np.zeros((len(blocks), len(jobs.arrival), sum(widths) + len(there)), dtype=np.int64)
    for m, block in enumerate(blocks):
        demand[m, :, sum(widths[:m]) : sum(widths[: m + 1])] = block
        demand[m, :, sum(widths) :] = job_demand[jobs.template]
    capacity = np.concatenate([*room, there])
    columns_kept = demand.any(axis=(0, 1))
    return Kinds(ticks, demand[:, :, columns_kept], capacity[columns_kept])


#: Largest number of sets of nodes whose unions are also considered.
MOST_SETS = 4


def _node_set_columns(jobs: Jobs, demands: IntArray) -> tuple[IntArray, IntArray]:
    """Return demand and capacity columns for sets of nodes: tasks that only run there, and the nodes' capacity.

    The sets are those of the existing classes of tasks, and their unions. If tasks can move at any time and be divided
    arbitrarily, other sets give no tighter bound (max-flow min-cut).
    """
    used_classes = np.unique(jobs.task_class[np.isin(jobs.task_template, jobs.template)])
    sets = np.unique(jobs.eligible[used_classes] > 0, axis=0)
    if 1 < len(sets) <= MOST_SETS:
        unions = [[k for k in range(len(sets)) if number >> k & 1] for number in range(1, 1 << len(sets))]
        sets = np.unique([sets[rows].any(axis=0) for rows in unions], axis=0)
    may = jobs.eligible[jobs.task_class] > 0
    columns, there = [np.zeros((len(demands), 0), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for nodes in sets[~sets.all(axis=1)]:
        inside = ~(may & ~nodes).any(axis=1)
        columns.append(demands * inside[:, None])
        there.append(jobs.node_capacity[nodes].sum(axis=0))
    return np.hstack(columns), np.concatenate(there)


def iterations_in_time(workload: Jobs) -> IntArray:
    """Return the most iterations that each job could finish by its deadline, alone on the cluster, shape (jobs,).

    At most its most iterations. A job starts at its arrival, at the pace of `pieces`.
    """
    jobs, cycle = workload, _least_cycles(workload)
    time = np.clip(jobs.deadline - jobs.arrival, 0, -(-jobs.max_iterations * cycle // WHOLE))
    return np.asarray(np.minimum(time * WHOLE // cycle, jobs.max_iterations))


def _least_lengths(jobs: Jobs) -> IntArray:
    """Return the least ticks of each job."""
    return np.asarray(-(-(jobs.min_iterations * _least_cycles(jobs)) // WHOLE))


def _least_cycles(jobs: Jobs) -> IntArray:
    """Return the least 10^-6 ticks of an iteration of each job; with several types of nodes, on its fastest type."""
    stated = _critical_paths(jobs)[jobs.template] * jobs.scale
    if jobs.slowness.size:  # in Python integers, since products may exceed 64 bits
        least = np.rint(jobs.fastest * WHOLE).astype(np.int64).tolist()
        stated = np.array([a * b // WHOLE for a, b in zip(stated.tolist(), least, strict=True)], dtype=np.int64)
    return np.asarray(np.maximum(stated, 1))


def _critical_paths(jobs: Jobs) -> IntArray:
    """Return the ticks of the longest chain of durations of each template, for a scale of 10^6."""
    into, durations = edges_into(jobs), jobs.duration.tolist()
    longest = [chains(range(*span), into, durations, 1) for span in jobs.tasks]
    return np.array([max(ends[-1].values(), default=0) for ends in longest], dtype=np.int64)
