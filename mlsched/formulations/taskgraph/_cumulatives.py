"""What runs take at the same time, in the interval model: cumulative or no-overlap over places and pools."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.formulations.taskgraph._choices import Choices, Run
from mlsched.formulations.taskgraph._pools import overall


class Cumulatives:
    """Adds rule 5, the capacities, to the model of some choices; `start` and `end` of each run are expressions."""

    def __init__(self, choices: Choices, start: dict[Run, Any], end: dict[Run, Any]) -> None:
        self._choices, self._layout, self._cp = choices, choices.layout, choices.cp
        self._start, self._end = start, end

    def add(self) -> None:
        """The capacities of all places, and as implied rows those of all nodes together.

        A resource that cannot be short on a place is left out.
        """
        layout, choices = self._layout, self._choices
        here: list[list[tuple[int, Any]]] = [[] for _ in choices.places]
        for j, i, k in layout.runs():
            if layout.duration[k]:
                for p, literal in choices.where[k, i].items():
                    here[p].append((k, self._interval((k, i), choices.both(literal, choices.running(j, i)))))
        for place, runs in zip(choices.places, here, strict=True):
            if place.whole:
                self._share([interval for _, interval in runs], [1] * len(runs), len(place.nodes))
                continue
            tasks = np.array([k for k, _ in runs], dtype=np.int64)
            demand = layout.instance.demand[tasks]
            # A task's runs follow one another, so at most its demand is in use.
            most = layout.instance.demand[np.unique(tasks)].sum(axis=0).tolist()
            for r, room in enumerate(layout.capacity[place.nodes[0]]):
                if most[r] > room:
                    used = np.flatnonzero(demand[:, r])
                    self._share([runs[n][1] for n in used.tolist()], demand[used, r].tolist(), room)
        if len(choices.places) > 1:
            self._share_all()

    def _interval(self, run: Run, present: Any) -> Any:
        """A run's time, where it is present. Its end is there already; a fixed-size interval would make it again."""
        ends = self._start[run], self._layout.duration[run[0]], self._end[run]
        if isinstance(present, int):
            return self._cp.new_interval_var(*ends, "")
        return self._cp.new_optional_interval_var(*ends, present, "")

    def _share(self, intervals: list[Any], demands: list[int], capacity: int) -> None:
        if len(intervals) > 1 and min(demands) * 2 > capacity:
            self._cp.add_no_overlap(intervals)
            if max(demands) <= capacity:
                return
        if intervals:
            self._cp.add_cumulative(intervals, demands, capacity)

    def _share_all(self) -> None:
        """Implied: all runs together fit into all nodes together."""
        layout = self._layout
        intervals = {
            (k, i): self._interval((k, i), self._choices.running(j, i))
            for j, i, k in layout.runs()
            if layout.duration[k]
        }
        for pool in overall(layout):
            if sum(pool.demand.values()) > pool.capacity:
                used = [(v, pool.demand[k]) for (k, _), v in intervals.items() if k in pool.demand]
                self._cp.add_cumulative([v for v, _ in used], [d for _, d in used], pool.capacity)
