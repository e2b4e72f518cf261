"""The demand of each template as a `Shape`, and whether any job that waits would find room."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph._capacity import FreeCapacity, Layout, Shape, bits, sets
from mlsched.simulation.taskgraph.iterations.fits import room
from mlsched.simulation.taskgraph.iterations.workload import Jobs


def shapes_of(jobs: Jobs, demand: IntArray) -> tuple[list[Shape], FreeCapacity]:
    """Return the shape of each template, and the capacity of the empty cluster.

    demand: the amounts that the tasks of the templates hold, (tasks, resources).
    """
    capacity = jobs.node_capacity
    whole = [demand[first:end].sum(axis=0) for first, end in jobs.tasks]
    most = max(int(capacity.sum(axis=0).max(initial=0)), *(int(total.max(initial=0)) for total in whole), 1)
    layout = Layout(capacity.max(axis=0, initial=0).tolist(), most)
    eligible, types = sets(jobs.eligible), sets(np.array(jobs.one_type)) if jobs.node_type.any() else []
    shapes = []
    for first, end in jobs.tasks:
        group = int(jobs.task_class[first])
        shapes.append(Shape(layout, demand[first:end].tolist(), eligible[group], types, group))
    return shapes, FreeCapacity(layout, [layout.pack(row) for row in capacity.tolist()])


class Needs:
    """What the jobs of each template need to start: to tell, at each event, whether any that waits would find room."""

    def __init__(self, jobs: Jobs, shapes: list[Shape], layout: Layout, demand: IntArray) -> None:
        self._jobs, self._shapes = jobs, shapes
        self._gang = jobs.gang.tolist()
        eligible, types = sets(jobs.eligible), sets(np.array(jobs.one_type))
        #: Of each template: kinds of equal tasks as (need, amounts, number of tasks, eligible nodes by type).
        self._kinds: list[list[tuple[int, IntArray, int, list[int]]]] = []
        for first, end in jobs.tasks:
            rows = np.column_stack([jobs.task_class[first:end], demand[first:end]])
            kinds, many = np.unique(rows, axis=0, return_counts=True)
            self._kinds.append(
                [
                    (layout.pack(kind[1:]), kind[1:], int(m), [eligible[kind[0]] & among for among in types])
                    for kind, m in zip(kinds, many, strict=True)
                ]
            )

    def met(self, waiting: Collection[int], free: FreeCapacity, gpu_free: IntArray) -> bool:
        """Return whether room is free for a job of one of these templates: for all tasks of a gang, else for one.

        gpu_free: free amounts of GPUs, (nodes, GPUs).
        """
        return any(self._fits(template, free, gpu_free) for template in waiting)

    def _fits(self, template: int, free: FreeCapacity, gpu_free: IntArray) -> bool:
        kinds, gang = self._kinds[template], self._gang[template]
        if len(kinds) == 1 and not self._jobs.gpu_unit and (not gang or kinds[0][2] == 1):
            need, _, _, by_type = kinds[0]
            return free.fits(need, functools.reduce(operator.or_, by_type))
        if gang and len(kinds) > 1 and not free.has(self._shapes[template].whole):
            return False  # each kind may find room by itself, and all together none
        holds = all if gang else any
        return any(
            holds(self._many(kind, by, free, gpu_free) >= (kind[2] if gang else 1) for kind in kinds)
            for by in range(len(kinds[0][3]))
        )

    def _many(self, kind: tuple[int, IntArray, int, list[int]], by: int, free: FreeCapacity, gpu_free: IntArray) -> int:
        """How many tasks of a kind find room on nodes of a type, at least as far as they are enough."""
        need, amounts, enough, by_type = kind
        nodes = by_type[by]
        if self._jobs.gpu_unit:
            at = bits(nodes)
            rows = free.layout.columns([free.free[node] for node in at])
            return room(rows, gpu_free[at], self._jobs, amounts, enough)
        return free.number(need, enough, nodes)
