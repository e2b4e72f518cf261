"""Clusters of training jobs by the evaluation recipe of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 4.1).

The paper joins arrivals, GPUs and final accuracies of the Philly trace with five algorithms that it ran itself. Neither
its 117,325 jobs nor its measurements are public. This module follows its recipe; everything left open is drawn by
stated rules, from a seed.

As in the paper:

- the five algorithms, equally likely; GPUs of a job from {1, 2, 4, 8, 16, 32};
- partitions of its model in the number of its GPUs, but for SVM mini-batches in that number;
- servers with four GPUs, 32 CPUs, 244 GB and 10 Gbit/s;
- two volumes from [50, 100] MB per job, between workers and with the parameter server;
- deadlines max(1.1 t_e, t_r) after arrival, t_e the estimated running time and t_r from [1/2, 24] hours;
- every job stops when more iterations no longer help (option ii) and may be switched to its required accuracy (iii).

Our own rules:

- two mini-batches at once, whose workers demand 40 % of a GPU and the same share of its other resources, so that two
  share it (SVM's, one on each GPU, 80 %);
- tasks use 60 to 130 % of their demand on average;
- running times are log-normal (sigma 1.5), arrivals a Poisson process;
- an iteration is a block of `batches` mini-batches;
- accuracies rise exponentially from guessing to between 70 and 98 %, requirements are 80 to 99 % of the last;
- payments are uniform;
- estimates are off by 11 % on average for half of the jobs, by 30 % for the others (the paper's 89 and 70 %),
  accuracies by up to 10 %.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Columns, Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import Count, Positive, Range
from mlsched.instances.taskgraph.algorithms import ALGORITHMS, partition, training_graph
from mlsched.instances.taskgraph.columns import FULL_ACCURACY
from mlsched.instances.taskgraph.convert import Link
from mlsched.instances.taskgraph.generate import GPUS, SERVER
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.sources import ERROR_NEW, ERROR_SEEN

#: A tick is a second.
TICK_MS = 1000
HOUR = 3600
#: GPUs of a server, in `gpu_percent` of 100 each.
GPUS_A_SERVER = 4
#: MB per second of a transfer: the server's 10 Gbit/s.
BANDWIDTH = 1250
#: Mini-batches at once of a model that is cut into partitions.
REPLICAS = 2
#: Demand of the workers on one GPU, 80 % of its share of the server; and the demand of a parameter server.
A_GPU = {name: 8 * amount // (10 * GPUS_A_SERVER) for name, amount in SERVER.items()}
A_PARAMETER_SERVER = {"gpu_percent": 0, "cpu": 2, "memory": 8, "bandwidth": 1000}
#: Accuracy of an untrained model.
GUESSING = 0.1
#: Number of graphs per algorithm and number of GPUs; jobs draw one.
VARIETY = 3


@dataclasses.dataclass
class Templates:
    """Columns of templates, tasks, edges and accuracy tables, while they are built."""

    columns: dict[str, list[Any]] = dataclasses.field(default_factory=dict)
    size: list[int] = dataclasses.field(default_factory=list)  # GPUs
    path: list[int] = dataclasses.field(default_factory=list)  # ticks of an iteration, for a scale of 10^6

    def add(self, **values: Any) -> None:
        """Append a value to each of these columns."""
        for name, value in values.items():
            self.columns.setdefault(name, []).append(value)

    def count(self, name: str) -> int:
        """Return the length of a column."""
        return len(self.columns.get(name, ()))

    def close(self, size: int, table: FloatArray, told: FloatArray) -> None:
        """Complete the last graph's template with its GPUs, accuracies, and the accuracies told (shares of 1)."""
        for values in (table, np.maximum.accumulate(np.clip(told, 0, 1))):
            self.add(accuracy=np.floor(FULL_ACCURACY * values).astype(np.int64))
        rows = self.count("accuracy")
        self.add(accuracy_table=rows - 2, accuracy_told=rows - 1, gang=1)
        self.size.append(size)

    @property
    def arrays(self) -> Columns:
        """Return the columns, for `Jobs`."""
        return {name: np.array(values) for name, values in self.columns.items()}


@validate_arguments
def mlfs(
    *,
    jobs: Count = 155,
    seed: int = 0,
    servers: Count = 20,
    hours: Annotated[float, Range(0, 1000, open_low=True)] = 2.0,
    load: Positive = 0.8,
    iterations: Annotated[int, Range(2, 10**4)] = 40,
    batches: Count = 50,
    largest: Count = 32,
    error: Annotated[float, Range(0, 1.5)] = 1.0,
) -> Jobs:
    """Draw MLFS' cluster of training jobs (Section 4.1); ticks of a second.

    Args:
        jobs: Number of jobs.
        seed: Seed of the draws.
        servers: Number of servers.
        hours: Median running time.
        load: GPU work over the capacity of the cluster's GPUs while jobs arrive. More jobs at the same load arrive over
            a longer time.
        iterations: Most iterations of a job, drawn from half of it up.
        batches: Mini-batches of an iteration, and the number of times that it sends its volume.
        largest: Most GPUs of a job, at most half of the cluster's.
        error: Factor on all errors of estimates; 0: exact.
    """
    rng = np.random.default_rng([seed, jobs, servers])
    sizes = [g for g in GPUS if g <= min(largest, max(1, servers * GPUS_A_SERVER // 2))]
    made_values = _draw_templates(rng, sizes, iterations, batches, error)
    template = rng.integers(len(made_values.size), size=jobs)
    running = hours * HOUR * np.exp(1.5 * rng.standard_normal(jobs))
    most = rng.integers(max(1, iterations // 2), iterations + 1, jobs)
    path = np.array(made_values.path)[template]
    scale = np.maximum(np.rint(running * WHOLE / (most * path)), 1).astype(np.int64)
    running = most * path * (scale / WHOLE)
    gpus_held = np.array(made_values.size)[template]
    gaps = rng.exponential(float((gpus_held * running).sum()) / (load * servers * GPUS_A_SERVER * jobs), jobs)
    arrival = np.floor(np.cumsum(gaps) - gaps[0]).astype(np.int64)
    estimate = scale * (1 + error * errors(rng, jobs))
    columns = made_values.arrays
    return Jobs(
        **cluster(servers),
        **columns,
        template=template,
        arrival=arrival,
        scale=scale,
        told=np.maximum(np.rint(estimate), 1).astype(np.int64),
        **agreed(rng, columns["accuracy"][2 * template], most, arrival, running * estimate / scale),
        source=f"synthetic:mlfs-cluster jobs={jobs} seed={seed} servers={servers} hours={hours:g} load={load:g} "
        f"iterations={iterations} batches={batches} largest={largest} error={error:g}",
    )


def cluster(servers: int) -> Data:
    """Return the cluster columns of `Jobs`: `servers` of the paper's servers with individual GPUs."""
    return {
        "resources": tuple(SERVER),
        "tick_ms": TICK_MS,
        "gpu_unit": SERVER["gpu_percent"] // GPUS_A_SERVER,
        "node_capacity": np.tile(list(SERVER.values()), (servers, 1)),
        "eligible": np.ones((1, servers), dtype=np.int64),
        "movement": "between_iterations",
    }


def agreed(
    rng: np.random.Generator, accuracy: IntArray, most: IntArray, arrival: IntArray, estimated: FloatArray
) -> Columns:
    """Return the columns of `Jobs` on which users and the cluster agree.

    Args:
        rng: Random stream.
        accuracy: Accuracy of each job after 0, 1, ... iterations, ppm.
        most: Most iterations of each job.
        arrival: Arrival of each job.
        estimated: Estimated running time of each job, ticks.
    """
    jobs = len(arrival)
    patience = rng.uniform(0.5, 24, jobs) * HOUR
    return {
        "deadline": arrival + np.ceil(np.maximum(1.1 * estimated, patience)).astype(np.int64),
        "urgency": rng.integers(1, 11, jobs),
        "required": _required_accuracy(rng, accuracy, most),
        "min_iterations": np.ones(jobs, dtype=np.int64),
        "max_iterations": most,
        "option": np.ones(jobs, dtype=np.int64),
        "permits": np.full(jobs, 0b100),
        "payment": rng.integers(0, WHOLE + 1, jobs),
        "user": rng.integers(0, max(2, jobs // 20), jobs),
    }


def _draw_templates(
    rng: np.random.Generator, sizes: list[int], iterations: int, batches: int, error: float
) -> Templates:
    """Draw graphs of every algorithm and number of GPUs, with their accuracy tables.

    Args:
        rng: Random stream.
        sizes: Numbers of GPUs.
        iterations: Length of the tables.
        batches: Mini-batches of an iteration.
        error: Factor on errors of estimates.
    """
    columns = Templates()
    for algorithm in ALGORITHMS.values():
        for size in sizes:
            for _ in range(VARIETY):
                between, syncing = links(rng, batches)
                whole = algorithm.cut == "never"
                stages, replicas = partition(algorithm, 1 if whole else size), size if whole else REPLICAS
                graph = training_graph(stages, replicas, "parameter-server", between, syncing)
                add_graph(columns, rng, graph, sum(layer.work for layer in algorithm.layers), 1 if whole else REPLICAS)
                table = rising(rng, iterations)
                columns.close(size, table, table * (1 + error * rng.uniform(-0.1, 0.1)))
    return columns


def links(rng: np.random.Generator, batches: int) -> tuple[Link, Link]:
    """Draw the volumes between workers, and with the parameter server, in an iteration of these mini-batches."""
    between, syncing = (Link(v, -(-v // BANDWIDTH)) for v in (rng.integers(50, 101, 2) * batches).tolist())
    return between, syncing


def rising(rng: np.random.Generator, iterations: int) -> FloatArray:
    """Draw accuracies after 0, 1, ... iterations, rising exponentially from guessing; shares of 1."""
    final, rate = final_accuracy(rng), rng.uniform(1.5, 5) / iterations
    return np.asarray(GUESSING + (final - GUESSING) * (1 - np.exp(-rate * np.arange(iterations + 1))))


def final_accuracy(rng: np.random.Generator) -> float:
    """Draw the limit of the accuracy after infinite training."""
    return float(rng.uniform(0.7, 0.98))


def add_graph(made: Templates, rng: np.random.Generator, graph: Any, work: float, share: int) -> None:
    """Add the tasks and edges of a template.

    Args:
        made: Templates to extend.
        rng: Random stream.
        graph: The model's tasks and edges, as a networkx graph.
        work: Total work of one replica. A task's duration is its share of this work, times 1,000 ticks.
        share: Number of workers that share one GPU.
    """
    number, template = {name: made.count("task_template") + i for i, name in enumerate(graph)}, len(made.size)
    ends: dict[Any, int] = {}
    for name, task in graph.nodes(data=True):  # in an order that edges of lag 0 allow
        server = name == "ps"
        ticks = 1 if server else max(1, round(1000 * task["work"] / work))
        ends[name] = ticks + max((ends[u] for u, _, lag in graph.in_edges(name, data="lag") if not lag), default=0)
        demand = A_PARAMETER_SERVER if server else {r: amount // share for r, amount in A_GPU.items()}
        made.add(
            task_template=template,
            duration=ticks,
            estimate=ticks,
            demand=list(demand.values()),
            usage=np.rint(WHOLE * rng.uniform(0.6, 1.3, len(demand))).astype(np.int64),
            task_class=0,
            parameters=task["parameters"],
            role=int(server),
            replica=0 if server else name[0],
        )
        # When a task changes its node, its parameters move as well, four bytes each.
        size_mb = -(-4 * task["parameters"] // 10**6)
        _add_edge(made, number[name], number[name], 1, Link(size_mb, -(-size_mb // BANDWIDTH)))
    for u, v, edge in graph.edges(data=True):
        _add_edge(made, number[u], number[v], edge["lag"], Link(edge["volume"], edge["delay"]))
    made.path.append(max(ends.values()))


def _add_edge(columns: Templates, u: int, v: int, lag: int, link: Link) -> None:
    columns.add(edge_from=u, edge_to=v, edge_lag=lag, edge_volume=link.volume, edge_delay=link.delay)


def errors(rng: np.random.Generator, jobs: int) -> FloatArray:
    """Draw relative errors of estimated running times; for half of the jobs, the model has not been seen before."""
    mean = np.where(rng.random(jobs) < 0.5, ERROR_SEEN, ERROR_NEW)
    return np.asarray(mean * rng.uniform(-2, 2, jobs))


def _required_accuracy(rng: np.random.Generator, accuracy: IntArray, most: IntArray) -> IntArray:
    """Draw required accuracies, 80 to 99 % of each job's last one, ppm."""
    last = accuracy[np.arange(len(most)), np.minimum(most, accuracy.shape[1] - 1)]
    return np.asarray(np.floor(last * rng.uniform(0.8, 0.99, len(most)))).astype(np.int64)
