"""A Hypothesis strategy of small workers instances: adversarial, unlike the realistic generator.

Costs are drawn entry by entry from few numbers, so that ties, forbidden combinations, jobs that can never train and
tables in which more workers slow a job down are common. Tasks may have zero demand for some or all resources.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.instances.values import one_of
from mlsched.instances.workers.instance import NEVER, Instance

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def instances(
    *, jobs: int = 4, workers: int = 3, ps: int = 3, resources: int = 3, amount: int = 10
) -> SearchStrategy[Instance]:
    """Generate instances within these numbers of jobs, columns, resources and units (brute force: milliseconds)."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        count = draw(st.integers(0, jobs), label="jobs")
        kinds = draw(st.integers(1, resources), label="resources")
        wide, high = draw(st.integers(1, workers)), draw(st.integers(1, ps))

        def table(entries: SearchStrategy[int], *shape: int) -> IntArray:
            size = int(np.prod(shape))
            return ints(draw(st.lists(entries, min_size=size, max_size=size))).reshape(shape)

        cost = table(one_of(1, 2, 3, 5, 8, 13, 30, 100, NEVER), count, wide, high)
        if draw(st.booleans()):
            # More helps, as it mostly does in life: only then do rules that climb step by step get anywhere.
            cost = np.minimum.accumulate(np.minimum.accumulate(cost, axis=1), axis=2)
        running = table(st.integers(0, 1), count)
        return Instance(
            resources=tuple(f"resource-{r}" for r in range(kinds)),
            models=("a", "b"),
            capacity=table(st.integers(0, amount), kinds),
            worker_demand=table(one_of(0, 1, 1, 2, 3, 5), count, kinds),
            ps_demand=table(one_of(0, 0, 1, 2, 4), count, kinds),
            cost=cost,
            waiting=table(one_of(0, 1, 10, 40, 200, 200), count),
            remaining=table(one_of(1, 2, 10), count),
            model=table(st.integers(0, 1), count),
            current_workers=running * table(st.integers(1, 3), count),
            current_ps=running * table(st.integers(1, 3), count),
            waited=-np.sort(-table(st.integers(0, 5), count)),
            backlog=draw(one_of(0, 0, 3)),
        )

    return draw_instance()


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Generate instances in which two to four jobs share enough for each one separately, and all gain from more."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        count, wide, high = draw(st.integers(2, 4), label="jobs"), draw(st.integers(1, 3)), draw(st.integers(1, 2))

        def column(*entries: int) -> IntArray:
            return ints(draw(st.lists(st.sampled_from(entries), min_size=count, max_size=count)))

        work = column(30, 60, 90, 120)[:, None, None]
        speed = np.arange(1, wide + 1)[:, None] * np.arange(1, high + 1)[None, :]
        demand, ps = column(1, 1, 2)[:, None], column(0, 1, 1)[:, None]
        whole = int((wide * demand + high * ps).max())  # the largest use of a single job
        return Instance(
            resources=("gpu",),
            models=("a",),
            capacity=ints([draw(st.integers(int((demand + ps).max()), whole))]),
            worker_demand=demand,
            ps_demand=ps,
            cost=-(-work // speed),
            waiting=column(200, 400),
            remaining=column(1, 2, 10),
            model=np.zeros(count, dtype=np.int64),
            current_workers=np.zeros(count, dtype=np.int64),
            current_ps=np.zeros(count, dtype=np.int64),
            waited=-np.sort(-column(0, 1, 5)),
        )

    return draw_instance()
