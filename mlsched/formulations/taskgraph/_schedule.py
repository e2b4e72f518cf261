"""Incumbents: serial schedule generation over orders of jobs and placements, improved by random moves.

A decoded plan is feasible by construction: each run, in an order that respects all arcs, starts as early as its sources
and its node's free capacity allow. Only mandatory iterations run: for the objectives that use this, running less is
never worse. A number of decodings, not a time, limits the search, so that a seed gives one answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable

Run = tuple[int, int]


class Decoder:
    """Plans from (order of jobs, node of every task)."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.sequence: list[list[Run]] = [[] for _ in range(layout.jobs)]
        for j, i, k in layout.runs():
            if i < layout.least[j]:
                self.sequence[j].append((k, i))
        self.tasks = [k for k in range(layout.tasks) if layout.least[layout.job[k]] > layout.first[layout.job[k]]]
        self.free = [k for k in self.tasks if len(layout.allowed[k]) > 1]

    def decode(self, order: Sequence[int], node: list[int]) -> dict[Run, tuple[int, int]]:
        """run -> (node, start), the jobs inserted one after the other."""
        layout = self.layout
        busy: list[list[tuple[int, int, list[int]]]] = [[] for _ in range(layout.nodes)]
        placed: dict[Run, tuple[int, int]] = {}
        for k, (n, start) in layout.fixed.items():
            placed[k, layout.first[layout.job[k]]] = n, start
            if layout.duration[k]:
                busy[n].append((start, start + layout.duration[k], layout.demand[k]))
        for j in order:
            for k, i in self.sequence[j]:
                if (k, i) not in placed:
                    n = node[k]
                    start = self._earliest(busy[n], k, n, self._ready(k, i, n, placed))
                    placed[k, i] = n, start
                    if layout.duration[k]:
                        busy[n].append((start, start + layout.duration[k], layout.demand[k]))
        return placed

    def _ready(self, k: int, i: int, n: int, placed: dict[Run, tuple[int, int]]) -> int:
        layout = self.layout
        j = layout.job[k]
        ready: int = layout.ready[j]
        for u, source, delay in layout.sources(k, i):
            if source < layout.first[j]:
                where, end = layout.home[u], layout.last_end[u]
            else:
                where, start = placed[u, source]
                end = start + layout.duration[u]
            ready = max(ready, end + (delay if where != n else 0))
        return ready

    def _earliest(self, busy: list[tuple[int, int, list[int]]], k: int, n: int, ready: int) -> int:
        """The first time from `ready` on at which the run fits on the node throughout."""
        layout = self.layout
        duration, need, room = layout.duration[k], layout.demand[k], layout.capacity[n]
        if not duration:
            return ready
        later = [run for run in busy if run[1] > ready]
        start = ready
        while (after := self._clash(later, start, start + duration, need, room)) is not None:
            start = after
        return start

    @staticmethod
    def _clash(
        later: list[tuple[int, int, list[int]]], start: int, end: int, need: list[int], room: list[int]
    ) -> int | None:
        """None when the run fits into [start, end); else the next start worth trying.

        Let t be the last time at which it does not fit. Until one of the runs under way at t ends, no later start fits
        either: the run would be under way at t, or start while all of them are.
        """
        over = [run for run in later if run[0] < end and run[1] > start]
        for t in sorted({max(start, run[0]) for run in over}, reverse=True):
            here = [run for run in over if run[0] <= t < run[1]]
            if any(need[r] and need[r] + sum(run[2][r] for run in here) > free for r, free in enumerate(room)):
                return min(run[1] for run in here)
        return None

    def completions(self, placed: dict[Run, tuple[int, int]]) -> list[int]:
        """When each job completes."""
        layout = self.layout
        return [
            max((placed[run][1] + layout.duration[run[0]] for run in self.sequence[j]),
                default=layout.idle_completion(j))
            for j in range(layout.jobs)
        ]  # fmt: skip

    def plan(self, placed: dict[Run, tuple[int, int]]) -> Timetable:
        return self.layout.timetable({r: n for r, (n, _) in placed.items()}, {r: s for r, (_, s) in placed.items()})


def search(
    layout: Layout, decodings: int, seed: int, until: float | None, enough: int = 0
) -> tuple[Timetable | None, int]:
    """The plan of least total_jct among some decodings, and how many there were; no plan where runs may move or a task
    has no node. The search ends at once when its completions sum to `enough`, a bound.

    Orders start from arrival, shortest work and shortest critical path; placements from the least loaded nodes. Then
    annealed moves: two jobs swap, a job moves, a task or a whole job goes to another node.
    """
    if layout.reason is not None or not layout.sticky or not layout.jobs:
        return None, 0
    rng = np.random.default_rng(seed)
    decoder = Decoder(layout)
    if any(not layout.allowed[k] for k in decoder.tasks):
        return None, 0
    best: tuple[int, dict[Run, tuple[int, int]]] | None = None
    value = 0
    order: list[int] = []
    node: list[int] = []
    used = 0
    for start in _starts(layout, decoder):
        placed = decoder.decode(*start)
        total = sum(decoder.completions(placed))
        used += 1
        if best is None or total < best[0]:
            best, value = (total, placed), total
            order, node = start
    assert best is not None
    scale = max(1.0, (best[0] - sum(layout.arrival)) * 0.02)
    for step in range(used, decodings):
        if best[0] <= enough or (until is not None and time.perf_counter() > until):
            break
        used = step + 1
        candidate, places = _move(layout, decoder, order, node, rng)
        placed = decoder.decode(candidate, places)
        total = sum(decoder.completions(placed))
        if total <= value or rng.random() < np.exp((value - total) / (scale * (1 - step / decodings) + 1e-9)):
            order, node, value = candidate, places, total
            if total < best[0]:
                best = total, placed
    return decoder.plan(best[1]), used


def _starts(layout: Layout, decoder: Decoder) -> list[tuple[list[int], list[int]]]:
    work = [
        sum(layout.duration[k] * max(1, sum(layout.demand[k])) for k, _ in decoder.sequence[j])
        for j in range(layout.jobs)
    ]
    jobs = range(layout.jobs)
    orders = [
        sorted(jobs, key=lambda j: layout.ready[j]),
        sorted(jobs, key=lambda j: work[j]),
        sorted(jobs, key=lambda j: layout.least_completion(j)),
        sorted(jobs, key=lambda j: layout.least_completion(j) - layout.ready[j]),
    ]
    return [(list(o), _spread(layout, decoder, o, together)) for o in orders for together in (True, False)]


def _spread(layout: Layout, decoder: Decoder, order: Sequence[int], together: bool) -> list[int]:
    """A node for each task: the least loaded one allowed, for whole jobs where that is possible (`together`)."""
    node = [allowed[0] if allowed else 0 for allowed in layout.allowed]
    load = [0.0] * layout.nodes
    for j in order:
        tasks = [k for k in layout.tasks_of[j] if layout.allowed[k]]
        common = set(range(layout.nodes)).intersection(*(layout.allowed[k] for k in tasks))
        whole = min(sorted(common), key=lambda n: load[n]) if together and common else None
        for k in tasks:
            n = whole if whole is not None else min(layout.allowed[k], key=lambda n: load[n])
            node[k] = n
            share = max((d / max(1, c) for d, c in zip(layout.demand[k], layout.capacity[n], strict=True)), default=0.0)
            load[n] += share * layout.duration[k] * max(1, layout.least[j] - layout.first[j])
    return node


def _move(
    layout: Layout, decoder: Decoder, order: list[int], node: list[int], rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    order, node = list(order), list(node)
    kind = rng.random()
    if kind < 0.35 or not decoder.free:
        a, b = (int(rng.integers(len(order))) for _ in range(2))
        order[a], order[b] = order[b], order[a]
    elif kind < 0.5:
        job = order.pop(int(rng.integers(len(order))))
        order.insert(int(rng.integers(len(order) + 1)), job)
    elif kind < 0.8:
        k = decoder.free[int(rng.integers(len(decoder.free)))]
        node[k] = layout.allowed[k][int(rng.integers(len(layout.allowed[k])))]
    else:
        k = decoder.free[int(rng.integers(len(decoder.free)))]
        n = layout.allowed[k][int(rng.integers(len(layout.allowed[k])))]
        for other in layout.tasks_of[layout.job[k]]:
            if n in layout.allowed[other]:
                node[other] = n
    return order, node
