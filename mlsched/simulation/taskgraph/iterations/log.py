"""Events of a run of the iteration engine: segments of time with a constant placement of a job."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any, Self

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.simulation.log import Log, Row, integers, lists, rows_of
from mlsched.simulation.taskgraph.log import FINISH, MOVE, PAUSE, stops_of

__all__ = ["FAIL", "FINISH", "GROW", "MOVE", "PAUSE", "SLOW", "Segments"]

#: Further endings of a segment besides PAUSE, FINISH and MOVE: a further task of the job was placed; usage of the job
#: or its neighbours changed the pace; one of its nodes failed.
GROW, SLOW, FAIL = 3, 4, 5


@dataclasses.dataclass(eq=False)
class Segments(Log):
    """Segments and other events of a run.

    Attributes:
        rows: One for every segment of time in which some tasks of a job used nodes and none of them changed. A row has
            the job; [start, end) in ticks; its progress at the start, as `finished` iterations and a `part` of the
            next, in ppm; the lengths of its `first` and of every later iteration (`cycle`) in the segment, in 10^-6
            ticks. Both lengths are 0 if a task was not placed, so that the job made zero progress. `delay`: ticks at
            the start in which moved tasks fetched their data without working. `cost`: after that, 10^-6 ticks without
            work, since the job continued after a pause, a move or a failure. `outcome`: 0 a task paused, 1 the job
            ended, 2 a task moved, 3 a further task was placed, 4 its pace changed, 5 a node of it failed.
        places: Node of every task of the job in each row, -1: not placed.
        gpus: GPUs of that node used by every task of the job in each row, if GPUs are individual.
        stops: (job, iterations, time) for every change of a job's iteration limit.
        wakes: Wakes requested by rounds.
        above: If usage is drawn, the node-ticks of each resource with more usage than capacity (of individual GPUs,
            GPU-ticks).
    """

    names = ("job", "start", "end", "finished", "part", "first", "cycle", "delay", "cost", "outcome")
    order = ()  # in order of writing: by their ends
    fill = MappingProxyType({"cost": 0})

    places: list[Row] = dataclasses.field(default_factory=list)
    stops: list[Row] = dataclasses.field(default_factory=list)
    wakes: list[int] = dataclasses.field(default_factory=list)
    gpus: list[tuple[Row, ...]] = dataclasses.field(default_factory=list)
    above: list[int] = dataclasses.field(default_factory=list)

    def to_json(self) -> Data:
        """Return the columns as lists, and the places as one list per segment."""
        places: Data = {"places": [list(nodes) for nodes in self.places]}
        if self.gpus:
            places["gpus"] = [[list(gpu_list) for gpu_list in tasks] for tasks in self.gpus]
        if self.above:
            places["above"] = self.above
        return {**super().to_json(), **places, "stops": [list(stop) for stop in self.stops], "wakes": self.wakes}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Build a log from the output of `to_json`."""
        rows = rows_of(data, cls.names, others=("places", "gpus", "above", "stops", "wakes"), fill=cls.fill)
        places = [integers(nodes, "log: places") for nodes in lists(data.get("places"), "log: places")]
        gpus = [
            tuple(integers(gpu_list, "log: gpus") for gpu_list in lists(tasks, "log: gpus"))
            for tasks in lists(data.get("gpus"), "log: gpus")
        ]
        if len(places) != len(rows) or len(gpus) not in (0, len(rows)):
            raise InvalidInput("log: places and gpus: expected an entry a row")
        above = list(integers(lists(data.get("above"), "log: above"), "log: above"))
        wakes = list(integers(data.get("wakes"), "log: wakes"))
        return cls(rows, places, stops_of(data), wakes, gpus, above)
