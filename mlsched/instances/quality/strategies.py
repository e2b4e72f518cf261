"""A Hypothesis strategy of small quality instances: adversarial, unlike the realistic generator.

Tables are drawn step by step from few numbers, so that ties, flat segments, late jumps (not concave) and jobs without
gain are common; gain and loss need not come from one curve.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.instances.quality.instance import Instance, waiting_in_arrival_order
from mlsched.instances.values import one_of

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def instances(*, jobs: int = 4, cores: int = 8) -> SearchStrategy[Instance]:
    """Generate instances up to these numbers of jobs and cores (by default brute force takes milliseconds)."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        count = draw(st.integers(0, jobs), label="jobs")
        total = draw(st.integers(0, cores), label="cores")
        reserved = draw(st.integers(0, total)) if draw(st.booleans()) else 0
        minimum = draw(one_of(0, 1, 1, 1, 2))
        width = draw(st.integers(minimum, max(minimum, total)), label="width")

        def column(entries: SearchStrategy[int]) -> IntArray:
            return ints(draw(st.lists(entries, min_size=count, max_size=count)))

        def falls(entries: SearchStrategy[int]) -> IntArray:
            values = draw(st.lists(entries, min_size=count * width, max_size=count * width))
            return np.array(values, dtype=np.int64).reshape(count, width)

        small = one_of(0, 0, 1, 2, 3, 5, 10)
        start = np.zeros((count, 1), dtype=np.int64)
        gain = np.hstack([start, np.cumsum(falls(small), axis=1)])
        drop = np.hstack([start, np.cumsum(falls(small), axis=1)])
        floor = column(one_of(0, 0, 3, 20))
        waiting = waiting_in_arrival_order(count, total - reserved, minimum)
        if draw(one_of(False, False, True)):
            waiting = np.maximum(waiting, column(st.integers(0, 1)))
        return Instance(
            cores=total,
            gain=gain,
            loss=(floor + drop[:, -1])[:, None] - drop,
            weight=column(one_of(1, 1, 1, 0, 2, 3)),
            most=column(st.integers(minimum, width)),
            waiting=waiting,
            reserved=reserved,
            least=minimum,
            predictor="adversarial",
        )

    return draw_instance()


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Generate instances in which two to four jobs would all gain from cores, but there are too few for their caps."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        count, minimum = draw(st.integers(2, 4), label="jobs"), draw(one_of(0, 1, 1))
        cores = draw(st.integers(max(count, 3), 8), label="cores")
        width = draw(st.integers(cores // count + 1, cores), label="width")

        def table(*entries: int) -> IntArray:
            size = count * width
            return ints(draw(st.lists(st.sampled_from(entries), min_size=size, max_size=size))).reshape(count, width)

        start = np.zeros((count, 1), dtype=np.int64)
        gain = np.hstack([start, np.cumsum(table(1, 2, 3, 5, 10), axis=1)])
        drop = np.hstack([start, np.cumsum(table(1, 2, 5), axis=1)])
        return Instance(
            cores=cores,
            gain=gain,
            loss=drop[:, -1:] - drop,
            weight=np.ones(count, dtype=np.int64),
            most=np.full(count, width),
            waiting=np.zeros(count, dtype=np.int64),
            least=minimum,
            predictor="contended",
        )

    return draw_instance()
