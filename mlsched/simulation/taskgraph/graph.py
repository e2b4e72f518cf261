"""Edges of a horizon, prepared for the world."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import Instance


class Graph:
    """Edges of a horizon's tasks.

    Attributes:
        tasks: Tasks of each job.
        sources: Number of incoming edges of lag 0 of each task.
        receivers: (Task, delay) of the outgoing ones.
        delays_on: Delays of the outgoing edges of lag 1.
        move: Delay of the edge to itself (0 if it lacks one), which is the cost of changing nodes.
    """

    def __init__(self, horizon: Instance) -> None:
        jobs, count = len(horizon.arrival), len(horizon.task_job)
        ends = np.searchsorted(horizon.task_job, np.arange(jobs + 1))
        self.tasks: list[IntArray] = [np.arange(ends[j], ends[j + 1]) for j in range(jobs)]
        self.sources = [0] * count
        self.receivers: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.delays_on: list[list[int]] = [[] for _ in range(count)]
        self.move = [0] * count
        columns = (horizon.edge_from, horizon.edge_to, horizon.edge_lag, horizon.edge_delay)
        for u, v, lag, delay in zip(*(c.tolist() for c in columns), strict=True):
            if lag == 0:
                self.sources[v] += 1
                self.receivers[u].append((v, delay))
            else:
                self.delays_on[u].append(delay)
                if u == v:
                    self.move[u] = max(self.move[u], delay)
