"""Hypothesis strategies of small workers workloads and of the world's options, and rules that act at random.

Few distinct numbers, so that the following are common: bursts, arrivals that meet completions, full clusters, jobs of
one iteration, combinations that cannot train, and iterations that just fill a segment.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import UNLIMITED, IntArray, ints
from mlsched.instances.values import one_of
from mlsched.instances.workers import NEVER, Instance, Plan
from mlsched.simulation.workers.workload import MS, NS_PER_MS, Workload

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def workloads(
    *, jobs: int = 6, models: int = 2, workers: int = 3, ps: int = 2, resources: int = 2, gaps: bool = True
) -> SearchStrategy[Workload]:
    """Return a strategy of workloads within these sizes; every job can train as the only one.

    Args:
        jobs: Most jobs.
        models: Most models.
        workers: Most workers of a job.
        ps: Most PSs of a job.
        resources: Most resources.
        gaps: Some combinations cannot train. A single worker with a single PS always can, and fits the cluster.
    """
    from hypothesis import strategies as st

    @st.composite
    def draw_workload(draw: DrawFn) -> Workload:
        count, kinds = draw(st.integers(1, jobs), label="jobs"), draw(st.integers(1, models), label="models")
        wide, high = draw(st.integers(1, workers)), draw(st.integers(1, ps))
        k = draw(st.integers(1, resources), label="resources")

        def table(entries: SearchStrategy[int], *shape: int) -> IntArray:
            size = int(np.prod(shape))
            return ints(draw(st.lists(entries, min_size=size, max_size=size))).reshape(shape)

        ms = table(one_of(1, 500, 1000, 1500, 2000, 7000), kinds, wide, high)
        iteration = ms * NS_PER_MS + table(one_of(0, 0, 1, 333_333), kinds, wide, high)
        if gaps:
            iteration = np.where(table(one_of(0, 0, 0, 1), kinds, wide, high) == 1, NEVER, iteration)
            iteration[:, 0, 0] = np.where(iteration[:, 0, 0] == NEVER, 3000 * NS_PER_MS, iteration[:, 0, 0])
        worker, server = table(st.integers(0, 3), kinds, k), table(st.integers(0, 2), kinds, k)
        return Workload(
            resources=("gpu", "cpu", "memory_gb")[:k],
            models=("a", "b", "c")[:kinds],
            capacity=np.maximum(table(st.integers(0, 9), k), (worker + server).max(axis=0)),
            worker_demand=worker,
            ps_demand=server,
            iteration=iteration,
            submit=np.sort(table(one_of(0, 0, 1, 1500, 2000, 4000, 9000, 60 * MS), count)),
            model=table(st.integers(0, kinds - 1), count),
            iterations=table(one_of(1, 2, 3, 5, 40), count),
        )

    return draw_workload()


def roomy(workload: Workload) -> Workload:
    """Return the same jobs on a cluster with room for all of them at the maximum of their tables."""
    workers, ps = workload.iteration.shape[1:]
    each = workers * workload.worker_demand + ps * workload.ps_demand
    return workload.replace(capacity=np.minimum(workload.capacity + each[workload.model].sum(axis=0), UNLIMITED))


def options() -> SearchStrategy[Data]:
    """Return a strategy of the world's interpretations, every field drawn."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries({"window": one_of(0, 0, 1, 2, 3), "floor": one_of("always", "changed", "never")})


def any_plan(instance: Instance, *, rng: np.random.Generator, eager: float = 0.7, keep: float = 0.3) -> Plan:
    """Draw workers and PSs for jobs in random order, while there is room; some keep theirs, and at least one trains."""
    jobs, wide, high = instance.cost.shape
    allocation, free = np.zeros((2, jobs), dtype=np.int64), instance.capacity.copy()
    for job in rng.permutation(jobs).tolist():
        if allocation.any() and rng.uniform() >= eager:
            continue
        may = [
            (w, p)
            for w in range(1, wide + 1)
            for p in range(1, high + 1)
            if instance.cost[job, w - 1, p - 1] < NEVER
            and (w * instance.worker_demand[job] + p * instance.ps_demand[job] <= free).all()
        ]
        if not may:
            continue
        now = (int(instance.current_workers[job]), int(instance.current_ps[job]))
        allocation[:, job] = now if now in may and rng.uniform() < keep else may[int(rng.integers(len(may)))]
        free -= allocation[0, job] * instance.worker_demand[job] + allocation[1, job] * instance.ps_demand[job]
    return Plan(workers=allocation[0], ps=allocation[1])


VERBS: Data = {
    "anything": any_plan,
    "keep all": functools.partial(any_plan, eager=1.0, keep=1.0),
    "one alone": functools.partial(any_plan, eager=0.0),
    "change all": functools.partial(any_plan, eager=1.0, keep=0.0),
}

#: Cadences: an iteration lasts up to 7 s, and it is lost if a tick cuts it short.
WAKES = ("events", "interval:8", "interval:9", "events+interval:8")
