"""The five algorithms of MLFS Section 4.1 as graphs of model partitions, and their training structure.

AlexNet and MLP are cut sequentially, ResNet and LSTM layer by layer into parts, SVM is never cut ("hard to partition").
Layers have parameters and multiply-accumulates for one sample. The values of AlexNet and ResNet-50 are computed from
their layers' shapes (torchvision's variants: 61,100,840 and 25,557,032 parameters). The paper does not give the sizes
of its MLP, LSTM and SVM: ours are 784-512-512-512-10, two layers of 1,024 units, and a linear classifier of 784 x 10.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mlsched.core.params import check_choice
from mlsched.instances.taskgraph.convert import Link, chain_iterations

if TYPE_CHECKING:
    import networkx as nx


@dataclasses.dataclass(frozen=True)
class Layer:
    """Parameters, and multiply-accumulates for one sample."""

    parameters: float
    work: float


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """A model's layers, and how it is partitioned: "sequential", "layers" or "never"."""

    name: str
    layers: tuple[Layer, ...]
    cut: str


ALGORITHMS: Mapping[str, Algorithm] = {
    a.name: a
    for a in (
        Algorithm(
            "alexnet",
            (
                Layer(23_296, 70_276_800),
                Layer(307_392, 223_948_800),
                Layer(663_936, 112_140_288),
                Layer(884_992, 149_520_384),
                Layer(590_080, 99_680_256),
                Layer(37_752_832, 37_748_736),
                Layer(16_781_312, 16_777_216),
                Layer(4_097_000, 4_096_000),
            ),
            "sequential",
        ),
        # Four stages of blocks; the first convolution belongs to the first, the classifier to the last.
        Algorithm(
            "resnet",
            (
                Layer(225_344, 785_956_864),
                Layer(1_219_584, 1_027_604_480),
                Layer(7_098_368, 1_464_336_384),
                Layer(17_013_736, 811_286_528),
            ),
            "layers",
        ),
        Algorithm(
            "mlp",
            (Layer(401_920, 401_408), Layer(262_656, 262_144), Layer(262_656, 262_144), Layer(5_130, 5_120)),
            "sequential",
        ),
        Algorithm("lstm", (Layer(8_396_800, 8_388_608), Layer(8_396_800, 8_388_608)), "layers"),
        Algorithm("svm", (Layer(7_850, 7_840),), "never"),
    )
}

SYNCS = ("parameter-server", "ring", "torus")


def pieces(layers: tuple[Layer, ...], count: int) -> list[Layer]:
    """Cut the layers into `count` consecutive pieces: merge neighbours with the least work, or halve the largest."""
    groups = list(layers)
    while len(groups) > count:
        i = min(range(len(groups) - 1), key=lambda i: groups[i].work + groups[i + 1].work)
        groups[i : i + 2] = [
            Layer(groups[i].parameters + groups[i + 1].parameters, groups[i].work + groups[i + 1].work)
        ]
    while len(groups) < count:
        i = max(range(len(groups)), key=lambda i: groups[i].work)
        half = Layer(groups[i].parameters / 2, groups[i].work / 2)
        groups[i : i + 1] = [half, half]
    return groups


def partition(algorithm: Algorithm, parts: int) -> list[list[Layer]]:
    """Cut the model into stages of parallel partitions, `parts` (a power of two) in total, in sequence."""
    if algorithm.cut == "sequential":
        return [[piece] for piece in pieces(algorithm.layers, parts)]
    if algorithm.cut == "never" or parts == 1:
        return [pieces(algorithm.layers, 1)]
    stages = 1
    while 2 * stages <= min(len(algorithm.layers), parts // 2):
        stages *= 2
    width = parts // stages
    return [[Layer(stage.parameters / width, stage.work / width)] * width for stage in pieces(algorithm.layers, stages)]


def training_graph(
    stages: list[list[Layer]], replicas: int, sync: str, between: Link, syncing: Link
) -> nx.MultiDiGraph:
    """Build the tasks of one iteration: every partition for every replica (mini-batch), and the synchronisation.

    Workers are named (replica, stage, part). A stage of a replica feeds all of its next (link `between`). By `sync`:

    - "parameter-server": the last workers send to a task "ps" (`syncing`), which sends to every worker of the next
    iteration;
    - "ring", "torus": all-reduce without a server. Workers of the same partition send to their neighbours' next
    iteration (`syncing`), and the last workers of all replicas precede all first workers of the next iteration.

    A single worker has neither neighbours nor a server. Attributes: `parameters` and `work` of tasks, all of edges.
    """
    import networkx as nx

    check_choice("sync", sync, SYNCS)
    graph = nx.MultiDiGraph()
    for r in range(replicas):
        for s, stage in enumerate(stages):
            for p, layer in enumerate(stage):
                graph.add_node((r, s, p), parameters=round(layer.parameters), work=layer.work)
                for q in range(len(stages[s - 1]) if s else 0):
                    graph.add_edge((r, s - 1, q), (r, s, p), lag=0, volume=between.volume, delay=between.delay)
    workers = list(graph.nodes)
    if len(workers) == 1:
        return graph
    if sync == "parameter-server":
        last = {worker for worker in workers if worker[1] == len(stages) - 1}
        serve(graph, last, round(sum(x.parameters for stage in stages for x in stage)), syncing)
        return graph
    chain_iterations(graph, Link(0, 0))
    for r, other in neighbours(replicas, sync):
        for s, stage in enumerate(stages):
            for p in range(len(stage)):
                graph.add_edge((r, s, p), (other, s, p), lag=1, volume=syncing.volume, delay=syncing.delay)
    return graph


def serve(graph: nx.MultiDiGraph, last: set[Any], parameters: int, syncing: Link) -> None:
    """Add a task "ps" with these parameters: the `last` workers send to it, and it to every worker's next iteration."""
    workers = list(graph.nodes)
    graph.add_node("ps", parameters=parameters, work=0.0)
    for worker in workers:
        if worker in last:
            graph.add_edge(worker, "ps", lag=0, volume=syncing.volume, delay=syncing.delay)
        graph.add_edge("ps", worker, lag=1, volume=syncing.volume, delay=syncing.delay)


def name_roles(graph: nx.MultiDiGraph) -> None:
    """Give the tasks of a `training_graph` their roles and replicas, as attributes."""
    for name, task in graph.nodes(data=True):
        task.update(role=int(name == "ps"), replica=0 if name == "ps" else name[0])


def neighbours(replicas: int, sync: str) -> Iterator[tuple[int, int]]:
    """Yield (sender, receiver) pairs: the next in a ring, or the next in row and column of the squarest torus."""
    rows = 1
    if sync == "torus":
        rows = max(d for d in range(1, int(replicas**0.5) + 1) if replicas % d == 0)
    columns = replicas // rows
    for r in range(replicas):
        row, column = divmod(r, columns)
        right, down = row * columns + (column + 1) % columns, (row + 1) % rows * columns + column
        yield from ((r, other) for other in dict.fromkeys((right, down)) if other != r)
