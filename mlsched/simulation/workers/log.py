"""What happened in a run, as the replay check and the metrics read it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import IntArray

COLUMNS = ("job", "start", "end", "workers", "ps", "left")

#: Work is counted in thousandths of an iteration.
PARTS = 1000


class Log:
    """One row for every stretch in which a job held its workers and PSs: [start, end) in ms, how many, and the
    thousandths of an iteration that were left at the end.

    A stretch ends when the job is done, or at a re-schedule (with floor = "changed": at one that changes it).
    """

    def __init__(self, rows: list[tuple[int, ...]] | None = None) -> None:
        self.rows: list[tuple[int, ...]] = rows or []

    def columns(self) -> dict[str, IntArray]:
        """Column name -> values, ordered by start, then job."""
        table = np.array(self.rows, dtype=np.int64).reshape(len(self.rows), len(COLUMNS))
        order = np.lexsort((table[:, 0], table[:, 1]))
        return {name: table[order, c] for c, name in enumerate(COLUMNS)}

    def to_json(self) -> dict[str, Any]:
        """The columns as lists."""
        return {name: values.tolist() for name, values in self.columns().items()}
