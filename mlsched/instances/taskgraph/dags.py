"""Random task graphs: layered, fork-join, series-parallel and of a random order.

Each function returns a `networkx.MultiDiGraph` of exactly `tasks` tasks, numbered so that edges go upwards, without
attributes; the generator adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import networkx as nx


def _graph_without_edges(tasks: int) -> nx.MultiDiGraph:
    import networkx as nx

    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(tasks))
    return graph


def layered(rng: np.random.Generator, tasks: int, density: float = 0.3) -> nx.MultiDiGraph:
    """Draw layers of random width; a task waits for one task of the layer before, and for others with `density`."""
    graph = _graph_without_edges(tasks)
    before: list[int] = []
    first = 0
    while first < tasks:
        width = min(int(rng.integers(1, max(2, round(2 * tasks**0.5)))), tasks - first)
        here = list(range(first, first + width))
        for v in here:
            sure = int(rng.integers(len(before))) if before else -1
            graph.add_edges_from((u, v) for i, u in enumerate(before) if i == sure or rng.random() < density)
        before, first = here, first + width
    return graph


def fork_join(rng: np.random.Generator, tasks: int) -> nx.MultiDiGraph:
    """Draw stages, each a fork into parallel tasks that one task joins, the next stage's fork."""
    graph = _graph_without_edges(tasks)
    fork, used = 0, 1
    while used < tasks:
        width = min(int(rng.integers(1, max(2, round(tasks**0.5)) + 1)), tasks - used)
        here = range(used, used + width)
        graph.add_edges_from((fork, v) for v in here)
        used += width
        if used < tasks:
            graph.add_edges_from((v, used) for v in here)
            fork, used = used, used + 1
    return graph


def series_parallel(rng: np.random.Generator, tasks: int) -> nx.MultiDiGraph:
    """Compose a random graph: one task, two graphs in series, or two in parallel, by fair coins.

    In series, the last tasks of the first precede the first tasks of the second.
    """
    graph = _graph_without_edges(tasks)

    def compose(low: int, high: int) -> tuple[list[int], list[int]]:
        """Compose the tasks low..high-1; returns the first and the last tasks."""
        if high - low == 1:
            return [low], [low]
        middle = int(rng.integers(low + 1, high))
        one, two = compose(low, middle), compose(middle, high)
        if rng.random() < 0.5:
            return one[0] + two[0], one[1] + two[1]
        graph.add_edges_from((u, v) for u in one[1] for v in two[0])
        return one[0], two[1]

    compose(0, tasks)
    return graph


def random_order(rng: np.random.Generator, tasks: int, density: float = 0.2) -> nx.MultiDiGraph:
    """Draw each pair of a random order as an edge with `density`, without transitive edges."""
    import networkx as nx

    pairs = [(u, v) for v in range(tasks) for u in range(v) if rng.random() < density]
    full = nx.DiGraph(pairs)
    graph = _graph_without_edges(tasks)
    graph.add_edges_from(sorted(nx.transitive_reduction(full).edges) if pairs else [])
    return graph


DAGS: Mapping[str, Callable[[np.random.Generator, int], nx.MultiDiGraph]] = {
    "layered": layered,
    "fork-join": fork_join,
    "series-parallel": series_parallel,
    "random-order": random_order,
}
