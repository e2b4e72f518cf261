"""Bounds that the statement of the task-graph problem gives without a search.

The runs of each task follow one another; beyond that, every job has the cluster to itself and all its wishes.
"""

from __future__ import annotations

from collections.abc import Callable

from mlsched.instances.taskgraph.instance import Instance


def _total_jct(instance: Instance) -> int:
    return sum(_earliest_ends(instance)) - int(instance.arrival.sum())


def _makespan(instance: Instance) -> int:
    return max(_earliest_ends(instance), default=0) - int(min(instance.arrival, default=0))


def _total_accuracy(instance: Instance) -> int:
    accuracies = zip(instance.accuracy.tolist(), instance.max_iterations.tolist(), strict=True)
    return sum(max(row[: most + 1]) for row, most in accuracies)


def _every_job(instance: Instance) -> int:
    return len(instance.arrival)


def _earliest_ends(instance: Instance) -> list[int]:
    """Return the earliest completion of each job: mandatory runs follow its current runs at once.

    The runs of a task follow one another, and a begun iteration is finished. A job's finished runs determine its
    completion only if it has neither current runs nor successors; successors begin now, never earlier.
    """
    fixed_runs = zip(instance.fixed_task.tolist(), instance.fixed_start.tolist(), strict=True)
    under_way = {k: start + int(instance.duration[k]) for k, start in fixed_runs}
    active_jobs = {int(instance.task_job[k]) for k in under_way}
    ends = [int(a) for a in instance.arrival]
    must = (instance.min_iterations - instance.finished).tolist()
    for k, j in enumerate(instance.task_job.tolist()):
        ready = max(int(instance.arrival[j]), instance.now, under_way.get(k, 0))
        if k in under_way:
            ends[j] = max(ends[j], under_way[k])
        elif instance.finished[j] and j not in active_jobs:
            ends[j] = max(ends[j], int(instance.last_end[k]))
        runs = max(must[j], j in active_jobs) - (k in under_way)
        if runs > 0:
            ends[j] = max(ends[j], ready + runs * int(instance.duration[k]))
    return ends


TRIVIAL_BOUNDS: dict[str, Callable[[Instance], int]] = {
    "total_jct": _total_jct,
    "deadlines_met": _every_job,
    "traffic": lambda instance: 0,
    "accuracy_met": _every_job,
    "total_accuracy": _total_accuracy,
    "makespan": _makespan,
}
