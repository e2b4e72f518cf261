"""A bound that the statement of the task-graph problem gives without a search."""

from __future__ import annotations

from mlsched.instances.taskgraph.instance import Instance


def trivial_bound(instance: Instance, objective: str) -> int:
    """The runs of each task follow one another; beyond that, every job has the cluster to itself and all its wishes."""
    if objective in ("deadlines_met", "accuracy_met"):
        return len(instance.arrival)
    if objective == "traffic":
        return 0
    if objective == "total_accuracy":
        return sum(max(row[: most + 1]) for row, most in _accuracies(instance))
    ends, arrivals = _earliest_ends(instance), [int(a) for a in instance.arrival]
    if objective == "makespan":
        return max(ends, default=0) - min(arrivals, default=0)
    return sum(ends) - sum(arrivals)


def _accuracies(instance: Instance) -> list[tuple[list[int], int]]:
    return list(zip(instance.accuracy.tolist(), instance.max_iterations.tolist(), strict=True))


def _earliest_ends(instance: Instance) -> list[int]:
    """No plan completes a job earlier: its iterations that must run begin now or when it arrives, one after another.

    A run that is under way has begun already; it is left out, and so is the iteration that it belongs to.
    """
    under_way = {int(instance.task_job[k]) for k in instance.fixed_task.tolist()}
    ends = [int(a) for a in instance.arrival]
    must = (instance.min_iterations - instance.finished).tolist()
    for k, j in enumerate(instance.task_job.tolist()):
        if instance.finished[j]:
            ends[j] = max(ends[j], int(instance.last_end[k]))
        runs = must[j] - (j in under_way)
        if runs > 0:
            ready = max(int(instance.arrival[j]), instance.now)
            ends[j] = max(ends[j], ready + runs * int(instance.duration[k]))
    return ends
