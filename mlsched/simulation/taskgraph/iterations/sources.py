"""Sources of workloads of the iteration engine: traces and drawn gangs, and the task engine's own ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.params import Count, Positive, Range
from mlsched.simulation.taskgraph import sources as of_tasks
from mlsched.simulation.taskgraph.iterations.gangs import Cluster, made_gangs
from mlsched.simulation.taskgraph.iterations.joined import joined
from mlsched.simulation.taskgraph.iterations.mlfs import mlfs
from mlsched.simulation.taskgraph.iterations.shape import shapes
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.workload import Workload

#: GPUs of drawn gangs -> share of the jobs.
GANGS = {1: 0.8, 2: 0.08, 4: 0.07, 8: 0.05}


def from_tasks(workload: Workload, *, gang: bool = True) -> Jobs:
    """Convert a workload of the task engine: one template per job, jobs in order of arrival.

    With `gang`, all tasks of a job start and pause in one round.
    """
    horizon, order = workload.horizon, np.argsort(workload.horizon.arrival, kind="stable")
    count = len(horizon.arrival)
    classes, class_of = np.unique(horizon.eligible, axis=0, return_inverse=True)
    of_jobs = ("arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations")
    shared_columns = ("resources", "node_capacity", "accuracy", "movement", "accuracy_at", "tick_ms")
    tasks = ("demand", "parameters", "role", "replica")
    edges = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")
    return Jobs(
        gpu_unit=horizon.gpu_unit,
        **{name: getattr(horizon, name)[order] for name in of_jobs},
        **{name: getattr(horizon, name) for name in (*shared_columns, *tasks, *edges)},
        eligible=classes,
        task_class=class_of.reshape(-1),
        gang=np.full(count, int(gang)),
        accuracy_table=np.arange(count),
        task_template=horizon.task_job,
        duration=workload.true_duration,
        estimate=horizon.duration,
        template=order,
        scale=np.full(count, WHOLE),
        told=np.full(count, WHOLE),
        pause_cost=np.full(count, workload.pause_cost * WHOLE),
        source=f"{workload.source}; run by iterations",
    )


def _converted_maker(graph: str) -> Callable[..., Jobs]:
    """Return a function that draws a synthetic workload of the task simulator and converts its jobs to gangs.

    The function has the parameters of the original generator.
    """

    @functools.wraps(of_tasks.generated)
    def draw_gangs(**options: Any) -> Jobs:
        return from_tasks(of_tasks.generated(**{**options, "graph": graph}))

    return draw_gangs


@validate_arguments
def gangs(
    *,
    jobs: Count = 1000,
    seed: int = 0,
    nodes: Count = 8,
    gpus: Count = 8,
    length: Annotated[float, Range(1)] = 60.0,
    iteration: Count = 1,
    load: Positive = 0.8,
    error: Annotated[float, Range(0, 0.5)] = 0.0,
    shape: Literal["fewest", "anywhere"] = "anywhere",
    pause_cost: Annotated[float, Range(0, 10**6)] = 0.0,
    movement: Literal["anytime", "between_iterations", "none"] = "none",
) -> Jobs:
    """Draw gangs of 1, 2, 4 and 8 GPUs (80, 8, 7 and 5 % of the jobs) with Poisson arrivals.

    Running times are log-normal (sigma 1.5); a tick is a minute.

    Args:
        jobs: Number of jobs.
        seed: Seed of the draws.
        nodes: Number of nodes.
        gpus: GPUs of a node.
        length: Median running time in ticks.
        iteration: Ticks of an iteration.
        load: Work over the capacity of the cluster's GPUs while jobs arrive.
        error: Estimates of lengths are off by up to twice this share.
        shape: "fewest": a job has a task on each of the fewest possible nodes. "anywhere": one task per GPU.
        pause_cost: Pause cost in seconds.
        movement: As for a log.
    """
    rng = np.random.default_rng([seed, jobs])
    sizes = [size for size in GANGS if size <= nodes * gpus]
    share = np.array([GANGS[size] for size in sizes])
    kind = rng.choice(len(sizes), jobs, p=share / share.sum())
    ticks = np.maximum(np.rint(length * np.exp(1.5 * rng.standard_normal(jobs))), 1).astype(np.int64)
    work = float((np.array(sizes)[kind] * ticks).sum())
    gaps = rng.exponential(work / (load * nodes * gpus * jobs), jobs)
    source = (
        f"synthetic:gangs jobs={jobs} seed={seed} nodes={nodes} gpus={gpus} length={length:g} iteration={iteration} "
        f"load={load:g} error={error:g}"
        + (f" shape={shape}" if shape != "anywhere" else "")
        + (f" pause_cost={pause_cost:g}" if pause_cost else "")
        + (f" movement={movement}" if movement != "none" else "")
    )
    capacity = np.full((nodes, 1), gpus)
    gpu_counts = np.array(sizes)[kind][:, None]
    return made_gangs(
        Cluster(capacity, ("gpu",), tick_ms=60_000),
        tasks=shapes(gpu_counts, capacity, 0, shape, 1),
        pause_cost=np.full(jobs, round(pause_cost * WHOLE / 60)),
        movement=movement,
        arrival=np.floor(np.cumsum(gaps) - gaps[:1]).astype(np.int64),
        ticks=ticks.astype(np.float64),
        iteration=float(iteration),
        factor=1 + error * rng.uniform(-2, 2, jobs),
        source=source,
    )


#: Name -> maker of a workload.
SOURCES: Mapping[str, Callable[..., Jobs]] = {
    **{name: _converted_maker(name) for name in of_tasks.SOURCES},
    "gangs": gangs,
    "mlfs-cluster": mlfs,
    "mlfs-join": joined,
}
