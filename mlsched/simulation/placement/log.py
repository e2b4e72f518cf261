"""Events of a run of the Harmony world."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.simulation import log

PLACEMENTS = ("job", "time", "server", "workers", "ps")


@dataclasses.dataclass(eq=False)
class Log(log.Log):
    """Segments and placements of a run.

    Attributes:
        rows: One for every segment of constant speed of a placed job: [start, end) in s, its speed (1e-6 of the job per
            interval), and the work done by the end (1e-6 of the job x s of an interval).
        placements: One for every server that hosts a part of a job, written when it is placed.
    """

    names = order = ("job", "start", "end", "speed", "done")

    placements: list[log.Row] = dataclasses.field(default_factory=list)

    def placement_columns(self) -> dict[str, IntArray]:
        """Return column name -> values of the placements, ordered by job, then time, then server."""
        return log.columns(self.placements, PLACEMENTS, PLACEMENTS)

    def to_json(self) -> Data:
        """Return both tables, each with its columns as lists."""
        placements = {name: values.tolist() for name, values in self.placement_columns().items()}
        return {"segments": super().to_json(), "placements": placements}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Build a log from the output of `to_json`."""
        if not isinstance(data, dict) or set(data) != {"segments", "placements"}:
            raise InvalidInput("log: expected an object of segments and placements")
        segments = log.rows_of(data["segments"], cls.names, "log: segments")
        return cls(segments, log.rows_of(data["placements"], PLACEMENTS, "log: placements"))
