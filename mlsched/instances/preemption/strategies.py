"""A Hypothesis strategy of small preemption instances: adversarial, unlike the realistic generator.

Few distinct numbers, so that ties, exact fits, empty nodes, zero demands and equal scores are common.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import UNLIMITED, IntArray, ints
from mlsched.instances.preemption.instance import Instance
from mlsched.instances.values import one_of

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def instances(*, nodes: int = 3, jobs: int = 6, tes: int = 2) -> SearchStrategy[Instance]:
    """Generate instances up to these numbers of nodes, BE jobs and TE jobs (brute force: milliseconds)."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        n = draw(st.integers(1, nodes), label="nodes")
        resources = ("cpu", "ram", "gpu")[: draw(st.integers(1, 3))]
        k = len(resources)
        small = st.integers(0, 4)

        def matrix(rows: int, entries: SearchStrategy[int]) -> npt.NDArray[np.int64]:
            flat = draw(st.lists(entries, min_size=rows * k, max_size=rows * k))
            return np.array(flat, dtype=np.int64).reshape(rows, k)

        def column(length: int, entries: SearchStrategy[int]) -> IntArray:
            return ints(draw(st.lists(entries, min_size=length, max_size=length)))

        count = draw(st.integers(0, jobs), label="jobs")
        job_node = column(count, st.integers(0, n - 1))
        job_demand = matrix(count, small)
        free, draining = matrix(n, st.integers(0, 3)), matrix(n, one_of(0, 0, 0, 1, 3))
        capacity = free + draining + matrix(n, one_of(0, 0, 2))
        np.add.at(capacity, job_node, job_demand)
        waiting = draw(st.integers(1, tes), label="TE jobs")
        return Instance(
            resources=resources,
            node_capacity=capacity,
            node_free=free,
            node_draining=draining,
            job_node=job_node,
            job_demand=job_demand,
            job_grace=column(count, one_of(0, 60, 120, 600)),
            job_preemptions=column(count, st.integers(0, 2)),
            job_remaining=column(count, st.integers(0, 3600)),
            te_demand=matrix(waiting, st.integers(0, 7)),
            preemption_limit=draw(one_of(0, 1, 2, UNLIMITED)),
            grace_weight=draw(one_of(0, 1000, 4000)),
        )

    return draw_instance()


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Generate instances in which two to four TE jobs compete for the same room on identical nodes."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        nodes, count, tes = draw(st.integers(1, 2)), draw(st.integers(0, 4)), draw(st.integers(2, 4))

        def column(length: int, *entries: int) -> IntArray:
            return ints(draw(st.lists(st.sampled_from(entries), min_size=length, max_size=length)))

        job_node, job_demand = column(count, *range(nodes)), column(count, 1, 2, 2)
        free = np.full((nodes, 1), draw(one_of(0, 1, 2, 2)))
        capacity = free.copy()
        np.add.at(capacity[:, 0], job_node, job_demand)
        return Instance(
            resources=("gpu",),
            node_capacity=capacity,
            node_free=free,
            node_draining=np.zeros((nodes, 1), dtype=np.int64),
            job_node=job_node,
            job_demand=job_demand[:, None],
            job_grace=column(count, 0, 60, 120),
            job_preemptions=column(count, 0, 0, 0, 1),
            job_remaining=column(count, 60, 600),
            te_demand=column(tes, 1, 2, 2)[:, None],
        )

    return draw_instance()
