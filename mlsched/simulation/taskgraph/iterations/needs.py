"""Demand of each template as a `Shape`, and the check for room for any waiting job."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph._capacity import FreeCapacity, Layout, Shape, sets
from mlsched.simulation.taskgraph.iterations.fits import room
from mlsched.simulation.taskgraph.iterations.workload import Jobs


def shapes_of(jobs: Jobs, demand: IntArray) -> tuple[list[Shape], FreeCapacity]:
    """Return the shape of each template, and the capacity of the empty cluster.

    `demand` has the amounts of the templates' tasks, shape (tasks, resources).
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


class Kind(NamedTuple):
    """Equal tasks of a template: demand of a task, packed and as amounts, and their number.

    For each type of nodes, the eligible ones are given as a set of bits (`sets`) and as an index (`nodes`).
    """

    need: int
    amounts: IntArray
    number: int
    sets: list[int]
    nodes: list[IntArray | slice]


class Needs:
    """Demands of the templates' jobs, for checking at each event whether any waiting job has room."""

    def __init__(self, jobs: Jobs, shapes: list[Shape], layout: Layout, demand: IntArray) -> None:
        self._jobs, self._shapes = jobs, shapes
        self._gang = jobs.gang.tolist()
        able = [np.array(jobs.one_type) & (row > 0) for row in jobs.eligible]  # of each class, shape (types, nodes)
        packed, index = [sets(rows) for rows in able], [[_node_index(row) for row in rows] for rows in able]
        self._kinds: list[list[Kind]] = []  # of each template
        for first, end in jobs.tasks:
            rows = np.column_stack([jobs.task_class[first:end], demand[first:end]])
            kinds, many = np.unique(rows, axis=0, return_counts=True)
            self._kinds.append(
                [
                    Kind(layout.pack(kind[1:]), kind[1:], int(m), packed[kind[0]], index[kind[0]])
                    for kind, m in zip(kinds, many, strict=True)
                ]
            )

    def met(self, waiting: Collection[int], free: FreeCapacity, gpu_free: IntArray) -> bool:
        """Check whether room is free for a job of one of these templates: for all tasks of a gang, else for one.

        `gpu_free` has the free amounts of GPUs, shape (nodes, GPUs).
        """
        return any(self._all_fit_together(template, free, gpu_free) for template in waiting)

    def _all_fit_together(self, template: int, free: FreeCapacity, gpu_free: IntArray) -> bool:
        kinds, gang = self._kinds[template], self._gang[template]
        if gang and not free.has(self._shapes[template].whole):
            return False  # each kind may have room separately, but not all together
        if len(kinds) == 1 and not self._jobs.gpu_unit and (not gang or kinds[0].number == 1):
            return free.fits(kinds[0].need, self._shapes[template].nodes)
        holds = all if gang else any
        return any(
            holds(self._count_fitting(kind, by, free, gpu_free) >= (kind.number if gang else 1) for kind in kinds)
            for by in range(len(kinds[0].sets))
        )

    def _count_fitting(self, kind: Kind, by: int, free: FreeCapacity, gpu_free: IntArray) -> int:
        """Return the number of tasks of a kind that fit nodes of a type; counting may stop at the needed number."""
        if self._jobs.gpu_unit:
            nodes = kind.nodes[by]
            return room(free.columns()[nodes], gpu_free[nodes], self._jobs, kind.amounts, kind.number)
        return free.number(kind.need, kind.number, kind.sets[by])


def _node_index(among: npt.NDArray[np.bool_]) -> IntArray | slice:
    """Return an index of the nodes; a slice avoids copies."""
    return slice(None) if among.all() else np.flatnonzero(among)
