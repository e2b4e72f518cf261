"""The shape of a log's jobs: which tasks they have, a task being what a job holds on one node."""

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
    """Of each job, what each of its tasks asks for: tasks x resources.

    asked: jobs x resources, of the whole job; nodes: nodes x resources; counted: the resource by which tasks are made,
    GPUs (or CPUs), of which `unit` is one; stated: of each job the nodes that its log names, below 1: none; parts: of
    each job what its log says of each of its tasks (tasks x resources), without rows: nothing.

    shape: "anywhere" - a task per GPU. "fewest" - one task where it fits a node, else tasks of a whole node's GPUs and
    one of the remainder. Of nodes of several sizes, the largest is meant of which the empty cluster has as many as
    the job then needs; where there are too few of all, the largest. "log" - the tasks that the log states; else as many
    as it names nodes, which differ by at most one GPU; of a job of which it says neither, as "fewest".

    What a job asks for of other resources is shared among its tasks as their GPUs are, rounded up. A job that asks for
    a share of each of several GPUs has a task per GPU.
    """
    named = np.zeros(len(asked), dtype=np.int64) if stated is None or shape != "log" else stated
    there = np.sort(nodes[:, counted] // unit)[::-1]
    if shape != "log" or not len(parts):
        rows = np.column_stack([asked, np.maximum(named, 0)])
        distinct, of_job = np.unique(rows, axis=0, return_inverse=True)
        few = [_tasks(row, there, counted, shape, unit, many) for *row, many in distinct.tolist()]
        return [few[number] for number in of_job.ravel().tolist()]
    made: dict[tuple[int, ...], IntArray] = {}
    shapes_of_jobs = []
    for job, (row, many) in enumerate(zip(asked.tolist(), named.tolist(), strict=True)):
        stated_tasks = parts[job][parts[job].any(axis=1)]
        key = (*row, max(many, 0), *stated_tasks.ravel().tolist())
        if key not in made:
            made[key] = (
                stated_tasks[np.lexsort(stated_tasks.T)[::-1]]
                if len(stated_tasks)
                else _tasks(row, there, counted, shape, unit, many)
            )
        shapes_of_jobs.append(made[key])
    return shapes_of_jobs


def _tasks(row: list[int], there: IntArray, counted: int, shape: str, unit: int, many: int) -> IntArray:
    """The tasks of one job, the largest first."""
    amount = row[counted]
    count = max(-(-amount // unit), 1)
    if count == 1 or amount % unit or shape == "anywhere":
        sizes = [1] * count
    elif 1 <= many <= count:
        sizes = [count // many + (k < count % many) for k in range(many)]
    else:
        sizes = fewest(count, there)
    return np.array([[-(-value * size // count) for value in row] for size in sizes], dtype=np.int64)


def fewest(count: int, there: IntArray) -> list[int]:
    """GPUs of each task of a job of so many, on nodes that have so many (`there`, the most first)."""
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
