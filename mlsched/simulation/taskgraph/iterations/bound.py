"""What the jobs of a workload of the iteration engine ask for at least, for lower bounds."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.gpus import gpu_column
from mlsched.simulation.bound import Pieces, lower_bounds, with_halves
from mlsched.simulation.taskgraph.bound import chains, edges_into
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


def bound(workload: Jobs) -> dict[str, int]:
    """Lower bounds on the total_jct and the makespan of every run of a workload."""
    return lower_bounds(pieces(workload))


def pieces(workload: Jobs) -> Pieces:
    """A piece a job: while it makes progress, all of its tasks hold what they ask for.

    It runs for its least iterations at the pace of its longest chain of durations, as if all of its tasks were on one
    node; pauses and moves, delays between nodes, lost parts of iterations and usage above capacity only make it longer.
    What a task uses below its demand is held all the same. A job makes progress in whole ticks: all its stretches begin
    and end at ticks.
    """
    jobs = workload
    asked = jobs.demand * (jobs.duration > 0)[:, None]
    demand, capacity = with_halves(asked, jobs.node_capacity, gpu_column(jobs.resources), jobs.gpu_unit)
    held = np.zeros((len(jobs.gang), demand.shape[1]), dtype=np.int64)
    np.add.at(held, jobs.task_template, demand)
    length = -(-(jobs.min_iterations * np.maximum(_critical(jobs)[jobs.template] * jobs.scale, 1)) // WHOLE)
    count = len(jobs.arrival)
    return Pieces(
        arrival=jobs.arrival,
        running=length,
        capacity=capacity,
        job=np.arange(count),
        release=jobs.arrival,
        length=length,
        demand=held[jobs.template],
        after=np.zeros(count, dtype=np.int64),
        weight=np.ones(count),
    )


def _critical(jobs: Jobs) -> IntArray:
    """Ticks of the longest chain of durations of each template, for a scale of 10^6."""
    into, durations = edges_into(jobs), jobs.duration.tolist()
    longest = [chains(range(*span), into, durations, 1) for span in jobs.tasks]
    return np.array([max(ends[-1].values(), default=0) for ends in longest], dtype=np.int64)
