"""A Hypothesis strategy of small placement instances: adversarial, unlike the realistic generator.

Few distinct numbers, so that ties, identical servers, exact fits, zero demands and equal slowdowns are common.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.instances.placement.instance import Instance
from mlsched.instances.values import one_of

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def instances(*, servers: int = 3, jobs: int = 3, runs: int = 2, tasks: int = 2) -> SearchStrategy[Instance]:
    """Generate instances up to these numbers of servers, new and running jobs, workers and PSs (brute force: ms)."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        def table(entries: SearchStrategy[int], *shape: int) -> IntArray:
            size = int(np.prod(shape))
            return np.array(draw(st.lists(entries, min_size=size, max_size=size)), dtype=np.int64).reshape(shape)

        m = draw(st.integers(1, servers), label="servers")
        resources = ("cpu", "gpu")[: draw(st.integers(1, 2))]
        n = draw(st.integers(0, jobs), label="jobs")
        types = draw(st.integers(1, 2))
        pressures = ("cpu", "bandwidth")[: draw(st.integers(0, 2))]
        k, d = len(resources), len(pressures)
        rate = one_of(0, 0, 250_000, 500_000, 333_333, 1_000_000)
        free = table(one_of(0, 1, 2, 2, 4), m, k)
        running = draw(st.integers(0, runs), label="running jobs")
        run_workers = table(one_of(0, 0, 1, 2), running, m)
        for i in range(running):
            if not run_workers[i].any():
                run_workers[i, draw(st.integers(0, m - 1))] = 1
        apart = table(one_of(0, 0, 0, 1), types, types)
        return Instance(
            resources=resources,
            types=("a", "b")[:types],
            pressures=pressures,
            server_capacity=free + table(one_of(0, 0, 2), m, k),
            server_free=free,
            sigma_worker=table(rate, types, types),
            sigma_ps=table(rate, types, types),
            apart=np.maximum(apart, apart.T),
            use_worker=table(one_of(0, 250, 500), types, d),
            use_ps=table(one_of(0, 250), types, d),
            linear=table(rate, types, d),
            quadratic=table(rate, types, d, d),
            rho_ps=table(rate, types),
            rho_worker=table(rate, types),
            run_type=table(st.integers(0, types - 1), running),
            run_speed=table(_speed_values(), running),
            run_workers=run_workers,
            run_ps=table(one_of(0, 0, 1), running, m),
            job_type=table(st.integers(0, types - 1), n),
            job_speed=table(_speed_values(), n),
            job_workers=table(st.integers(1, tasks), n),
            job_ps=table(st.integers(0, tasks), n),
            worker_demand=table(one_of(0, 1, 1, 2), n, k),
            ps_demand=table(one_of(0, 1, 1), n, k),
            most_jobs=draw(one_of(running, running + 1, running + 2, UNLIMITED, UNLIMITED)),
            most_new=draw(one_of(0, 1, 2, UNLIMITED, UNLIMITED)),
            network_at=draw(one_of("workers", "tasks")),
        )

    def _speed_values() -> SearchStrategy[Any]:
        return one_of(0, 1, 7, 250_000, 1_000_000)

    return draw_instance()


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Generate instances in which two to four new jobs compete for identical servers with room for some of them.

    Often a cap on jobs binds before the room does: on the new jobs, or on these and the running jobs together.
    Sometimes there are two types that must be apart.
    """
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        servers, n = draw(st.integers(1, 2), label="servers"), draw(st.integers(2, 4), label="jobs")

        def column(*entries: int) -> IntArray:
            return np.array(draw(st.lists(st.sampled_from(entries), min_size=n, max_size=n)), dtype=np.int64)

        free = np.full((servers, 1), draw(one_of(1, 2, 3, 6)))
        rate = draw(one_of(0, 250_000, 1_000_000))
        kinds = draw(one_of(1, 1, 2), label="types")
        none = np.zeros((kinds, kinds), dtype=np.int64)
        running = draw(one_of(0, 0, 1, 2), label="running jobs")
        run_workers = np.zeros((running, servers), dtype=np.int64)
        run_workers[:, 0] = 1
        running_use = np.zeros((servers, 1), dtype=np.int64)
        running_use[0] = running
        return Instance(
            resources=("gpu",),
            types=("a", "b")[:kinds],
            pressures=(),
            server_capacity=free + running_use,
            server_free=free,
            sigma_worker=none + rate,
            sigma_ps=none + rate,
            apart=1 - np.eye(kinds, dtype=np.int64),
            use_worker=none[:, :0],
            use_ps=none[:, :0],
            linear=none[:, :0],
            quadratic=np.zeros((kinds, 0, 0), dtype=np.int64),
            rho_ps=none[0] + rate,
            rho_worker=none[0],
            run_type=np.zeros(running, dtype=np.int64),
            run_speed=np.full(running, 500_000),
            run_workers=run_workers,
            run_ps=np.zeros((running, servers), dtype=np.int64),
            job_type=column(*range(kinds)),
            job_speed=column(250_000, 500_000, 1_000_000),
            job_workers=column(1, 1, 2),
            job_ps=column(0, 0, 1),
            worker_demand=column(1, 1, 2)[:, None],
            ps_demand=column(0, 1)[:, None],
            most_jobs=draw(one_of(running + 1, UNLIMITED, UNLIMITED)),
            most_new=draw(one_of(1, 2, UNLIMITED, UNLIMITED)),
        )

    return draw_instance()
