"""The edges of a horizon as the world walks them."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import Instance


class Graph:
    """`tasks[j]`: the tasks of job j. For every task: `sources`, how many edges of lag 0 come in; `receivers`, the
    (task, delay) of those that go out; `delays_on`, the delays of the edges of lag 1 that go out; `move`, the delay of
    the edge to itself (0: none): what it costs to change node.
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
