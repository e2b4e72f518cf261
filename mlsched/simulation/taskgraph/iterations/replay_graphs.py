"""Lengths of iterations by the graphs of a workload, for the independent check of runs: in plain lists.

The module shares no code with the engine.
"""

from __future__ import annotations

from collections import defaultdict

from mlsched.simulation.taskgraph.iterations.workload import Jobs

WHOLE = 10**6


class Graphs:
    """Templates' graphs for the check, in plain lists."""

    def __init__(self, jobs: Jobs) -> None:
        self.duration = jobs.duration.tolist()
        columns = (jobs.edge_from, jobs.edge_to, jobs.edge_lag, jobs.edge_delay, jobs.task_template[jobs.edge_from])
        self.edges: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
        for u, v, lag, delay, template in zip(*(c.tolist() for c in columns), strict=True):
            first = jobs.tasks[template][0]
            self.edges[template].append((u - first, v - first, lag, delay))

    def lengths(self, stated: list[int], template: int, nodes: tuple[int, ...], slow: list[int]) -> tuple[int, int]:
        """Return the lengths of the first and second iteration on these nodes, in 10^-6 ticks.

        Args:
            stated: Stated time of each task, 10^-6 ticks.
            template: Number of the template.
            nodes: Node of each task.
            slow: Slowdown of each task, ppm.
        """
        edges = self.edges.get(template, [])
        took = [-(-ticks * factor // WHOLE) for ticks, factor in zip(stated, slow, strict=True)]
        ends = self._iteration_ends(took, edges, nodes, None)
        again = self._iteration_ends(took, edges, nodes, [end - max(ends) for end in ends])
        return max(1, *ends), max(1, *again)

    def _iteration_ends(
        self, took: list[int], edges: list[tuple[int, int, int, int]], nodes: tuple[int, ...], before: list[int] | None
    ) -> list[int]:
        """Return the ends of the tasks, from the iteration's beginning: raised until all edges are satisfied.

        Args:
            took: Time of each task.
            edges: Edges of the graph.
            nodes: Node of each task.
            before: Ends in the previous iteration.
        """
        ends = list(took)
        changed = True
        while changed:
            changed = False
            for u, v, lag, delay in edges:
                if lag and before is None:
                    continue
                source = before[u] if lag and before is not None else ends[u]
                end = source + (delay * WHOLE if nodes[u] != nodes[v] else 0) + took[v]
                if end > ends[v]:
                    ends[v], changed = end, True
        return ends
