"""Task graphs from networkx and back.

A job is a `networkx.DiGraph` (or `MultiDiGraph`) of tasks. These attributes are read, all of them integers:

- of the graph (`graph.graph`): `name` (empty), `arrival` (0), `deadline` (absent), `urgency` (1), `required` (0, ppm),
`max_iterations` (1), `min_iterations` (as many), `accuracy` (ppm after 0, 1, ... iterations; all 0);
- of a task: `duration` (required), `demand` (resource -> amount; empty), `eligible` (node numbers; all), `parameters`
(0), `role` (0: worker, 1: parameter server, 2: reducer), `replica` (0), `name` (the node itself, as text);
- of an edge: `lag` (0: same iteration, 1: from an iteration to the next), `volume` (0), `delay` (0).

Names are for people: plans as tables and pictures show them. Any other attribute is rejected unless named in `ignore`:
a misspelt attribute must not become a default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.fields import UNLIMITED, IntArray, as_int, ints
from mlsched.core.params import Range
from mlsched.instances.taskgraph.instance import Instance

if TYPE_CHECKING:
    import networkx as nx

#: Default of each integer attribute; None: must be given, or follows from others.
OF_JOB = {"arrival": 0, "deadline": UNLIMITED, "urgency": 1, "required": 0, "max_iterations": 1}
OF_TASK = {"parameters": 0, "role": 0, "replica": 0}
OF_EDGE = {"lag": 0, "volume": 0, "delay": 0}


@validate_arguments
def from_networkx(
    graphs: Any,
    nodes: Sequence[Mapping[str, int]],
    *,
    movement: str = "none",
    accuracy_at: str = "deadline",
    tick_ms: Annotated[int, Range(0)] = 0,
    gpu_unit: Annotated[int, Range(0)] = 0,
    ignore: Collection[str] = (),
) -> Instance:
    """Build an instance of jobs from networkx graphs (one, or an iterable of them).

    Tasks are numbered graph by graph, each in the order of `graph.nodes`. All attributes are integers unless stated:

    - of a graph: `arrival` (0), `deadline` (none), `urgency` (1), `required` accuracy (0, parts per million),
      `max_iterations` (1), `min_iterations` (`max_iterations`), `accuracy` (a list: parts per million after 0, 1, ...
      iterations), `name` (text);
    - of a task (a node of the graph): `duration` (required), `demand` (resource -> amount; empty), `eligible` (a list
      of the numbers of the machines that may run it; all), `parameters` (0), `role` (0: worker, 1: parameter server, 2:
      reducer), `replica` (0), `name` (text);
    - of an edge: `lag` (0: same iteration, 1: next iteration), `volume` (0), `delay` (0) between different machines.

    Args:
        graphs: One graph per job.
        nodes: The capacity of each node, resource -> amount, all with the same resources; a resource that counts GPUs
            is named gpu, gpu_percent or gpu_milli.
        movement: "none": a task stays on its node. "between_iterations": it may change nodes after an iteration.
        accuracy_at: Time at which accuracy counts: "deadline" or "final".
        tick_ms: Milliseconds of a tick; 0 for ticks without a length.
        gpu_unit: Units of the GPU resource per individual GPU; 0: the GPUs of a node are a pool.
        ignore: Attributes to skip.

    Raises:
        InvalidInput: An attribute is wrong or unknown; the message names job and task or edge.

    Examples:
        >>> import networkx
        >>> job = networkx.DiGraph(name="nightly")
        >>> for task, minutes in {"load": 4, "fit": 9}.items():
        ...     job.add_node(task, duration=minutes, demand={"gpu": 1})
        >>> job.add_edge("load", "fit")
        >>> inst = mlsched.from_networkx(job, nodes=[{"gpu": 2}], tick_ms=60_000)
        >>> mlsched.solve(inst, "cp-sat", objective="makespan").value
        13
    """
    jobs = [graphs] if hasattr(graphs, "adj") else list(graphs) if isinstance(graphs, Iterable) else [None]
    if not all(hasattr(graph, "adj") for graph in jobs):
        raise InvalidInput("graphs: expected a networkx graph for each job, one or a list of them")
    resources = _resources(nodes)
    read = _Reader(resources, len(nodes), frozenset(ignore))
    for number, graph in enumerate(jobs):
        read.read_job(f"job {number}", number, graph)
    return Instance(
        resources=resources,
        node_capacity=_integer_table(
            [[as_int(f"nodes[{n}] {r}", node[r]) for r in resources] for n, node in enumerate(nodes)], len(resources)
        ),
        movement=movement,
        accuracy_at=accuracy_at,
        tick_ms=tick_ms,
        gpu_unit=gpu_unit,
        **read.fields(),
    )


def _resources(nodes: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    if not nodes:
        raise InvalidInput("nodes: is empty; give the capacity of at least one node")
    resources = tuple(nodes[0])
    for n, node in enumerate(nodes):
        if set(node) != set(resources):
            raise InvalidInput(f"nodes[{n}]: has {', '.join(node) or 'nothing'}, expected {', '.join(resources)}")
    return resources


class _Reader:
    """Collects the columns of an instance, job by job."""

    def __init__(self, resources: tuple[str, ...], nodes: int, ignore: frozenset[str]) -> None:
        self.resources, self.nodes, self.ignore = resources, nodes, ignore
        self.jobs: dict[str, list[int]] = {name: [] for name in (*OF_JOB, "min_iterations")}
        self.accuracy: list[list[int]] = []
        self.job_names: list[str] = []
        self.task_names: list[str] = []
        self.tasks: dict[str, list[int]] = {name: [] for name in ("task_job", "duration", *OF_TASK)}
        self.demand: list[list[int]] = []
        self.eligible: list[list[int]] = []
        self.edges: dict[str, list[int]] = {name: [] for name in ("from", "to", *OF_EDGE)}

    def read_job(self, where: str, number: int, graph: nx.MultiDiGraph) -> None:
        if not (hasattr(graph, "adj") and graph.is_directed()):
            raise InvalidInput(
                f"{where}: is {with_article(type(graph).__name__)}, expected a networkx DiGraph or MultiDiGraph"
            )
        self._read_job_row(where, graph.graph)
        first = len(self.tasks["task_job"])
        index = {name: first + i for i, name in enumerate(graph.nodes)}
        for name, attributes in graph.nodes(data=True):
            self._read_task_row(f"{where}, task {name!r}", attributes)
            self.task_names.append(str(name if "name" in self.ignore else attributes.get("name", name)))
            self.tasks["task_job"].append(number)
        for tail, head, attributes in graph.edges(data=True):
            self._refuse_unknown(f"{where}, edge {tail!r} -> {head!r}", attributes, OF_EDGE)
            self.edges["from"].append(index[tail])
            self.edges["to"].append(index[head])
            for key, default in OF_EDGE.items():
                value = attributes.get(key, default)
                self.edges[key].append(as_int(f"{where}, edge {tail!r} -> {head!r}: {key}", value))

    def _refuse_unknown(self, where: str, attributes: Mapping[str, Any], known: Iterable[str]) -> None:
        for name in attributes:
            if name not in known and name not in self.ignore:
                raise InvalidInput(
                    f"{where}: unknown attribute {name!r}; known are {', '.join(known)}; drop it or name it in ignore="
                )

    def _read_job_row(self, where: str, attributes: Mapping[str, Any]) -> None:
        self._refuse_unknown(where, attributes, (*OF_JOB, "min_iterations", "accuracy", "name"))
        self.job_names.append("" if "name" in self.ignore else str(attributes.get("name", "")))
        for key, default in OF_JOB.items():
            self.jobs[key].append(as_int(f"{where}: {key}", attributes.get(key, default)))
        most = self.jobs["max_iterations"][-1]
        self.jobs["min_iterations"].append(as_int(f"{where}: min_iterations", attributes.get("min_iterations", most)))
        accuracies = attributes.get("accuracy")
        row = [0] * (most + 1) if accuracies is None else [as_int(f"{where}: accuracy", a) for a in accuracies]
        if len(row) != most + 1:
            raise InvalidInput(f"{where}: accuracy has {len(row)} entries, expected {most + 1} (max_iterations + 1)")
        self.accuracy.append(row)

    def _read_task_row(self, where: str, attributes: Mapping[str, Any]) -> None:
        self._refuse_unknown(where, attributes, ("duration", "demand", "eligible", "name", *OF_TASK))
        if "duration" not in attributes:
            raise InvalidInput(f"{where}: 'duration' is missing; give its ticks")
        self.tasks["duration"].append(as_int(f"{where}: duration", attributes["duration"]))
        for key, default in OF_TASK.items():
            self.tasks[key].append(as_int(f"{where}: {key}", attributes.get(key, default)))
        demand = attributes.get("demand", {})
        for name in demand:
            if name not in self.resources:
                raise InvalidInput(f"{where}: demand of {name!r}: the nodes have {', '.join(self.resources) or 'none'}")
        self.demand.append([as_int(f"{where}: demand of {name}", demand.get(name, 0)) for name in self.resources])
        row = [0] * self.nodes
        for node in attributes.get("eligible", range(self.nodes)):
            if not 0 <= as_int(f"{where}: eligible", node) < self.nodes:
                raise InvalidInput(f"{where}: eligible node {node}: there are {self.nodes}, numbered from 0")
            row[node] = 1
        self.eligible.append(row)

    def fields(self) -> dict[str, Any]:
        width = max((len(row) for row in self.accuracy), default=0)
        padded = [row + [row[-1]] * (width - len(row)) for row in self.accuracy]
        return {
            **self.jobs,
            "accuracy": _integer_table(padded, width),
            **self.tasks,
            "demand": _integer_table(self.demand, len(self.resources)),
            "eligible": _integer_table(self.eligible, self.nodes),
            **{f"edge_{name}": ints(column) for name, column in self.edges.items()},
            **self._names_of_parts(),
        }

    def _names_of_parts(self) -> dict[str, Any]:
        """Return the names of jobs and tasks; empty if they only repeat the numbers."""
        jobs = [name or f"job {number}" for number, name in enumerate(self.job_names)]
        are_numbers = self.task_names == [str(i) for i in range(len(self.task_names))]
        return {
            "job_names": tuple(jobs) if any(self.job_names) else (),
            "task_names": () if are_numbers else tuple(self.task_names),
        }


def _integer_table(rows: list[list[int]], width: int) -> IntArray:
    try:
        return np.array(rows, dtype=np.int64).reshape(len(rows), width)
    except OverflowError:
        raise InvalidInput("an integer is beyond 64 bits") from None


def to_networkx(instance: Instance) -> list[Any]:
    """Return one `networkx.MultiDiGraph` per job, with every attribute that `from_networkx` reads; tasks are numbers.

    The state of a residual problem (`now`, `finished`, `fixed`, ...) is not part of the graphs.
    """
    import networkx as nx

    graphs = []
    for job, most in enumerate(instance.max_iterations.tolist()):
        attributes: dict[str, Any] = {name: int(getattr(instance, name)[job]) for name in (*OF_JOB, "min_iterations")}
        attributes |= {"name": instance.job_names[job]} if instance.job_names else {}
        graphs.append(nx.MultiDiGraph(**attributes, accuracy=instance.accuracy[job, : most + 1].tolist()))
    for task, job in enumerate(instance.task_job.tolist()):
        graphs[job].add_node(
            task,
            duration=int(instance.duration[task]),
            demand=dict(zip(instance.resources, instance.demand[task].tolist(), strict=True)),
            eligible=np.flatnonzero(instance.eligible[task]).tolist(),
            **{name: int(getattr(instance, name)[task]) for name in OF_TASK},
            **({"name": instance.task_names[task]} if instance.task_names else {}),
        )
    columns = [getattr(instance, f"edge_{name}").tolist() for name in ("from", "to", *OF_EDGE)]
    for tail, head, *values in zip(*columns, strict=True):
        graphs[int(instance.task_job[tail])].add_edge(tail, head, **dict(zip(OF_EDGE, values, strict=True)))
    return graphs


@dataclasses.dataclass(frozen=True)
class Link:
    """The cost of one transfer: volume, and ticks if it goes from one node to another."""

    volume: int
    delay: int


def chain_iterations(graph: nx.MultiDiGraph, link: Link) -> None:
    """Let the first tasks of an iteration wait for the last tasks of the previous iteration (edges of lag 1)."""
    inside = [(u, v) for u, v, lag in graph.edges(data="lag", default=0) if lag == 0]
    heads: set[Hashable] = {v for _, v in inside}
    tails: set[Hashable] = {u for u, _ in inside}
    for last in [n for n in graph.nodes if n not in tails]:
        for first in [n for n in graph.nodes if n not in heads]:
            graph.add_edge(last, first, lag=1, volume=link.volume, delay=link.delay)
