"""What happened in a run, as the replay check and the metrics read it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import IntArray

COLUMNS = ("job", "node", "start", "end", "signal", "finished")


class Log:
    """One row for every stretch in which a job held a node: [start, end), the signal that ended it (-1: none)."""

    def __init__(self, rows: list[tuple[int, ...]] | None = None) -> None:
        self.rows: list[tuple[int, ...]] = rows or []

    def add(self, job: int, node: int, start: int, end: int, signal: int, finished: bool) -> None:
        """Append one stretch."""
        self.rows.append((job, node, start, end, signal, int(finished)))

    def columns(self) -> dict[str, IntArray]:
        """Column name -> values, ordered by start, then job."""
        table = np.array(self.rows, dtype=np.int64).reshape(len(self.rows), len(COLUMNS))
        order = np.lexsort((table[:, 0], table[:, 2]))
        return {name: table[order, c] for c, name in enumerate(COLUMNS)}

    def to_json(self) -> dict[str, Any]:
        """The columns as lists."""
        return {name: values.tolist() for name, values in self.columns().items()}
