"""Harmony-plus' speed model: how much jobs slow each other down, by the names of their types.

A policy may not see an instance's interference and network coefficients. What it knows of them are the tables here,
which its training fitted to a history of placements and the speeds that were measured in them
(`training/placement/_plus_history.py`). They stand in the weights file, by type. On a server that hosts w of the W
workers and p of the P PSs of a job, its estimated slowdown is

    1 + sum over tasks of other jobs of table[its type, their type]
      + remote_ps (P - p)/P + remote_worker (W - w)/(W - 1)

with a table for workers and one for PSs; network terms count where the job has a worker. A type without history is
taken to be like the mean of the types that have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidFile
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
        # One type more, the last: the mean of all, for those without history.
        self.tables = [_with_mean(np.asarray(tensors[name], dtype=np.float64)) for name in (*PAIRS, *ALONE)]

    def of(self, instance: Instance) -> tuple[Any, Any, Any, Any]:
        """(by worker, by PS, remote PS, remote worker) of the instance's types, in its order."""
        rows = np.array([self._row.get(name, len(self._row)) for name in instance.types], dtype=np.int64)
        worker, ps, remote_ps, remote_worker = self.tables
        pair = np.ix_(rows, rows)
        return worker[pair], ps[pair], remote_ps[rows], remote_worker[rows]


def _with_mean(table: Any) -> Any:
    """The table with a last entry (along each axis) that is the mean of the others."""
    for axis in range(table.ndim):
        table = np.concatenate([table, table.mean(axis=axis, keepdims=True)], axis=axis)
    return table


def network(w: Any, p: Any, workers: Any, ps: Any, everywhere: bool) -> tuple[Any, Any]:
    """Shares of a job's PSs and of its other workers that are elsewhere, 0 where they do not count.

    w, p: its workers and PSs on a server; workers, ps: in all; everywhere: PSs count where any task is
    (`network_at = "tasks"`), else where a worker is.
    """
    pulls = (w + p > 0) if everywhere else (w > 0)
    remote_ps = np.where(pulls & (ps > 0), (ps - p) / np.maximum(ps, 1), 0.0)
    return remote_ps, np.where((w > 0) & (workers > 1), (workers - w) / np.maximum(workers - 1, 1), 0.0)
