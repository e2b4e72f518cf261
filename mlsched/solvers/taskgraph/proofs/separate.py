"""A relaxation of the task-level model in which every job has nodes of its own.

Each job keeps its places, its transfers and the capacity of single nodes, but meets the others only in the capacity of
all nodes together (`Pool`s). A plan of the instance is a plan here, so the optimum bounds it. Between the linear
relaxation, which knows no places, and the full model, whose jobs compete for every single node, this is the part that a
solver can still finish. Interchangeable nodes may be renamed job by job: much less is symmetric.
"""

from __future__ import annotations

import itertools
from typing import Any

from mlsched.formulations.taskgraph._cp_model import TaskModel
from mlsched.formulations.taskgraph._places import symmetric


class SeparateModel(TaskModel):
    """The model without decode and encode: its places mean nothing across jobs. Every place must be a single node."""

    relaxation = True

    def _capacity(self) -> None:
        layout = self.layout
        used: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        for (k, i), choice in self.where.items():
            if not layout.duration[k]:
                continue
            x = self.x.get((layout.job[k], i), 1)
            for p, literal in choice.items():
                if self._contended(layout.job[k], p):
                    interval = self._interval((k, i), self._and(literal, x))
                    used.setdefault((layout.job[k], p), []).append((k, interval))
        for (j, p), runs in used.items():
            for r, room in enumerate(layout.capacity[self.places[p].nodes[0]]):
                if sum(layout.demand[k][r] for k in layout.tasks_of[j]) > room:
                    these = [(interval, q) for k, interval in runs if (q := layout.demand[k][r])]
                    self._share([v for v, _ in these], [q for _, q in these], room)
        self._share_all()

    def _contended(self, j: int, p: int) -> bool:
        """Whether the job's tasks cannot all be on the place at once."""
        layout = self.layout
        room = layout.capacity[self.places[p].nodes[0]]
        demands = [layout.demand[k] for k in layout.tasks_of[j] if layout.duration[k]]
        return any(sum(d) > c for d, c in zip(zip(*demands, strict=True), room, strict=True))

    def _break_symmetry(self) -> None:
        """As for the full model, job by job."""
        layout = self.layout
        if not layout.sticky:
            return
        for nodes, j in itertools.product(symmetric(layout), range(layout.jobs)):
            tasks = [k for k in layout.tasks_of[j] if (k, layout.first[j]) in self.where]
            self._in_order(nodes, tasks)
