"""Hypothesis strategies of small placement workloads and of the world's options, and rules that act at random.

Few distinct numbers, so that the following are common: bursts, full servers, exact fits, types that must be apart, jobs
without interference, and jobs that are done at a tick.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.instances.placement import Instance, Plan
from mlsched.instances.values import one_of
from mlsched.simulation.placement.workload import Workload

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

#: Seconds of an interval of the workloads below.
INTERVAL = 10


@functools.cache
def workloads(*, servers: int = 3, jobs: int = 6, tasks: int = 2) -> SearchStrategy[Workload]:
    """Return a strategy of workloads up to these sizes; every job fits the empty servers.

    Args:
        servers: Most servers.
        jobs: Most jobs.
        tasks: Most workers and most PSs of a job.
    """
    from hypothesis import strategies as st

    @st.composite
    def draw_workload(draw: DrawFn) -> Workload:
        def table(entries: SearchStrategy[int], *shape: int) -> IntArray:
            size = int(np.prod(shape))
            return np.array(draw(st.lists(entries, min_size=size, max_size=size)), dtype=np.int64).reshape(shape)

        m, n = draw(st.integers(1, servers), label="servers"), draw(st.integers(1, jobs), label="jobs")
        resources = ("cpu", "gpu")[: draw(st.integers(1, 2))]
        types, pressures = draw(st.integers(1, 2)), ("cpu", "bandwidth")[: draw(st.integers(0, 2))]
        k, d = len(resources), len(pressures)
        rate = one_of(0, 0, 250_000, 333_333, 1_000_000)
        workers, ps = table(st.integers(1, tasks), n), table(st.integers(0, tasks), n)
        demand = [table(one_of(0, 1, 1, 2), n, k), table(one_of(0, 1, 1), n, k)]
        # A server with room for the largest job makes every job fit.
        whole = (workers[:, None] * demand[0] + ps[:, None] * demand[1]).max(axis=0)
        capacity = table(one_of(1, 2, 4), m, k)
        capacity[0] = np.maximum(capacity[0], whole)
        apart = table(one_of(0, 0, 0, 1), types, types)
        return Workload(
            resources=resources,
            types=("a", "b")[:types],
            pressures=pressures,
            server_capacity=capacity,
            sigma_worker=table(rate, types, types),
            sigma_ps=table(rate, types, types),
            apart=np.maximum(apart, apart.T),
            use_worker=table(one_of(0, 250, 500), types, d),
            use_ps=table(one_of(0, 250), types, d),
            linear=table(rate, types, d),
            quadratic=table(rate, types, d, d),
            rho_ps=table(rate, types),
            rho_worker=table(rate, types),
            submit=np.sort(table(one_of(0, 0, 1, 7, 10, 20, 45), n)),
            job_type=table(st.integers(0, types - 1), n),
            job_speed=table(one_of(300_000, 500_000, 1_000_000, 2_000_000, 3_333_333), n),
            job_workers=workers,
            job_ps=ps,
            worker_demand=demand[0],
            ps_demand=demand[1],
            network_at=draw(one_of("workers", "tasks")),
            interval=INTERVAL,
        )

    return draw_workload()


def roomy(workload: Workload) -> Workload:
    """Return the same jobs on larger servers, each of which has room for all jobs at once."""
    workers, ps = workload.job_workers[:, None], workload.job_ps[:, None]
    total_demand = (workers * workload.worker_demand + ps * workload.ps_demand).sum(axis=0)
    return workload.replace(server_capacity=workload.server_capacity + total_demand)


def options() -> SearchStrategy[Data]:
    """Return a strategy of the world's interpretations, every field drawn."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "most_jobs": one_of(1, 2, UNLIMITED, UNLIMITED),
            "most_new": one_of(1, 2, UNLIMITED),
            "window": one_of(0, 0, 1, 3),
            "departure": one_of("scheduling_event", "instant"),
        }
    )


def any_plan(instance: Instance, *, rng: np.random.Generator, eager: float = 0.7) -> Plan:
    """Place jobs in random order, their tasks on random servers if they fit; on an idle cluster at least one."""
    jobs, servers = len(instance.job_type), len(instance.server_free)
    tasks, free = np.zeros((2, jobs, servers), dtype=np.int64), instance.server_free.copy()
    # The types on each server.
    hosts = (instance.run_workers + instance.run_ps).T > 0
    there = [set(instance.run_type[hosts[s]].tolist()) for s in range(servers)]
    placed, most = 0, min(instance.most_new, instance.most_jobs - len(instance.run_type))
    for job in rng.permutation(jobs).tolist():
        idle = not placed and not len(instance.run_type)
        if placed >= most or (not idle and rng.uniform() >= eager):
            continue
        kind, before = int(instance.job_type[job]), free.copy()
        may = [s for s in range(servers) if not any(instance.apart[kind, other] for other in there[s])]
        demands = [instance.worker_demand[job]] * int(instance.job_workers[job])
        demands += [instance.ps_demand[job]] * int(instance.job_ps[job])
        chosen_values = _random_servers(free, demands, may, rng)
        if chosen_values is None and idle:
            free[:] = before
            whole = sum(demands)
            fits = [s for s in may if (free[s] >= whole).all()]  # a single server has room for each job
            chosen_values = [fits[0]] * len(demands) if fits else None
            if chosen_values:
                free[fits[0]] -= whole
        if chosen_values is None:
            free[:] = before
            continue
        for place, s in enumerate(chosen_values):
            tasks[int(place >= instance.job_workers[job]), job, s] += 1
            there[s].add(kind)
        placed += 1
    return Plan(workers=tasks[0], ps=tasks[1])


def _random_servers(
    free: IntArray, demands: list[IntArray], may: list[int], rng: np.random.Generator
) -> list[int] | None:
    """Draw a server for each task, taken off `free`; None if a task has no room."""
    servers = []
    for demand in demands:
        fits = [s for s in may if (free[s] >= demand).all()]
        if not fits:
            return None
        servers.append(int(rng.choice(fits)))
        free[servers[-1]] -= demand
    return servers


VERBS: Data = {
    "anything": any_plan,
    "place all": functools.partial(any_plan, eager=1.0),
    "place one, if none runs": functools.partial(any_plan, eager=0.0),
}
