"""Pace of a placed job: the length of an iteration of its graph under a placement.

A task takes `duration * scale`, on nodes of a type `slowness` times that, rounded down, and longer if it is slowed down
(`usage`); an edge between two nodes adds its delay. The first iteration after a start does not depend on the previous
one (its data has arrived). Each later one begins when the previous one is complete, and its tasks also wait for edges
of lag 1: their delay after the sender's end. `cycle` is the length of the second iteration, and assumed for all
following ones: it is exact if the third has the same length.

Lengths are integers in units of 10^-6 ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


class Pace(NamedTuple):
    """Lengths of the first iteration after a start and of each later one, in 10^-6 ticks; at least 1 each."""

    first: int
    cycle: int


class Paces:
    """Paces of a workload's jobs; read off without relevant edges, otherwise computed."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._template, self._scale = jobs.template.tolist(), jobs.scale.tolist()
        self._durations = jobs.duration.tolist()
        self._longest = [max(self._durations[first:end]) for first, end in jobs.tasks]
        self._into: list[list[tuple[int, int, int]]] = [[] for _ in self._durations]
        columns = (jobs.edge_from, jobs.edge_to, jobs.edge_lag, jobs.edge_delay)
        for u, v, lag, delay in zip(*(c.tolist() for c in columns), strict=True):
            self._into[v].append((u, lag, delay))
        self._order = [self._sorted_tasks(first, end) for first, end in jobs.tasks]
        self._move = [max([d for u, lag, d in into if lag and u == v], default=0) for v, into in enumerate(self._into)]
        self._joined = [any(self._into[first:end]) for first, end in jobs.tasks]
        self._types = jobs.node_type.tolist() if jobs.slowness.shape[1] else []
        self._slowness = jobs.slowness[jobs.class_of].tolist() if self._types else []

    def of(self, job: int, nodes: Sequence[int], slow: list[int] | None = None) -> Pace:
        """Return the pace of a job with all of its tasks on these nodes, in the order of its tasks.

        `slow` is the slowdown of each task, ppm; lengths are rounded up.
        """
        template, scale = self._template[job], self._scale[job]
        first, end = self._jobs.tasks[template]
        if not self._joined[template] and slow is None:
            length = max(1, self._scaled_length(template, nodes, self._longest[template] * scale))
            return Pace(length, length)
        took = [self._scaled_length(template, nodes, duration * scale) for duration in self._durations[first:end]]
        if slow is not None:
            took = [-(-ticks * factor // WHOLE) for ticks, factor in zip(took, slow, strict=True)]
        if not self._joined[template]:
            return Pace(max(1, *took), max(1, *took))
        ends = self._iteration_ends(template, took, nodes, {})
        before = max(ends.values())
        second = self._iteration_ends(template, took, nodes, {task: end - before for task, end in ends.items()})
        return Pace(max(1, before), max(1, *second.values()))

    def _scaled_length(self, template: int, nodes: Sequence[int], ticks: int) -> int:
        """Scale a stated length to these nodes, all of one type, rounded down."""
        return ticks * self._slowness[template][self._types[nodes[0]]] // WHOLE if self._types else ticks

    def moving(self, task: int) -> int:
        """Return the ticks for changing the node of a template's task inside an iteration."""
        return self._move[task]

    def _iteration_ends(
        self, template: int, took: list[int], nodes: Sequence[int], before: dict[int, int]
    ) -> dict[int, int]:
        """Return the end of each task, from the iteration's beginning on.

        Args:
            template: Number of the template.
            took: Time of each task.
            nodes: Node of each task.
            before: Ends in the previous iteration, from its beginning on.
        """
        base = self._jobs.tasks[template][0]
        ends: dict[int, int] = {}
        for v in self._order[template]:
            start = 0
            for u, lag, delay in self._into[v]:
                away = delay * WHOLE * (nodes[u - base] != nodes[v - base])
                if not lag:
                    start = max(start, ends[u] + away)
                elif before:
                    start = max(start, before[u] + away)
            ends[v] = start + took[v - base]
        return ends

    def _sorted_tasks(self, first: int, end: int) -> list[int]:
        """Return the tasks of a template, sources of lag 0 before their receivers."""
        lacking = {v: sum(not lag for _, lag, _ in self._into[v]) for v in range(first, end)}
        sources = [v for v in range(first, end) if not lacking[v]]
        receivers: dict[int, list[int]] = {v: [] for v in range(first, end)}
        for v in range(first, end):
            for u, lag, _ in self._into[v]:
                if not lag:
                    receivers[u].append(v)
        for u in sources:  # grows during iteration
            for v in receivers[u]:
                lacking[v] -= 1
                if not lacking[v]:
                    sources.append(v)
        return sources
