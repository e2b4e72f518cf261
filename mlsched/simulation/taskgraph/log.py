"""Events of a run of the world of task graphs."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.simulation import log
from mlsched.simulation.log import Row, integers, lists, rows_of

#: Endings of a segment.
PAUSE, FINISH, MOVE = 0, 1, 2


@dataclasses.dataclass(eq=False)
class Log(log.Log):
    """Segments and other events of a run.

    Attributes:
        rows: One for every segment of time in which a task used a node, [start, end) in ticks. Its `outcome` is 1 if
            the task's run in the iteration ended with it, 0 if it was paused, 2 if it moved to another node.
        stops: (job, iterations, time) for every change of a job's iteration limit.
        wakes: Wakes requested by rounds.
        gpus: GPUs of the task on its node in each row, if GPUs are individual; else empty.
    """

    names = ("job", "iteration", "task", "node", "start", "end", "outcome")
    order = ("start", "task", "iteration")

    stops: list[Row] = dataclasses.field(default_factory=list)
    wakes: list[int] = dataclasses.field(default_factory=list)
    gpus: list[list[int]] = dataclasses.field(default_factory=list)

    def to_json(self) -> Data:
        """Return the columns as lists."""
        ranks = log.ranks(self.rows, self.names, self.order)
        gpu_lists = {"gpus": [self.gpus[row] for row in ranks]} if self.gpus else {}
        return {**super().to_json(), **gpu_lists, "stops": [list(stop) for stop in self.stops], "wakes": self.wakes}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Build a log from the output of `to_json`."""
        rows = rows_of(data, cls.names, others=("stops", "wakes", "gpus"), fill=cls.fill)
        gpus = [list(integers(gpu_lists, "log: gpus")) for gpu_lists in lists(data.get("gpus"), "log: gpus")]
        if gpus and len(gpus) != len(rows):
            raise InvalidInput("log: gpus: expected an entry a row")
        return cls(rows, stops_of(data), list(integers(data.get("wakes"), "log: wakes")), gpus)


def stops_of(data: Any) -> list[Row]:
    """Return the `stops` of a log's JSON object."""
    return [integers(stop, "log: stops", 3) for stop in lists(data.get("stops"), "log: stops")]
