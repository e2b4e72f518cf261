"""GPUs inside nodes: demands in terms of GPUs, fits, and the choice of a GPU.

`gpu_unit` of an instance, a snapshot or a workload is the amount of the GPU resource per GPU; with 0, the GPUs
of a node are one pool. A demand below the unit is a fraction of one named GPU. A multiple of it is complete GPUs, which
are never shared. `free` has always shape (nodes, GPUs): the free amount of each GPU, 0 for GPUs that a node lacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, refuse_first

#: Name of a resource that counts GPUs -> its units per GPU, if the GPUs of a node are one pool.
GPU_UNITS = {"gpu": 1, "gpu_percent": 100, "gpu_milli": 1000}


def gpu_column(resources: tuple[str, ...]) -> int:
    """Return the column of the only resource that counts GPUs; -1 unless there is exactly one."""
    columns = [r for r, name in enumerate(resources) if name in GPU_UNITS]
    return columns[0] if len(columns) == 1 else -1


def check(record: Any) -> None:
    """Check a record with `gpu_unit`: one GPU resource, complete GPUs in nodes, fractions or complete GPUs in tasks."""
    unit = record.gpu_unit
    if not unit:
        return
    column = gpu_column(record.resources)
    if column < 0:
        has = ", ".join(record.resources) or "none"
        raise InvalidInput(
            f"gpu_unit = {unit}: needs exactly one resource named {' or '.join(GPU_UNITS)}, and resources = {has}; "
            "name it so, or leave gpu_unit out"
        )
    amounts = record.node_capacity[:, column]
    refuse_first(amounts % unit != 0, "node_capacity", amounts, f"expected a multiple of gpu_unit ({unit})")
    need = record.demand[:, column]
    refuse_first(
        (need > unit) & (need % unit != 0), "demand", need, f"expected at most gpu_unit ({unit}) or a multiple of it"
    )


def counts(record: Any) -> IntArray:
    """Return the number of GPUs of each node, shape (nodes,); 0 if the GPUs of a node are one pool."""
    if not record.gpu_unit:
        return np.zeros(len(record.node_capacity), dtype=np.int64)
    return np.asarray(record.node_capacity[:, gpu_column(record.resources)] // record.gpu_unit)


def empty(record: Any) -> IntArray:
    """Return `free` of an empty cluster, shape (nodes, GPUs)."""
    many = counts(record)
    return np.where(np.arange(many.max(initial=0)) < many[:, None], record.gpu_unit, 0)


def fitting(free: IntArray, need: int, unit: int) -> IntArray:
    """Count for each node (row of `free`) the tasks that fit with this nonzero need of the GPU resource."""
    ones = np.ones(free.shape[1], dtype=np.int64)  # a product with them is twice as fast as a sum of so few columns
    if need < unit:
        return np.asarray(free // need @ ones)
    return np.asarray((free == unit) @ ones // (need // unit))


def tightest(free: IntArray, need: int, unit: int) -> int:
    """Choose one node's GPU for a fraction: the first with the least sufficient room, which must exist.

    -1 for complete GPUs and for a need of 0, for which plans do not name a GPU.
    """
    if not 0 < need < unit:
        return -1
    return int(np.where(free >= need, free, unit + 1).argmin())


def taken(free: IntArray, need: int, unit: int, gpu: int = -1) -> list[int]:
    """Return a task's GPUs on one node: the named GPU, or the first completely free GPUs, which must exist."""
    if not need:
        return []
    if gpu >= 0:
        return [gpu]
    return [int(g) for g in np.flatnonzero(free == unit)[: need // unit]]
