"""What runs take at the same time, in the task-level CP-SAT model: cumulative or no-overlap over places and pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.formulations.taskgraph._bounds import Pool, overall
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import Place


class Capacity:
    """What `_cp_model` holds when capacities are added: see there."""

    layout: Layout
    cp: Any
    places: list[Place]
    extra: Sequence[Pool]
    x: dict[tuple[int, int], Any]
    where: dict[tuple[int, int], dict[int, Any]]
    start: dict[tuple[int, int], Any]
    end: dict[tuple[int, int], Any]
    both: dict[tuple[int, int], Any]

    def _and(self, a: Any, b: Any) -> Any:
        """A literal for both (1: always true)."""
        if isinstance(a, int):
            return b
        if isinstance(b, int):
            return a
        key = (a.index, b.index)
        if key not in self.both:
            both = self.cp.new_bool_var("")
            self.cp.add_implication(both, a)
            self.cp.add_implication(both, b)
            self.cp.add_bool_or([a.negated(), b.negated(), both])
            self.both[key] = both
        return self.both[key]

    def _capacity(self) -> None:
        """Rule 5. A resource that cannot be short on a place is left out."""
        layout = self.layout
        here: list[list[tuple[int, Any]]] = [[] for _ in self.places]
        for j, i, k in layout.runs():
            run, duration = (k, i), layout.duration[k]
            if not duration:
                continue
            x = self.x.get((j, i), 1)
            for p, literal in self.where[run].items():
                present = self._and(literal, x)
                interval = self._interval(run, present)
                here[p].append((k, interval))
        for place, runs in zip(self.places, here, strict=True):
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
        if len(self.places) > 1:
            self._share_all()

    def _interval(self, run: tuple[int, int], present: Any) -> Any:
        """A run's time, where it is present. Its end is there already; a fixed-size interval would make it again."""
        ends = self.start[run], self.layout.duration[run[0]], self.end[run]
        if isinstance(present, int):
            return self.cp.new_interval_var(*ends, "")
        return self.cp.new_optional_interval_var(*ends, present, "")

    def _share(self, intervals: list[Any], demands: list[int], capacity: int) -> None:
        if len(intervals) > 1 and min(demands) * 2 > capacity:
            self.cp.add_no_overlap(intervals)
            if max(demands) <= capacity:
                return
        if intervals:
            self.cp.add_cumulative(intervals, demands, capacity)

    def _share_all(self) -> None:
        """Implied: all runs together fit into all nodes together, and into every pool that was found violated."""
        layout, cp = self.layout, self.cp
        intervals: dict[tuple[int, int], Any] = {}
        for j, i, k in layout.runs():
            if layout.duration[k]:
                intervals[k, i] = self._interval((k, i), self.x.get((j, i), 1))
        for pool in [*overall(layout), *self.extra]:
            if sum(pool.demand.values()) > pool.capacity:
                used = [(v, pool.demand[k]) for (k, _), v in intervals.items() if k in pool.demand]
                cp.add_cumulative([v for v, _ in used], [d for _, d in used], pool.capacity)
