"""Task-graph instances worked out by hand, and a plain list scheduler.

`small()`: node 0 has one GPU, node 1 two. Job 0 runs task 0 (2 ticks) and then task 1 (3 ticks), once or twice; moving
data between nodes takes a tick from 0 to 1 (volume 5), none from 1 to the next iteration's 0 (volume 7). Job 1 arrives
at 1 and is task 2 (4 ticks), on node 1 only, once or never.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from mlsched.instances.taskgraph import Instance, Timetable

SMALL = {
    "resources": ["gpu"],
    "node_capacity": [[1], [2]],
    "arrival": [0, 1],
    "deadline": [12, 6],
    "urgency": [1, 1],
    "required": [600_000, 500_000],
    "min_iterations": [1, 0],
    "max_iterations": [2, 1],
    "accuracy": [[100_000, 400_000, 600_000], [0, 500_000, 500_000]],
    "task_job": [0, 0, 1],
    "duration": [2, 3, 4],
    "demand": [[1], [1], [1]],
    "eligible": [[1, 1], [1, 1], [0, 1]],
    "parameters": [10, 20, 30],
    "edge_from": [0, 1],
    "edge_to": [1, 0],
    "edge_lag": [0, 1],
    "edge_volume": [5, 7],
    "edge_delay": [1, 0],
}
#: (task, iteration, node, start) of a good plan of `small()`.
GOOD = ((0, 0, 0, 0), (1, 0, 0, 2), (0, 1, 0, 5), (1, 1, 0, 7), (2, 0, 1, 1))


#: The columns of jobs and their tasks, and those of edges: without jobs, all are empty.
OF_JOBS = (
    "arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations", "accuracy", "task_job",
    "duration", "demand", "eligible", "parameters",
)  # fmt: skip
OF_EDGES = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")


def small(**changes) -> Instance:
    """The instance of this module's docstring, with some fields changed."""
    return Instance(**{**SMALL, **changes})


def running(**changes) -> Instance:
    """`small()` at time 6: job 0's first iteration ended at 5 on node 0; its task 0 has run there since 5."""
    state = {
        "now": 6,
        "finished": [1, 0],
        "on_time": [1, 0],
        "home": [0, 0, -1],
        "last_end": [2, 5, 0],
        "fixed_task": [0],
        "fixed_node": [0],
        "fixed_start": [5],
    }
    return small(**{**state, **changes})


def plan(instance: Instance, *runs: tuple[int, int, int, int]) -> Timetable:
    """The timetable of (task, iteration, node, start)."""
    task, iteration, node, start = (list(column) for column in zip(*runs, strict=True)) if runs else ([], [], [], [])
    return instance.timetable(iteration, task, node, start)


def changed(run: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """`GOOD` with the run of the same task and iteration replaced."""
    return [run if old[:2] == run[:2] else old for old in GOOD]


def list_schedule(instance: Instance, *, rng: np.random.Generator) -> Timetable:
    """Least iterations; runs in topological order, each at its earliest start not before the one placed last."""
    first = instance.finished.tolist()
    least = np.maximum(instance.min_iterations, instance.finished)
    begun = {
        (int(k), first[instance.task_job[k]]): (int(n), int(s))
        for k, n, s in zip(instance.fixed_task, instance.fixed_node, instance.fixed_start, strict=True)
    }
    for task, i in begun:
        least[instance.task_job[task]] = max(least[instance.task_job[task]], i + 1)
    graph = nx.DiGraph()
    graph.add_nodes_from((k, i) for k, j in enumerate(instance.task_job) for i in range(first[j], least[j]))
    edges = [(k, k, 1) for k in range(len(instance.task_job))]
    edges += list(zip(instance.edge_from.tolist(), instance.edge_to.tolist(), instance.edge_lag.tolist(), strict=True))
    for u, v, lag in edges:
        job = instance.task_job[v]
        graph.add_edges_from(((u, i - lag), (v, i)) for i in range(first[job], least[job]) if (u, i - lag) in graph)
    placed = dict(begun)
    host = {k: int(h) for k, h in enumerate(instance.home) if h >= 0 and instance.movement == "none"}
    host |= {k: n for (k, _), (n, _) in begun.items() if instance.movement == "none"}
    clock = max([instance.now, *(s for _, s in begun.values())])
    for task, i in nx.lexicographical_topological_sort(graph, key=lambda run: (run[1], run[0])):
        if (task, i) in placed:
            continue
        nodes = [host[task]] if task in host else np.flatnonzero(instance.eligible[task]).tolist()
        starts = [(_earliest(instance, placed, task, i, n, clock), n) for n in nodes if _fits(instance, task, n)]
        clock, node = min(starts)
        placed[task, i] = node, clock
        if instance.movement == "none":
            host[task] = node
    return plan(instance, *((k, i, n, s) for (k, i), (n, s) in placed.items()))


def _fits(instance, task, node) -> bool:
    return instance.duration[task] == 0 or bool((instance.demand[task] <= instance.node_capacity[node]).all())


def _earliest(instance, placed, task, i, node, clock) -> int:
    def end(k, before):
        """Node and end of a run before."""
        if (k, before) in placed:
            return placed[k, before][0], placed[k, before][1] + int(instance.duration[k])
        return (int(instance.home[k]), int(instance.last_end[k])) if before >= 0 else (node, 0)

    time = max(clock, int(instance.arrival[instance.task_job[task]]), end(task, i - 1)[1])
    for e in np.flatnonzero(instance.edge_to == task):
        there, done = end(int(instance.edge_from[e]), i - int(instance.edge_lag[e]))
        time = max(time, done + int(instance.edge_delay[e]) * (there != node))
    busy = [(s + int(instance.duration[k]), instance.demand[k]) for (k, _), (n, s) in placed.items() if n == node]
    while (
        instance.duration[task]
        and (sum((d for e, d in busy if e > time), instance.demand[task]) > instance.node_capacity[node]).any()
    ):
        time = min(e for e, _ in busy if e > time)
    return time
