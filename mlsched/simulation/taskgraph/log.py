"""What happened in a run, as the replay check and the metrics read it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.simulation.table import integers, lists, rows_of

COLUMNS = ("job", "iteration", "task", "node", "start", "end", "outcome")
#: How a stretch ends.
PAUSE, FINISH, MOVE = 0, 1, 2


class Log:
    """`rows`: one for every stretch of time in which a task held a node, [start, end) in ticks; `outcome` is 1 where
    the task's run in the iteration ended with it, 0 where it was paused, 2 where it moved on to another node. `stops`:
    (job, iterations, time) for every time a job was told after how many iterations to stop. `wakes`: when rounds asked
    to be woken. `gpus`: of each row the GPUs of its node that the task held, where these are told apart; else empty.
    """

    def __init__(
        self,
        rows: list[tuple[int, ...]] | None = None,
        stops: list[tuple[int, int, int]] | None = None,
        wakes: list[int] | None = None,
        gpus: list[list[int]] | None = None,
    ) -> None:
        self.rows: list[tuple[int, ...]] = rows or []
        self.stops: list[tuple[int, int, int]] = stops or []
        self.wakes: list[int] = wakes or []
        self.gpus: list[list[int]] = gpus or []

    def columns(self) -> dict[str, IntArray]:
        """Column name -> values, ordered by start, then task."""
        table, order = self._table()
        return {name: table[order, c] for c, name in enumerate(COLUMNS)}

    def _table(self) -> tuple[IntArray, IntArray]:
        """The rows, and their order by start, then task."""
        table = np.array(self.rows, dtype=np.int64).reshape(len(self.rows), len(COLUMNS))
        return table, np.lexsort((table[:, 1], table[:, 2], table[:, 4]))

    def to_json(self) -> dict[str, Any]:
        """The columns as lists."""
        columns = {name: values.tolist() for name, values in self.columns().items()}
        held = {"gpus": [self.gpus[row] for row in self._table()[1]]} if self.gpus else {}
        return {**columns, **held, "stops": [list(stop) for stop in self.stops], "wakes": self.wakes}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The inverse of `to_json`."""
        rows = rows_of(data, COLUMNS, others=("stops", "wakes", "gpus"))
        stops = [integers(stop, "log: stops", 3) for stop in lists(data.get("stops"), "log: stops")]
        gpus = [list(integers(held, "log: gpus")) for held in lists(data.get("gpus"), "log: gpus")]
        if gpus and len(gpus) != len(rows):
            raise InvalidInput("log: gpus: must have an entry a row")
        return cls(rows, [(j, n, t) for j, n, t in stops], list(integers(data.get("wakes"), "log: wakes")), gpus)
