"""What happened in a run, as the replay check and the metrics read it."""

from __future__ import annotations

from typing import Any, Self

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.simulation.table import Row, columns, rows_of

STRETCHES = ("job", "start", "end", "speed", "done")
PLACEMENTS = ("job", "time", "server", "workers", "ps")


class Log:
    """`rows`: one for every stretch of constant speed of a placed job: [start, end) in s, its speed (1e-6 of the job an
    interval), and what is done by the end (1e-6 of the job x s of an interval). `placements`: one for every server that
    hosts a part of a job, written when it is placed.
    """

    def __init__(self, rows: list[Row] | None = None, placements: list[Row] | None = None) -> None:
        self.rows: list[Row] = rows or []
        self.placements: list[Row] = placements or []

    def columns(self) -> dict[str, IntArray]:
        """Column name -> values of the stretches, ordered by job, then start."""
        return columns(self.rows, STRETCHES, STRETCHES)

    def placement_columns(self) -> dict[str, IntArray]:
        """Column name -> values of the placements, ordered by job, then time, then server."""
        return columns(self.placements, PLACEMENTS, PLACEMENTS)

    def to_json(self) -> dict[str, Any]:
        """Both tables, each with its columns as lists."""
        return {
            "stretches": {name: values.tolist() for name, values in self.columns().items()},
            "placements": {name: values.tolist() for name, values in self.placement_columns().items()},
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The inverse of `to_json`."""
        if not isinstance(data, dict) or set(data) != {"stretches", "placements"}:
            raise InvalidInput("log: must be an object of stretches and placements")
        stretches = rows_of(data["stretches"], STRETCHES, "log: stretches")
        return cls(stretches, rows_of(data["placements"], PLACEMENTS, "log: placements"))
