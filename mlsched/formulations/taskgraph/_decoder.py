"""Serial schedule generation: a plan from an order of jobs, or of runs, and nodes for some of them.

A decoded plan is feasible by construction: each run, in an order that respects all arcs, starts as early as its
sources and its node's free capacity allow. Only mandatory iterations run: for the objectives that use this, optional
iterations are never better.
"""

from __future__ import annotations

import dataclasses
import itertools
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable

Run = tuple[int, int]


def compacted(layout: Layout, node: Mapping[Run, int], start: Mapping[Run, int]) -> Timetable:
    """Return the plan of some runs on their nodes, each as early as the order of starts allows.

    Runs without a start are late: they come last, one after the other, so the plan ends by the layout's horizon.
    """
    end = max((t + layout.duration[k] for (k, _), t in start.items()), default=0)
    iterations = list(layout.finished)
    for k, i in node:
        iterations[layout.job[k]] = max(iterations[layout.job[k]], i + 1)
    decoder = Decoder(dataclasses.replace(layout, mandatory=iterations))
    return decoder.plan(decoder.compact({run: (n, start.get(run, end)) for run, n in node.items()}))


class Decoder:
    """Plans from orders of jobs, or of runs with nodes for some of them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.sequence: list[list[Run]] = [[] for _ in range(layout.jobs)]
        for j, i, k in layout.runs():
            if i < layout.mandatory[j]:
                self.sequence[j].append((k, i))
        self.tasks = [
            k for k in range(layout.tasks) if layout.mandatory[layout.job[k]] > layout.finished[layout.job[k]]
        ]
        self._sources: dict[Run, list[tuple[int, int, int]]] = {}
        #: Finished predecessors of a run: node, end and delay.
        self._finished: dict[Run, list[tuple[int, int, int]]] = {}
        for run in itertools.chain(*self.sequence):
            opened = layout.finished[layout.job[run[0]]]
            sources = layout.sources(*run)
            self._sources[run] = [source for source in sources if source[1] >= opened]
            self._finished[run] = [(layout.home[u], layout.last_end[u], delay) for u, i, delay in sources if i < opened]
        self._pack_resources()

    def _pack_resources(self) -> None:
        """Pack all resources into one integer: a field each, whose highest bit is set when a node is overfull.

        The number of runs is above these fields.
        """
        layout = self.layout
        resources = range(len(layout.instance.resources))
        most = [
            max([sum(d[r] for d in layout.demand), *(c[r] for c in layout.capacity)]).bit_length() for r in resources
        ]
        shift = [sum(most[:r]) + r for r in resources]
        self._count = sum(most) + len(most)
        self._empty = [sum(((1 << most[r]) - 1 - room[r]) << shift[r] for r in resources) for room in layout.capacity]
        self._need = [sum(d[r] << shift[r] for r in resources) + (1 << self._count) for d in layout.demand]
        # A run is not limited by resources that it does not need, even when runs under way overfill the node.
        self._over = [sum(1 << (shift[r] + most[r]) for r in resources if d[r]) for d in layout.demand]

    def orders(self) -> list[list[int]]:
        """Return jobs by arrival, by work, by shortest completion and by least time to complete."""
        layout = self.layout
        work = [sum(layout.duration[k] * max(1, sum(layout.demand[k])) for k, _ in runs) for runs in self.sequence]
        earliest = [layout.earliest_completion(j) for j in range(layout.jobs)]
        by = (layout.ready, work, earliest, [e - r for e, r in zip(earliest, layout.ready, strict=True)])
        return [sorted(range(layout.jobs), key=key.__getitem__) for key in by]

    def decode(self, order: Sequence[int]) -> dict[Run, tuple[int, int]]:
        """Return run -> (node, start), inserting one job after the other."""
        return self.place(run for j in order for run in self.sequence[j])

    def place(self, runs: Iterable[Run], node: Mapping[Run, int] | None = None) -> dict[Run, tuple[int, int]]:
        """Return run -> (node, start), inserting one run after the other, each after its predecessors.

        A run without a node goes to its task's node, if tasks stay on their nodes. Otherwise it goes to the node with
        its earliest start; ties go to the node with the most runs so far.
        """
        layout, options_given, home = self.layout, node or {}, dict[int, int]()
        busy = [_Profile(empty) for empty in self._empty]
        fixed = {(k, layout.finished[layout.job[k]]): at for k, at in layout.fixed.items()}
        placed: dict[Run, tuple[int, int]] = {}
        for run in itertools.chain(fixed, runs):
            if run in placed:
                continue
            k = run[0]
            present = options_given[run] if run in options_given else home.get(k)
            if run in fixed:
                n, start = fixed[run]
            elif present is None:
                n, start = self._first_start(run, placed, busy)
            else:
                n, (start, _) = present, self._earliest_start(run, present, placed, busy[present])
            placed[run] = n, start
            if layout.sticky:
                home[k] = n
            if layout.duration[k]:
                busy[n].add(start, start + layout.duration[k], self._need[k])
        return placed

    def compact(self, given: Mapping[Run, tuple[int, int]]) -> dict[Run, tuple[int, int]]:
        """Move runs on their nodes, in the order of their starts, to their earliest starts.

        The layout's mandatory runs must be the given runs; among simultaneous starts, predecessors come first.
        """
        topological = {run: n for n, run in enumerate(itertools.chain(*self.sequence))}
        order = sorted(given, key=lambda run: (given[run][1], topological[run]))
        return self.place(order, {run: n for run, (n, _) in given.items()})

    def _first_start(self, run: Run, placed: dict[Run, tuple[int, int]], busy: list[_Profile]) -> tuple[int, int]:
        """Return the node on which the run starts first, and when."""
        best: tuple[int, int, int] | None = None
        for n in self.layout.allowed[run[0]]:
            start, use = self._earliest_start(run, n, placed, busy[n])
            key = start, -(use >> self._count), n
            if best is None or key < best:
                best = key
        assert best is not None
        return best[2], best[0]

    def _earliest_start(self, run: Run, n: int, placed: dict[Run, tuple[int, int]], busy: _Profile) -> tuple[int, int]:
        """Return the earliest start of the run on a node, and the use of the node then."""
        layout, k = self.layout, run[0]
        ready = layout.ready[layout.job[k]]
        for u, i, delay in self._sources[run]:
            where, start = placed[u, i]
            end = start + layout.duration[u] + (delay if where != n else 0)
            if end > ready:
                ready = end
        for where, end, delay in self._finished[run]:
            ready = max(ready, end + (delay if where != n else 0))
        if not layout.duration[k]:
            return ready, 0
        return busy.earliest(ready, layout.duration[k], self._need[k], self._over[k])

    def completions(self, placed: dict[Run, tuple[int, int]]) -> list[int]:
        """Return the completion of each job."""
        layout = self.layout
        return [
            max(
                (placed[run][1] + layout.duration[run[0]] for run in self.sequence[j]),
                default=layout.idle_completion(j),
            )
            for j in range(layout.jobs)
        ]

    def plan(self, placed: dict[Run, tuple[int, int]]) -> Timetable:
        return self.layout.timetable({r: n for r, (n, _) in placed.items()}, {r: s for r, (_, s) in placed.items()})


class _Profile:
    """Use of a node as a step function of time; the last step is empty and never ends."""

    def __init__(self, empty: int) -> None:
        self.times, self.used = [0], [empty]

    def earliest(self, ready: int, duration: int, need: int, over: int) -> tuple[int, int]:
        """Return the first time from `ready` on at which a run fits throughout, and the use then."""
        times, use = self.times, self.used
        first = at = bisect_right(times, ready) - 1
        start, steps = ready, len(times)
        while True:
            full = (use[at] + need) & over
            at += 1
            if full:
                start, first = times[at], at
            elif at == steps or times[at] >= start + duration:
                return start, use[first]

    def add(self, start: int, end: int, need: int) -> None:
        for at in range(self._step_at(start), self._step_at(end)):
            self.used[at] += need

    def _step_at(self, time: int) -> int:
        """Return the step that begins at a time, after inserting it if missing."""
        at = bisect_right(self.times, time) - 1
        if self.times[at] == time:
            return at
        self.times.insert(at + 1, time)
        self.used.insert(at + 1, self.used[at])
        return at + 1
