"""Tasks of a log's jobs; a task is the part of a job on one node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray


def shapes(
    asked: IntArray,
    nodes: IntArray,
    counted: int,
    shape: str,
    unit: int,
    stated: IntArray | None = None,
    parts: Sequence[IntArray] = (),
) -> list[IntArray]:
    """Return the demands of each job's tasks, shape (tasks, resources).

    Other resources of a job are shared among its tasks by their GPUs, rounded up. A job that demands a share of each of
    several GPUs has one task per GPU.

    Args:
        asked: Total demand of each job, shape (jobs, resources).
        nodes: Capacities, shape (nodes, resources).
        counted: Resource by which tasks are made, GPUs (or CPUs).
        shape: "anywhere": one task per GPU. "fewest": one task if it fits a node, else tasks of all GPUs of a node and
            one of the remainder. With nodes of several sizes, the size is the largest with enough nodes in the empty
            cluster, or the largest of all if every size has too few. "log": the tasks in the log; else as many as its
            nodes, which differ by at most one GPU; without both, as "fewest".
        unit: Amount of one GPU (or CPU).
        stated: Logged number of nodes of each job, below 1: unknown.
        parts: Logged demand of each job's tasks, shape (tasks, resources), without rows: unknown.
    """
    logged_nodes = np.zeros(len(asked), dtype=np.int64) if stated is None or shape != "log" else stated
    there = np.sort(nodes[:, counted] // unit)[::-1]
    if shape != "log" or not len(parts):
        rows = np.column_stack([asked, np.maximum(logged_nodes, 0)])
        distinct, of_job = np.unique(rows, axis=0, return_inverse=True)
        few = [_tasks_of_job(row, there, counted, shape, unit, many) for *row, many in distinct.tolist()]
        return [few[number] for number in of_job.ravel().tolist()]
    cache: dict[tuple[int, ...], IntArray] = {}
    shapes_of_jobs = []
    for job, (row, many) in enumerate(zip(asked.tolist(), logged_nodes.tolist(), strict=True)):
        stated_tasks = parts[job][parts[job].any(axis=1)]
        key = (*row, max(many, 0), *stated_tasks.ravel().tolist())
        if key not in cache:
            cache[key] = (
                stated_tasks[np.lexsort(stated_tasks.T)[::-1]]
                if len(stated_tasks)
                else _tasks_of_job(row, there, counted, shape, unit, many)
            )
        shapes_of_jobs.append(cache[key])
    return shapes_of_jobs


def _tasks_of_job(row: list[int], there: IntArray, resource: int, shape: str, unit: int, many: int) -> IntArray:
    """Return the tasks of one job, the largest first.

    Args:
        row: Demand of the job.
        there: GPUs of the nodes.
        resource: Resource by which tasks are made.
        shape: The option `shape` of workloads from logs.
        unit: Amount of one GPU.
        many: Logged number of nodes.
    """
    amount = row[resource]
    count = max(-(-amount // unit), 1)
    if count == 1 or amount % unit or shape == "anywhere":
        sizes = [1] * count
    elif 1 <= many <= count:
        sizes = [count // many + (k < count % many) for k in range(many)]
    else:
        sizes = fewest(count, there)
    return np.array([[-(-value * size // count) for value in row] for size in sizes], dtype=np.int64)


def fewest(count: int, there: IntArray) -> list[int]:
    """Return the GPUs of each task of a job with `count` GPUs, on nodes with `there` GPUs (the most first)."""
    for size in np.unique(there[there > 0])[::-1].tolist():
        full, rest = divmod(count, size)
        able = there >= size
        if able.sum() >= full and (
            not rest or (np.delete(there, np.flatnonzero(able)[-full:] if full else []) >= rest).any()
        ):
            return [size] * full + [rest] * (rest > 0)
    size = max(int(there.max(initial=1)), 1)
    full, rest = divmod(count, size)
    return [size] * full + [rest] * (rest > 0)
