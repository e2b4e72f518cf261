"""Harmony-plus' speed model: how much jobs slow each other down, by the names of their types.

A policy may not see an instance's interference and network coefficients. Its knowledge of them is in the tables here.
Training fitted them to a history of placements and their measured speeds (`training/placement/_plus_history.py`). They
are in the weights file, by type. On a server that hosts w of the W workers and p of the P PSs of a job, its estimated
slowdown is

    1 + sum over tasks of other jobs of table[its type, their type]
      + remote_ps (P - p)/P + remote_worker (W - w)/(W - 1)

with a table for workers and one for PSs. Network terms count if the job has a worker on the server. A type without
history is treated like the mean of the types with history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlsched.core.errors import InvalidFile
from mlsched.core.fields import FloatArray, IntArray
from mlsched.instances.placement import Instance
from mlsched.learned.net import Floats

#: The tensors of the model: two of types x types (on row by a task of column), two of types.
PAIRS, ALONE = ("speeds.worker", "speeds.ps"), ("speeds.remote_ps", "speeds.remote_worker")


class Speeds:
    """The fitted tables, looked up by the names of types."""

    def __init__(self, tensors: Mapping[str, Floats], types: Sequence[str]) -> None:
        count = len(types)
        for name, shape in [(name, (count, count)) for name in PAIRS] + [(name, (count,)) for name in ALONE]:
            if name not in tensors or tensors[name].shape != shape or not count:
                raise InvalidFile(f"weights: {name} must have the shape {shape}; they are of another policy")
        self._row = {name: t for t, name in enumerate(types)}
        # One more type, the last: the mean of all, for types without history.
        self.tables = [_with_mean_entry(np.asarray(tensors[name], dtype=np.float64)) for name in (*PAIRS, *ALONE)]

    def tables_for(self, instance: Instance) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the tables (by worker, by PS, remote PS, remote worker) for the instance's types, in its order."""
        rows = np.array([self._row.get(name, len(self._row)) for name in instance.types], dtype=np.int64)
        worker, ps, remote_ps, remote_worker = self.tables
        pair = np.ix_(rows, rows)
        return worker[pair], ps[pair], remote_ps[rows], remote_worker[rows]


def _with_mean_entry(table: FloatArray) -> FloatArray:
    """Append an entry along each axis of the table, the mean of the others."""
    for axis in range(table.ndim):
        table = np.concatenate([table, table.mean(axis=axis, keepdims=True)], axis=axis)
    return table


def network_shares(
    w: FloatArray, p: FloatArray, workers: IntArray, ps: IntArray, everywhere: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the remote shares of a job's PSs and of its other workers, 0 if they do not count.

    Args:
        w: Workers of the job on a server.
        p: PSs of the job on a server.
        workers: Workers of the job in total.
        ps: PSs of the job in total.
        everywhere: PSs count on each server with a task of the job (`network_at = "tasks"`); False: with a worker.
    """
    pulls = (w + p > 0) if everywhere else (w > 0)
    remote_ps = np.where(pulls & (ps > 0), (ps - p) / np.maximum(ps, 1), 0.0)
    return remote_ps, np.where((w > 0) & (workers > 1), (workers - w) / np.maximum(workers - 1, 1), 0.0)
