"""Clusters made for a log: for a load, or by the log's own peak.

A peak is the largest use at one moment, over all nodes and, if the log names nodes, on each of them.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.instances.traces import Nodes
from mlsched.simulation.nodes import MOST_NODES, RESOURCES, amount
from mlsched.simulation.taskgraph.iterations.asked import Asked
from mlsched.simulation.taskgraph.iterations.lint import held
from mlsched.simulation.taskgraph.iterations.workload import Jobs

#: GPUs (or CPUs) of a node, if the log's jobs do not need more on one.
A_NODE = 8
#: Load of a cluster for a log without run times.
LOAD = 0.8
_GPU = RESOURCES.index("gpu_milli")


def for_load(asked: Asked, arrival: IntArray, ticks: FloatArray, load: float) -> tuple[IntArray, str]:
    """Return equal nodes (nodes, RESOURCES) for a load while jobs arrive, and a sentence on them.

    The load is the mean use until the last arrival over the capacity, if each job started at its arrival. Logs whose
    jobs all arrive at once have it over the time of the longest job.
    """
    span = float(arrival[-1] - arrival[0]) if len(arrival) else 0.0
    within = np.minimum(ticks, arrival[-1] - arrival) if span else ticks
    work = float((asked.of_jobs[:, asked.counted] * within).sum()) / 1000
    if not asked.of_jobs[:, asked.counted].any():
        raise InvalidInput("the log: jobs use 0 GPUs and CPUs, so nodes cannot be counted; give a cluster")
    largest = -(-int(asked.of_jobs[:, asked.counted].max()) // (1000 * A_NODE))
    count = max(largest, round(work / ((span or float(ticks.max())) * load * A_NODE)))
    how = f"no cluster given: nodes made for a load of {load:g}"
    return equal_nodes(asked, count, A_NODE), how + (", and the largest job" if count == largest else "")


def equal_nodes(asked: Asked, count: int, size: int) -> IntArray:
    """Return nodes of `size` GPUs (or CPUs), with enough other resources for any mix of jobs."""
    node = size * asked.by_gpu().max(axis=0)
    node[asked.counted] = 1000 * size
    return np.repeat([node], count, axis=0)


def by_peak(jobs: Jobs, asked: Asked) -> tuple[IntArray, str]:
    """Return equal nodes (nodes, RESOURCES) with room for the log's peak use, and a sentence on them.

    `jobs` is the workload of the log on any nodes on which each of its jobs fits.
    """
    column = jobs.resources.index(RESOURCES[asked.counted])
    most = _peak_use(np.zeros(len(jobs.logged_job), dtype=np.int64), jobs, held(jobs), 1)[0]
    tasks = -(-jobs.demand[:, column] // 1000)
    size = max(min(A_NODE, -(-int(most[column]) // 1000)), int(tasks.max()))
    tasks_per_node = size // np.maximum(np.maximum.reduceat(tasks, [first for first, _ in jobs.tasks]), 1)
    nodes_of_gangs = [-(-(end - first) // int(n)) for (first, end), n in zip(jobs.tasks, tasks_per_node, strict=True)]
    count = max(-(-int(most[column]) // (1000 * size)), *nodes_of_gangs)
    nodes = equal_nodes(asked, count, size)
    for r, name in enumerate(jobs.resources):
        resource = RESOURCES.index(name)
        nodes[:, resource] = np.maximum(nodes[:, resource], -(-int(most[r]) // count))
    return nodes, f"no cluster given: sized by the log's own peak, {amount(int(most[column]), jobs.resources[column])}"


def by_names(jobs: Jobs) -> tuple[Nodes, str] | None:
    """Return the nodes that the log names, each as large as its own peak, and a sentence; None if it names too few.

    A run without logged GPUs per node has equal shares, rounded up.
    """
    runs = len(jobs.logged_job)
    has_name = jobs.place_name >= 0
    count = len(jobs.place_names)
    if not has_name.all() or len(np.unique(jobs.place_run)) < runs or not 0 < count <= MOST_NODES:
        return None
    amounts, of_run = held(jobs), np.bincount(jobs.place_run, minlength=runs)
    shares = -(-amounts[jobs.place_run] // of_run[jobs.place_run][:, None])
    if "gpu_milli" in jobs.resources:
        gpu = jobs.resources.index("gpu_milli")
        shares[:, gpu] = np.where(jobs.place_gpus < 0, -(-shares[:, gpu] // 1000) * 1000, jobs.place_gpus)
    peaks = np.zeros((count, len(RESOURCES)), dtype=np.int64)
    peaks[:, [RESOURCES.index(name) for name in jobs.resources]] = _peak_use(
        jobs.place_name, jobs, shares, count, jobs.place_run
    )
    peaks[:, _GPU] = -(-peaks[:, _GPU] // 1000)
    nodes = Nodes(
        ids=jobs.place_names,
        cpu_milli=peaks[:, 0],
        memory_mib=peaks[:, 1],
        gpus=peaks[:, _GPU],
        model=("",) * count,
        source="the log's own peak",
    )
    return nodes, f"no cluster given: the {count} nodes that the log names, each as large as its own peak"


def enlarged(jobs: Jobs) -> Jobs:
    """Return the workload on nodes with room for the log's own run: shares of tasks are rounded up."""
    most = _peak_use(np.zeros(len(jobs.logged_job), dtype=np.int64), jobs, held(jobs), 1)[0]
    lacking = np.maximum(most - jobs.node_capacity.sum(axis=0), 0)
    if not lacking.any():
        return jobs
    return jobs.replace(node_capacity=jobs.node_capacity + -(-lacking // len(jobs.node_capacity)))


def _peak_use(where: IntArray, jobs: Jobs, amounts: IntArray, places: int, runs: IntArray | None = None) -> IntArray:
    """Return the peak use, shape (places, resources); `runs` has the logged run of each amount."""
    start = jobs.logged_start if runs is None else jobs.logged_start[runs]
    end = jobs.logged_end if runs is None else jobs.logged_end[runs]
    peaks = np.zeros((places, amounts.shape[1]), dtype=np.int64)
    at, times = np.concatenate([where, where]), np.concatenate([end, start])
    for r in range(amounts.shape[1]):
        change = np.concatenate([-amounts[:, r], amounts[:, r]])
        order = np.lexsort((change, times, at))  # at one moment, ends come first; the sum at each place returns to 0
        np.maximum.at(peaks[:, r], at[order], np.cumsum(change[order]))
    return peaks
