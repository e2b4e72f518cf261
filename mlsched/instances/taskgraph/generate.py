"""Random task-graph instances: MLFS training jobs, or jobs with random graphs, on a small cluster.

Nodes are the paper's p3.8xlarge servers (4 V100, 32 vCPU, 244 GB; GPUs in hundredths, since demand may be fractional),
with the given number of GPUs and the rest in proportion. Volumes follow Section 4.1: two draws from [50, 100] MB per
job, between workers and with the parameter server. The paper's open values are parameters here. A tick is the clock's
minute, and an "iteration" a block of the job's SGD iterations that fills some of them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Count, Range, Share, check_range, check_size, flatten_groups
from mlsched.instances.taskgraph.algorithms import ALGORITHMS, SYNCS, name_roles, partition, training_graph
from mlsched.instances.taskgraph.columns import FULL_ACCURACY
from mlsched.instances.taskgraph.convert import Link, chain_iterations, from_networkx
from mlsched.instances.taskgraph.dags import DAGS
from mlsched.instances.taskgraph.instance import Instance

if TYPE_CHECKING:
    import networkx as nx

#: Milliseconds of a tick: the clock's minute.
TICK_MS = 60_000
#: A p3.8xlarge with four GPUs: hundredths of GPUs, vCPUs, GB, Mbit/s.
SERVER = {"gpu_percent": 400, "cpu": 32, "memory": 244, "bandwidth": 10_000}
#: Least and greatest demand of a task besides GPUs: up to 1.5 times one GPU's share, so that it binds occasionally.
LOAD = (("cpu", 2, 12), ("memory", 8, 90), ("bandwidth", 500, 3750))
#: Hundredths of a GPU of tasks that share: three of the larger tasks fit a pool of two GPUs, but two never fit one GPU.
PARTS = (40, 60, 60, 80)
#: Section 4.1: how many GPUs, and partitions, a job may have.
GPUS = (1, 2, 4, 8, 16, 32)
PARALLELISM = ("mixed", "both", "data", "model", "none")


@dataclasses.dataclass(frozen=True)
class Sizes(ValidatedFields):
    """Parameters of `generate`, whose docstring has their meaning."""

    jobs: int = 2
    nodes: Count = 2
    runs: Count = 7
    gpus: Annotated[int, Range(1, 1000)] = 1
    graph: Annotated[str, ("mlfs", "dags", "mixed", *DAGS)] = "mixed"
    parallelism: Annotated[str, PARALLELISM] = "mixed"
    sync: Annotated[str, ("mixed", *SYNCS)] = "mixed"
    partitions: Count = 2
    replicas: Count = 2
    least_replicas: Count = 2
    longest: Count = 8
    slack: Annotated[float, Range(1, 10**6)] = 1.5
    spread: Annotated[float, Range(0, 1000)] = 0.3
    optional: Share = 0.3
    pinned: Share = 0.0
    fractional: Share = 0.0
    sharing: Share = 0.0
    bandwidth: Count = 50
    movement: Literal["none", "between_iterations"] = "none"
    accuracy_at: str = "deadline"
    roles: bool = False


@flatten_groups
@validate_arguments
def generate(rng: np.random.Generator, *, sizes: Sizes) -> Instance:
    """Draw an instance.

    Sizes:
        jobs: Number of jobs.
        nodes: Number of nodes.
        runs: Task runs (tasks x iterations) of all jobs together, met approximately: graphs are drawn to fit, and
            iterations fill the job's share.
        gpus: GPUs per node.
        graph: "mlfs" (the five algorithms), "dags" (random graphs of all kinds), one of "layered", "fork-join",
            "series-parallel", "random-order", or "mixed".
        parallelism: "both", "data", "model", "none", or "mixed".
        sync: "parameter-server", "ring", "torus" or "mixed".
        partitions: Most partitions of a model (drawn from 1, 2, 4, ... 32).
        replicas: Most mini-batches at once.
        least_replicas: Fewest mini-batches with data parallelism, if `runs` allows: more than a node's GPUs make
            traffic inevitable.
        longest: Most ticks of a model's forward and backward pass, and of a random task.
        slack: Deadline after arrival, in 1.1 critical paths (the paper's estimate with room for 10 %), drawn from
            [max(1, slack / 2), slack].
        spread: Period of arrivals, as a share of the time that the cluster needs for all work.
        optional: Share of jobs that may omit their last iteration. With more freedom total_jct would be trivial, as
            running less is always faster.
        pinned: Probability that a task may not use some node.
        fractional: Probability that a task needs half a GPU, of its node's pool of GPUs.
        sharing: Probability that a task needs 40 to 80 hundredths of one GPU and the usual other resources; GPUs are
            then distinguished (`gpu_unit`).
        bandwidth: MB that a transfer moves in a tick.
        movement, accuracy_at: See `Instance`; with movement, a task takes its parameters along.
        roles: Mark the parameter servers of the five algorithms, and the replica of the other tasks.
    """
    check_size("runs x nodes", sizes.runs * sizes.nodes)
    check_range("jobs", sizes.jobs, 0, sizes.runs)
    capacity = {name: amount * sizes.gpus // 4 for name, amount in SERVER.items()}
    draw = _Jobs(
        rng,
        sizes.partitions,
        (min(sizes.least_replicas, sizes.replicas), sizes.replicas),
        sizes.longest,
        sizes.bandwidth,
        sizes.movement != "none",
    )
    graphs = []
    remaining = sizes.runs
    for j in range(sizes.jobs):
        share = max(1, round(remaining / (sizes.jobs - j)))
        kind = _choose_kind(rng, sizes.graph)
        graph = (
            draw.draw_training_graph(share, kind, sizes.parallelism, sizes.sync)
            if kind == "mlfs"
            else draw.draw_random_graph(share, kind)
        )
        if sizes.roles and kind == "mlfs":
            name_roles(graph)
        draw.draw_demands(graph, sizes.nodes, capacity, sizes.pinned, sizes.fractional, sizes.sharing)
        most = max(1, round(share / len(graph)))
        remaining = max(sizes.jobs - j - 1, remaining - most * len(graph))
        graph.graph["max_iterations"] = most
        graph.graph["min_iterations"] = most - int(most > 1 and rng.random() < sizes.optional)
        graphs.append(graph)
    work = sum(
        g.graph["max_iterations"] * d["duration"] * d["demand"]["gpu_percent"]
        for g in graphs
        for _, d in g.nodes(data=True)
    )
    for graph in graphs:
        draw.draw_times(graph, int(sizes.spread * work / (100 * sizes.gpus * sizes.nodes)), sizes.slack)
        draw.draw_accuracies(graph)
    return from_networkx(
        graphs,
        [capacity] * sizes.nodes,
        movement=sizes.movement,
        accuracy_at=sizes.accuracy_at,
        tick_ms=TICK_MS,
        gpu_unit=100 if sizes.sharing else 0,
        ignore=("work",),
    )


def _choose_kind(rng: np.random.Generator, graph: str) -> str:
    kinds = {"mlfs": ["mlfs"], "dags": [*DAGS], "mixed": ["mlfs"] * len(DAGS) + [*DAGS]}.get(graph, [graph])
    return kinds[int(rng.integers(len(kinds)))]


class _Jobs:
    """Draws jobs as networkx graphs."""

    def __init__(
        self,
        rng: np.random.Generator,
        partitions: int,
        replicas: tuple[int, int],
        longest: int,
        bandwidth: int,
        moving: bool,
    ) -> None:
        self.rng, self.partitions, self.replicas = rng, partitions, replicas
        self.longest, self.bandwidth, self.moving = longest, bandwidth, moving

    def _draw_integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def _draw_link(self) -> Link:
        volume = self._draw_integer(50, 100)
        return Link(volume, -(-volume // self.bandwidth))

    def draw_training_graph(self, most: int, kind: str, parallelism: str, sync: str) -> nx.MultiDiGraph:
        """Draw a job of one of the five algorithms with about `most` tasks."""
        algorithm = list(ALGORITHMS.values())[self._draw_integer(0, len(ALGORITHMS) - 1)]
        how = PARALLELISM[self._draw_integer(1, 4)] if parallelism == "mixed" else parallelism
        by = SYNCS[self._draw_integer(0, len(SYNCS) - 1)] if sync == "mixed" else sync
        parts, copies = 1, 1
        if how in ("both", "model") and algorithm.cut != "never":
            able = [g for g in GPUS if g <= min(self.partitions, most)]
            parts = able[self._draw_integer(min(1, len(able) - 1), len(able) - 1)]
        if how in ("both", "data"):
            room = max(1, min(self.replicas[1], (most - (by == "parameter-server")) // parts))
            copies = self._draw_integer(min(self.replicas[0], room), room)
        graph = training_graph(partition(algorithm, parts), copies, by, self._draw_link(), self._draw_link())
        # The longest pass fills `longest` ticks on one GPU; partitions share it by their work.
        total = sum(layer.work for layer in algorithm.layers)
        ticks = self._draw_integer(max(1, self.longest // 2), self.longest)
        for _, task in graph.nodes(data=True):
            task["duration"] = max(1, round(ticks * task["work"] / total))
        return graph

    def draw_random_graph(self, most: int, kind: str) -> nx.MultiDiGraph:
        """Draw a job with a random graph of at most `most` tasks."""
        graph = DAGS[kind](self.rng, self._draw_integer(max(1, most // 4), max(1, most // 2)))
        for _, task in graph.nodes(data=True):
            task.update(duration=self._draw_integer(1, self.longest), parameters=self._draw_integer(1, 100) * 10_000)
        for _, _, edge in graph.edges(data=True):
            link = self._draw_link()
            edge.update(lag=0, volume=link.volume, delay=link.delay)
        chain_iterations(graph, self._draw_link())
        return graph

    def draw_demands(
        self,
        graph: nx.MultiDiGraph,
        nodes: int,
        capacity: dict[str, int],
        pinned: float,
        fractional: float,
        sharing: float,
    ) -> None:
        """Draw the demands of every task, its eligible nodes, and the price of moving it."""
        for name, task in graph.nodes(data=True):
            half = self.rng.random() < fractional
            gpu = 0 if name == "ps" else 50 if half else 100
            part = 100
            if sharing and gpu == 100 and self.rng.random() < sharing:
                gpu = part = PARTS[self._draw_integer(0, len(PARTS) - 1)]
            task["demand"] = {"gpu_percent": gpu}
            for resource, low, high in LOAD:
                task["demand"][resource] = self._draw_integer(low, min(high, capacity[resource])) * part // 100
            barred = self._draw_integer(0, nodes - 1) if nodes > 1 and self.rng.random() < pinned else -1
            task["eligible"] = [n for n in range(nodes) if n != barred]
        if self.moving:
            for name, task in list(graph.nodes(data=True)):
                size = -(-4 * task["parameters"] // 10**6)
                graph.add_edge(name, name, lag=1, volume=size, delay=-(-size // self.bandwidth))

    def draw_times(self, graph: nx.MultiDiGraph, latest: int, slack: float) -> None:
        """Draw arrival, deadline and urgency."""
        path: dict[Any, int] = {}
        for name in _topological_order(graph):
            before = [path[u] for u, _, lag in graph.in_edges(name, data="lag") if lag == 0]
            path[name] = max(before, default=0) + graph.nodes[name]["duration"]
        alone = graph.graph["max_iterations"] * max(path.values())
        arrival = self._draw_integer(0, latest)
        room = 1.1 * alone * self.rng.uniform(max(1.0, slack / 2), slack)
        graph.graph.update(
            arrival=arrival, deadline=min(UNLIMITED, arrival + int(np.ceil(room))), urgency=self._draw_integer(1, 10)
        )

    def draw_accuracies(self, graph: nx.MultiDiGraph) -> None:
        """Draw a concave accuracy table, starting at 0.1 (guessing), and the required accuracy."""
        most = graph.graph["max_iterations"]
        final, rate = self.rng.uniform(0.7, 0.98), self.rng.uniform(1, 4) / most
        rise = 1 - np.exp(-rate * np.arange(most + 1))
        table = np.floor(FULL_ACCURACY * (0.1 + (final - 0.1) * rise / rise[-1])).astype(np.int64)
        needed = self._draw_integer(max(1, most // 2), graph.graph["min_iterations"])
        graph.graph.update(accuracy=table.tolist(), required=int(table[needed]))


def _topological_order(graph: nx.MultiDiGraph) -> list[Any]:
    """Sort the tasks topologically by the edges inside an iteration."""
    import networkx as nx

    inside = nx.DiGraph()
    inside.add_nodes_from(graph.nodes)
    inside.add_edges_from((u, v) for u, v, lag in graph.edges(data="lag") if lag == 0)
    return list(nx.topological_sort(inside))
