"""Sources of task-graph workloads: the generator's jobs by name, and public traces joined with generated graphs.

Schedulers see estimates: off by 11 % on average for models seen before, by 30 % for new models. These are the MLFS
paper's mean accuracies of predicted running time, 89 % and 70 %; errors are uniform around the truth.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.params import Count, Positive, Range, Share, flatten_groups
from mlsched.instances.taskgraph import Instance, from_networkx, generate
from mlsched.instances.taskgraph.algorithms import ALGORITHMS, SYNCS, name_roles, partition, training_graph
from mlsched.instances.taskgraph.convert import Link
from mlsched.instances.traces import Trace
from mlsched.simulation.nodes import RESOURCES
from mlsched.simulation.taskgraph.workload import Workload

#: Mean error of estimated running times, for models seen before and for new models.
ERROR_SEEN, ERROR_NEW = 0.11, 0.30
#: GPUs per node of a cluster that is made for a trace.
GPUS_A_NODE = 4


@dataclasses.dataclass(frozen=True)
class Sizes(ValidatedFields):
    """Parameters of `generated`; its docstring describes them."""

    jobs: Count = 40
    nodes: int = 8
    gpus: int = 4
    runs: int = 50
    partitions: int = 4
    replicas: int = 4
    slack: float = 3.0
    load: Positive = 0.8
    movement: Literal["none", "between_iterations"] = "none"
    seen: Share = 0.5
    error: Share = 1.0
    pause_cost: Annotated[int, Range(0, 10**6)] = 0


@flatten_groups
@validate_arguments
def generated(*, seed: int = 0, graph: str = "mlfs", sizes: Sizes) -> Workload:
    """Draw the generator's jobs (see `mlsched.generate("taskgraph")`), arriving over time.

    Args:
        seed: Seed of the draws.
        graph: Kind of graph.
        sizes: Parameters with the following fields.
        runs: Approximate task runs of each job.
        load: GPU work over the capacity of the cluster's GPUs while jobs arrive.
        seen: Share of the models seen before.
        error: Factor on the errors of the estimates; 0: exact.
        pause_cost: Ticks without work whenever a run continues after a pause or a move.
    """
    rng = np.random.default_rng([seed, sizes.jobs])
    horizon = generate(
        rng,
        jobs=sizes.jobs,
        nodes=sizes.nodes,
        gpus=sizes.gpus,
        runs=sizes.runs * sizes.jobs,
        partitions=sizes.partitions,
        replicas=sizes.replicas,
        slack=sizes.slack,
        spread=1 / sizes.load,
        movement=sizes.movement,
        graph=graph,
        roles=True,
    )
    source = (
        f"synthetic:{graph} jobs={sizes.jobs} seed={seed} nodes={sizes.nodes} gpus={sizes.gpus} runs={sizes.runs} "
        f"partitions={sizes.partitions} replicas={sizes.replicas} slack={sizes.slack:g} load={sizes.load:g} "
        f"movement={sizes.movement} seen={sizes.seen:g} error={sizes.error:g}"
        + (f" pause_cost={sizes.pause_cost}" if sizes.pause_cost else "")
    )
    return _with_estimates(horizon, rng, sizes.seen, sizes.error, source).replace(pause_cost=sizes.pause_cost)


#: Name -> maker of a workload: the five algorithms of the MLFS paper's Section 4.1, or random graphs of all kinds.
SOURCES: Mapping[str, Callable[..., Workload]] = {
    "mlfs": functools.partial(generated, graph="mlfs"),
    "dags": functools.partial(generated, graph="dags"),
}


def _with_estimates(
    horizon: Instance, rng: np.random.Generator, share_seen: float, error: float, source: str
) -> Workload:
    """Build a workload whose true durations are the horizon's; estimates have one error for all tasks of a job."""
    jobs = len(horizon.arrival)
    mean = error * np.where(rng.uniform(size=jobs) < share_seen, ERROR_SEEN, ERROR_NEW)
    factor = 1 + mean[horizon.task_job] * rng.uniform(-2, 2, len(horizon.task_job))
    estimates = np.maximum(np.rint(horizon.duration * factor).astype(np.int64), np.minimum(horizon.duration, 1))
    return Workload(horizon=horizon.replace(duration=estimates), true_duration=horizon.duration, source=source)


@dataclasses.dataclass(frozen=True)
class GraphOptions(ValidatedFields):
    """Parameters of `from_trace`; its docstring describes them."""

    tick: Count = 60
    iterations: Count = 10
    partitions: Count = 4
    sync: Annotated[str, SYNCS] = "ring"
    slack: Annotated[float, Range(1)] = 3.0
    bandwidth: Count = 50
    load: Positive = 0.8
    seen: Share = 0.5
    error: Share = 1.0
    arrivals: Positive = 1.0
    pause_cost: Annotated[float, Range(0, 10**6)] = 30.0


@flatten_groups
@validate_arguments
def from_trace(trace: Trace, nodes: IntArray | None, *, seed: int = 0, options: GraphOptions) -> Workload:
    """Join a trace's arrivals, GPUs and durations with graphs drawn from the MLFS paper's algorithms.

    A job of g GPUs becomes a graph of g workers of one GPU each: a model in up to `partitions` parts (a divisor of g),
    and the resulting number of replicas, joined by `sync`. A job with a share of a GPU, or without a GPU, has one
    worker with that share. Its duration becomes about `iterations` passes of equal length, at least one tick per stage.
    The workers share the trace's resources other than GPUs. Traces lack graphs, volumes, deadlines and accuracies. They
    are drawn, with a deadline up to `slack` durations after arrival.

    Args:
        trace: Jobs of the trace.
        nodes: Nodes of the cluster. None: nodes of four GPUs in the number that gives this `load`.
        seed: Seed of the draws.
        options: Parameters with the following fields.
        tick: Seconds of a tick.
        bandwidth: MB that a transfer of [50, 100] MB moves in a tick.
        arrivals: Factor on the arrival rate.
        seen, error: See `generated`.
        pause_cost: Seconds without work whenever a run continues after a pause or a move, rounded up to ticks.
    """
    rng = np.random.default_rng([seed, len(trace.submit)])
    submit = np.floor((trace.submit - trace.submit[:1]) / (options.arrivals * options.tick)).astype(np.int64)
    ticks = np.maximum(np.rint(trace.duration_ms / (1000 * options.tick)), 1).astype(np.int64)
    workers = np.maximum(-(-trace.gpus_milli // 1000), 1)
    shares = _worker_demands(trace, workers)
    if nodes is None:
        nodes = _nodes_for_load(trace, shares, ticks, submit, options.load)
    capacity = [dict(zip(RESOURCES, row, strict=True)) for row in nodes.tolist()]
    graphs = []
    for j in range(len(submit)):
        graph = _draw_graph(
            rng, int(workers[j]), int(ticks[j]), options.iterations, options.partitions, options.sync, options.bandwidth
        )
        for name, task in graph.nodes(data=True):
            task["demand"] = {RESOURCES[r]: int(shares[j, r]) * (name != "ps" or r != 2) for r in range(len(RESOURCES))}
        deadline = int(submit[j]) + int(np.ceil(ticks[j] * rng.uniform(1, options.slack)))
        graph.graph.update(arrival=int(submit[j]), deadline=min(deadline, UNLIMITED))
        graphs.append(graph)
    if not graphs:
        raise InvalidInput(f"{trace.source}: 0 jobs, expected at least one; check limit")
    cost = math.ceil(options.pause_cost / options.tick)
    horizon = from_networkx(graphs, capacity, tick_ms=1000 * options.tick, ignore=("work",))
    source = (
        f"{trace.source}; ticks of {options.tick} s; graphs, volumes, deadlines, accuracies and estimates drawn "
        f"(seed {seed}); "
        f"arrival rate x {options.arrivals:g}; a pause costs {cost * options.tick} s"
    )
    return _with_estimates(horizon, rng, options.seen, options.error, source).replace(pause_cost=cost)


def _worker_demands(trace: Trace, workers: IntArray) -> IntArray:
    """Return the demand of each worker, shape (jobs, RESOURCES); resources unknown to the trace are 0."""
    columns = [np.maximum(column, 0) for column in (trace.cpu_milli, trace.memory_mib, trace.gpus_milli)]
    return np.stack([-(-column // workers) for column in columns], axis=1)


def _nodes_for_load(trace: Trace, shares: IntArray, ticks: IntArray, submit: IntArray, load: float) -> IntArray:
    """Return as many equal nodes as this GPU load needs, shape (nodes, RESOURCES).

    A node has four GPUs, and of each other resource four times the largest demand of a worker (`shares`).
    """
    if len(submit) and not trace.gpus_milli.any():
        raise InvalidInput(f"{trace.source}: jobs use 0 GPUs, so nodes cannot be counted; give a cluster")
    span = max(1, int(submit.max(initial=1)), int(ticks.max(initial=1)))
    work = float((trace.gpus_milli * ticks).sum()) / 1000
    node = GPUS_A_NODE * shares.max(axis=0, initial=0)
    node[RESOURCES.index("gpu_milli")] = 1000 * GPUS_A_NODE
    return np.repeat([node], max(1, round(work / (span * load * GPUS_A_NODE))), axis=0)


def _draw_graph(
    rng: np.random.Generator, workers: int, ticks: int, iterations: int, partitions: int, sync: str, bandwidth: int
) -> Any:
    """Draw one job's graph, its iterations and its accuracy table."""
    algorithm = list(ALGORITHMS.values())[int(rng.integers(len(ALGORITHMS)))]
    able = [
        p for p in (1, 2, 4, 8, 16, 32) if p <= partitions and workers % p == 0 and (p == 1 or algorithm.cut != "never")
    ]
    parts = able[int(rng.integers(len(able)))]
    stages = partition(algorithm, parts)
    most = max(1, min(iterations, ticks // len(stages)))
    between, syncing = (Link(v, -(-v // bandwidth)) for v in rng.integers(50, 101, 2).tolist())
    graph = training_graph(stages, workers // parts, sync, between, syncing)
    name_roles(graph)
    length = [stage[0].work for stage in stages]
    # Ticks of each stage in proportion to its work; the ends are rounded, so the sum is that of an iteration.
    spread = np.diff(np.rint(np.cumsum([0, *length]) * (ticks / most / sum(length)))).astype(np.int64)
    for name, task in graph.nodes(data=True):
        task["duration"] = 1 if name == "ps" else max(1, int(spread[name[1]]))
    final, rate = rng.uniform(0.7, 0.98), rng.uniform(1, 4)
    # Accuracy rises from 10 % to `final`, each iteration by less.
    rise = (1 - np.exp(-rate * np.arange(most + 1) / most)) / (1 - np.exp(-rate))
    table = np.floor(10**6 * (0.1 + (final - 0.1) * rise)).astype(np.int64)
    graph.graph.update(max_iterations=most, accuracy=table.tolist(), required=int(table[max(1, most // 2)]))
    return graph
