"""A task-graph instance with room for all tasks at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.instances.taskgraph.gpus import gpu_column
from mlsched.instances.taskgraph.instance import Instance

#: Fields of a horizon that describe the past.
PAST = ("finished", "on_time", "home", "last_end", "fixed_task", "fixed_node", "fixed_start", "fixed_gpu")


def roomy(instance: Instance) -> Instance:
    """Return the same jobs without a past; every node may run every task and has room for all tasks at once."""
    return instance.replace(
        now=0, **dict.fromkeys(PAST, ()), node_capacity=with_room(instance, 1), eligible=np.ones_like(instance.eligible)
    )


def with_room(record: Any, times: int) -> IntArray:
    """Return the capacity of nodes for `times` more copies of each task of `record`, each on GPUs of its own."""
    demand = record.demand.copy()
    if record.gpu_unit:
        column = gpu_column(record.resources)
        demand[:, column] = -(-demand[:, column] // record.gpu_unit) * record.gpu_unit
    capacity = record.node_capacity + times * demand.sum(axis=0)
    most = UNLIMITED - UNLIMITED % max(1, record.gpu_unit)
    return np.asarray(np.minimum(capacity, most))
