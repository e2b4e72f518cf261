"""Serial schedule generation: a plan from an order of jobs, or of runs, and nodes for some of them.

A decoded plan is feasible by construction: each run, in an order that respects all arcs, starts as early as its sources
and its node's free capacity allow. Only mandatory iterations run: for the objectives that use this, running less is
never worse.
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
    """The plan of some runs on their nodes, those without a start last, each as early as the order of starts allows.

    Late runs find room one after the other, so the plan ends by the layout's horizon.
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
        #: What a run waits for that is finished: node, end and delay.
        self._finished: dict[Run, list[tuple[int, int, int]]] = {}
        for run in itertools.chain(*self.sequence):
            begun = layout.finished[layout.job[run[0]]]
            sources = layout.sources(*run)
            self._sources[run] = [source for source in sources if source[1] >= begun]
            self._finished[run] = [(layout.home[u], layout.last_end[u], delay) for u, i, delay in sources if i < begun]
        self._pack()

    def _pack(self) -> None:
        """All resources in one integer: a field each, whose highest bit is set when a node is overfull, and above them
        the number of runs."""
        layout = self.layout
        resources = range(len(layout.instance.resources))
        most = [
            max([sum(d[r] for d in layout.demand), *(c[r] for c in layout.capacity)]).bit_length() for r in resources
        ]
        shift = [sum(most[:r]) + r for r in resources]
        self._count = sum(most) + len(most)
        self._empty = [sum(((1 << most[r]) - 1 - room[r]) << shift[r] for r in resources) for room in layout.capacity]
        self._need = [sum(d[r] << shift[r] for r in resources) + (1 << self._count) for d in layout.demand]
        # A resource that a run does not need cannot keep it out, even when runs under way overfill the node.
        self._over = [sum(1 << (shift[r] + most[r]) for r in resources if d[r]) for d in layout.demand]

    def orders(self) -> list[list[int]]:
        """Jobs by arrival, by work, by shortest completion and by least time to complete."""
        layout = self.layout
        work = [sum(layout.duration[k] * max(1, sum(layout.demand[k])) for k, _ in runs) for runs in self.sequence]
        earliest = [layout.earliest_completion(j) for j in range(layout.jobs)]
        by = (layout.ready, work, earliest, [e - r for e, r in zip(earliest, layout.ready, strict=True)])
        return [sorted(range(layout.jobs), key=key.__getitem__) for key in by]

    def decode(self, order: Sequence[int]) -> dict[Run, tuple[int, int]]:
        """run -> (node, start), the jobs inserted one after the other."""
        return self.place(run for j in order for run in self.sequence[j])

    def place(self, runs: Iterable[Run], node: Mapping[Run, int] | None = None) -> dict[Run, tuple[int, int]]:
        """run -> (node, start), the runs inserted one after the other, each after all that it waits for.

        A run without a node goes where its task already is, if tasks stay on their nodes, else where it can start
        first, of several nodes to the one with most runs by then.
        """
        layout, given, home = self.layout, node or {}, dict[int, int]()
        busy = [_Profile(empty) for empty in self._empty]
        fixed = {(k, layout.finished[layout.job[k]]): at for k, at in layout.fixed.items()}
        placed: dict[Run, tuple[int, int]] = {}
        for run in itertools.chain(fixed, runs):
            if run in placed:
                continue
            k = run[0]
            known = given[run] if run in given else home.get(k)
            if run in fixed:
                n, start = fixed[run]
            elif known is None:
                n, start = self._first(run, placed, busy)
            else:
                n, (start, _) = known, self._earliest(run, known, placed, busy[known])
            placed[run] = n, start
            if layout.sticky:
                home[k] = n
            if layout.duration[k]:
                busy[n].add(start, start + layout.duration[k], self._need[k])
        return placed

    def compact(self, given: Mapping[Run, tuple[int, int]]) -> dict[Run, tuple[int, int]]:
        """Runs on their nodes, in the order of their starts, each as early as it can: none of a plan starts later.

        The layout's mandatory runs must be those given; of runs that start at once those a run waits for come first.
        """
        topological = {run: n for n, run in enumerate(itertools.chain(*self.sequence))}
        order = sorted(given, key=lambda run: (given[run][1], topological[run]))
        return self.place(order, {run: n for run, (n, _) in given.items()})

    def _first(self, run: Run, placed: dict[Run, tuple[int, int]], busy: list[_Profile]) -> tuple[int, int]:
        """The node on which the run starts first, and when."""
        best: tuple[int, int, int] | None = None
        for n in self.layout.allowed[run[0]]:
            start, used = self._earliest(run, n, placed, busy[n])
            key = start, -(used >> self._count), n
            if best is None or key < best:
                best = key
        assert best is not None
        return best[2], best[0]

    def _earliest(self, run: Run, n: int, placed: dict[Run, tuple[int, int]], busy: _Profile) -> tuple[int, int]:
        """When the run can start on a node, and what is used there then."""
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
        """When each job completes."""
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
    """What is used on a node, as a step function of time; the last step is empty and never ends."""

    def __init__(self, empty: int) -> None:
        self.times, self.used = [0], [empty]

    def earliest(self, ready: int, duration: int, need: int, over: int) -> tuple[int, int]:
        """The first time from `ready` on at which a run fits throughout, and what is used then."""
        times, used = self.times, self.used
        first = at = bisect_right(times, ready) - 1
        start, steps = ready, len(times)
        while True:
            full = (used[at] + need) & over
            at += 1
            if full:
                start, first = times[at], at
            elif at == steps or times[at] >= start + duration:
                return start, used[first]

    def add(self, start: int, end: int, need: int) -> None:
        for at in range(self._step(start), self._step(end)):
            self.used[at] += need

    def _step(self, time: int) -> int:
        """The step that begins at a time; it is made where there is none."""
        at = bisect_right(self.times, time) - 1
        if self.times[at] == time:
            return at
        self.times.insert(at + 1, time)
        self.used.insert(at + 1, self.used[at])
        return at + 1
