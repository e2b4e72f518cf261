"""Fit of a workload on its cluster: of each job, of tasks on the free resources, and of all jobs over time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import shorten
from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import gpus
from mlsched.simulation.nodes import amount, called
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


def never_start(jobs: Jobs) -> list[str]:
    """List the jobs that can never start, with the numbers; empty if all may."""
    reasons = []
    for template in np.unique(jobs.template).tolist():
        reason = oversize(jobs, template)
        if reason:
            those = np.flatnonzero(jobs.template == template)
            name = f", {jobs.job_names[those[0]]!r} of the log" if jobs.job_names else ""
            reasons.append(f"{len(those)} of {len(jobs.arrival)} jobs {reason}; the first is job {those[0]}{name}")
    return reasons


def oversize(jobs: Jobs, template: int) -> str:
    """Explain why jobs of a template can never start; empty if they may.

    All tasks of a gang use their nodes at the same time. Equal tasks must fit together, and all tasks must fit by each
    resource separately; with several types of nodes, on nodes of one type.
    """
    reasons = [oversize_on(jobs, template, nodes) for nodes in jobs.one_type]
    return "" if "" in reasons else reasons[0]


def oversize_on(jobs: Jobs, template: int, nodes: npt.NDArray[np.bool_]) -> str:
    """Apply `oversize` to some of the nodes."""
    first, end = jobs.tasks[template]
    rows = np.column_stack(
        [jobs.task_class[first:end], jobs.demand[first:end] * (jobs.duration[first:end] > 0)[:, None]]
    )
    kinds, count = np.unique(rows, axis=0, return_counts=True)
    for kind, many in zip(kinds, count.tolist(), strict=True):
        able = np.flatnonzero((jobs.eligible[kind[0]] > 0) & nodes)
        if room(jobs.node_capacity[able], gpus.empty(jobs)[able], jobs, kind[1:], many) < many:
            need = ", ".join(map(amount, kind[1:].tolist(), jobs.resources))
            return f"ask for {many} task{'s' * (many != 1)} of {need} at once and never fit the nodes that may run them"
    for demand, capacity, name in zip(kinds[:, 1:].T, jobs.node_capacity[nodes].T, jobs.resources, strict=True):
        # Counted in parts of any task's demand, rounded down, the tasks on a node are within its capacity.
        for part in {1, *demand[demand > 0].tolist()}:
            if (demand // part * count).sum() > (capacity // part).sum():
                asked_values = sorted(zip(demand.tolist(), count.tolist(), strict=True))
                sizes = " and ".join(f"{many} of {amount(size, name)}" for size, many in asked_values)
                return f"ask for tasks all at once, {shorten(sizes, 60)}, and never fit the nodes together"
    return ""


def room(free: IntArray, gpu_free: IntArray, jobs: Jobs, demand: IntArray, enough: int) -> int:
    """Return the number of tasks of a demand that fit these nodes together; `enough` for zero demand.

    Args:
        free: Free amounts, shape (nodes, resources).
        gpu_free: Free amounts of individual GPUs, shape (nodes, GPUs).
        jobs: Workload.
        demand: Demand of one task.
        enough: Largest number of interest.
    """
    needs = demand.nonzero()[0].tolist()
    if not needs:
        return enough if len(free) else 0
    many = free[:, needs[0]] // demand[needs[0]]
    for r in needs[1:]:
        many = np.minimum(many, free[:, r] // demand[r])
    many = np.maximum(many, 0)
    if jobs.gpu_unit and (need := int(demand[gpus.gpu_column(jobs.resources)])):
        many = np.minimum(many, gpus.fitting(gpu_free, need, jobs.gpu_unit))
    return int(many.sum())


def overload(jobs: Jobs) -> list[str]:
    """List the resources with more demand than capacity while jobs arrive, with the numbers."""
    span = float(np.ptp(jobs.arrival)) if len(jobs.arrival) else 0.0
    length = np.zeros(len(jobs.gang))
    np.maximum.at(length, jobs.task_template, jobs.duration)
    use = np.zeros((len(jobs.gang), len(jobs.resources)))
    np.add.at(use, jobs.task_template, jobs.demand)
    ticks = length[jobs.template] * (jobs.scale / WHOLE) * jobs.max_iterations * jobs.fastest
    within = np.minimum(ticks, jobs.arrival[-1] - jobs.arrival) if span else ticks  # the rest cannot be done by then
    work = (use[jobs.template] * within[:, None]).sum(axis=0)
    overloaded = []
    for name, load, there in zip(jobs.resources, work, jobs.node_capacity.sum(axis=0), strict=True):
        backlog = load / there - span if there else 0.0
        if span and backlog > LONG_QUEUE * ticks.mean():
            overloaded.append(
                f"the offered load on {called(name)} is {load / (there * span):.2f} times the cluster's capacity: "
                f"at the last arrival some {backlog:.0f} ticks of work wait"
            )
    return overloaded


#: Warn if the queue at the last arrival exceeds this many mean job lengths; a burst stays below.
LONG_QUEUE = 5
