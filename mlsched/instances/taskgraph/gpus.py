"""GPUs inside nodes: what a demand is in them, where one finds room, and which GPU to take.

`gpu_unit` of an instance, a snapshot or a workload says how much of the GPU resource one GPU is; 0: the GPUs of a node
are one pool. A demand below the unit is a fraction of one GPU and is placed on a GPU that is named; a multiple of it is
whole GPUs, which nobody shares. `free` is always nodes x GPUs: what is left of each GPU, 0 for those that a node lacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, refuse_first

#: Name of a resource that counts GPUs -> how many of its units are one GPU, where the GPUs of a node are one pool.
GPU_UNITS = {"gpu": 1, "gpu_percent": 100, "gpu_milli": 1000}


def gpu_column(resources: tuple[str, ...]) -> int:
    """The column of the one resource that counts GPUs; -1 where there is none, or more than one."""
    columns = [r for r, name in enumerate(resources) if name in GPU_UNITS]
    return columns[0] if len(columns) == 1 else -1


def check(record: Any) -> None:
    """What has `gpu_unit` has one GPU resource, nodes of whole GPUs, and tasks of a fraction or of whole GPUs."""
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
    asked = record.demand[:, column]
    refuse_first(
        (asked > unit) & (asked % unit != 0), "demand", asked, f"expected at most gpu_unit ({unit}) or a multiple of it"
    )


def counts(record: Any) -> IntArray:
    """nodes: how many GPUs each has; none where the GPUs of a node are one pool."""
    if not record.gpu_unit:
        return np.zeros(len(record.node_capacity), dtype=np.int64)
    return np.asarray(record.node_capacity[:, gpu_column(record.resources)] // record.gpu_unit)


def empty(record: Any) -> IntArray:
    """nodes x GPUs: `free` of an empty cluster."""
    many = counts(record)
    return np.where(np.arange(many.max(initial=0)) < many[:, None], record.gpu_unit, 0)


def fitting(free: IntArray, need: int, unit: int) -> IntArray:
    """For each node (row of `free`), how many tasks find room there that need so much (not 0) of the GPU resource."""
    ones = np.ones(free.shape[1], dtype=np.int64)  # a product with them is twice as fast as a sum of so few columns
    if need < unit:
        return np.asarray(free // need @ ones)
    return np.asarray((free == unit) @ ones // (need // unit))


def tightest(free: IntArray, need: int, unit: int) -> int:
    """Of one node's GPUs, the one that a fraction takes: with least room that suffices, the first of these.

    -1 where a plan names none: for whole GPUs and for no GPU at all. There must be room.
    """
    if not 0 < need < unit:
        return -1
    return int(np.where(free >= need, free, unit + 1).argmin())


def taken(free: IntArray, need: int, unit: int, gpu: int = -1) -> list[int]:
    """The GPUs of one node that a task takes: the named one, or the first that are wholly free. There must be room."""
    if not need:
        return []
    if gpu >= 0:
        return [gpu]
    return [int(g) for g in np.flatnonzero(free == unit)[: need // unit]]
