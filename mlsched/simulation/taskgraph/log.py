"""What happened in a run of the world of task graphs."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from mlsched.core.errors import InvalidInput
from mlsched.simulation import log
from mlsched.simulation.log import Row, integers, lists, rows_of

#: How a segment ends.
PAUSE, FINISH, MOVE = 0, 1, 2


@dataclasses.dataclass(eq=False)
class Log(log.Log):
    """`rows`: one for every segment of time in which a task held a node, [start, end) in ticks; `outcome` is 1 where
    the task's run in the iteration ended with it, 0 where it was paused, 2 where it moved on to another node. `stops`:
    (job, iterations, time) for every time a job was told after how many iterations to stop. `wakes`: when rounds asked
    to be woken. `gpus`: of each row the GPUs of its node that the task held, where these are told apart; else empty.
    """

    names = ("job", "iteration", "task", "node", "start", "end", "outcome")
    order = ("start", "task", "iteration")

    stops: list[Row] = dataclasses.field(default_factory=list)
    wakes: list[int] = dataclasses.field(default_factory=list)
    gpus: list[list[int]] = dataclasses.field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The columns as lists."""
        ranks = log.ranks(self.rows, self.names, self.order)
        held = {"gpus": [self.gpus[row] for row in ranks]} if self.gpus else {}
        return {**super().to_json(), **held, "stops": [list(stop) for stop in self.stops], "wakes": self.wakes}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The inverse of `to_json`."""
        rows = rows_of(data, cls.names, others=("stops", "wakes", "gpus"), fill=cls.fill)
        gpus = [list(integers(held, "log: gpus")) for held in lists(data.get("gpus"), "log: gpus")]
        if gpus and len(gpus) != len(rows):
            raise InvalidInput("log: gpus: expected an entry a row")
        return cls(rows, stops_of(data), list(integers(data.get("wakes"), "log: wakes")), gpus)


def stops_of(data: Any) -> list[Row]:
    """The `stops` of a log's JSON object."""
    return [integers(stop, "log: stops", 3) for stop in lists(data.get("stops"), "log: stops")]
