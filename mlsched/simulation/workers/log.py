"""What happened in a run, as the replay check and the metrics read it."""

from __future__ import annotations

from typing import Any, Self

from mlsched.core.fields import IntArray
from mlsched.simulation.table import Row, columns, rows_of

COLUMNS = ("job", "start", "end", "workers", "ps", "left")

#: Work is counted in thousandths of an iteration.
PARTS = 1000


class Log:
    """One row for every stretch in which a job held its workers and PSs: [start, end) in ms, how many, and the
    thousandths of an iteration that were left at the end.

    A stretch ends when the job is done, or at a re-schedule (with floor = "changed": at one that changes it).
    """

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.rows: list[Row] = rows or []

    def columns(self) -> dict[str, IntArray]:
        """Column name -> values, ordered by start, then job."""
        return columns(self.rows, COLUMNS, ("start", "job"))

    def to_json(self) -> dict[str, Any]:
        """The columns as lists."""
        return {name: values.tolist() for name, values in self.columns().items()}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The inverse of `to_json`."""
        return cls(rows_of(data, COLUMNS))
