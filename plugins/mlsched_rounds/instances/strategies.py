"""A Hypothesis strategy of small rounds: adversarial where the generator is realistic.

Few distinct numbers, so that ties, exact fits and jobs alike are common; costs need not follow from rates.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.values import one_of
from mlsched_rounds.instances.instance import Instance

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


def _array(draw: DrawFn, shape: tuple[int, ...], *entries: int) -> IntArray:
    from hypothesis import strategies as st

    size = int(np.prod(shape))
    if not size:
        return np.zeros(shape, dtype=np.int64)
    return np.array(draw(st.lists(one_of(*entries), min_size=size, max_size=size)), dtype=np.int64).reshape(shape)


@functools.cache
def instances(*, jobs: int = 4, types: int = 2) -> SearchStrategy[Instance]:
    """Instances with at most so many jobs and types (defaults: brute force takes milliseconds)."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        j, m = draw(st.integers(0, jobs), label="jobs"), draw(st.integers(0, types), label="types")
        c = draw(st.integers(0, 4), label="configs") if m else 0
        rate = _array(draw, (j, c), 0, 0, 1000, 1000, 2000, 2500, 7)
        able = [[-1, *np.flatnonzero(row).tolist()] for row in rate]
        return Instance(
            capacity=_array(draw, (m,), 0, 1, 2, 2, 3),
            config_type=_array(draw, (c,), *range(m)),
            config_gpus=_array(draw, (c,), 1, 1, 2, 3),
            rate=rate,
            remaining=_array(draw, (j,), 1, 2, 5, 10, 1000),
            done=_array(draw, (j,), 0, 0, 3, 10),
            age=_array(draw, (j,), 0, 1000, 5000),
            current=np.array([draw(one_of(*options)) for options in able], dtype=np.int64),
            usual=_array(draw, (j,), 1, 1000, 1000, 3000),
            fair=_array(draw, (j,), 1, 500, 500, 1000),
            isolated=_array(draw, (j,), 0, 1000, 4000),
            goodput_cost=_array(draw, (j, c), 1, 2, 3, 3, 5, 0),
            waiting_cost=_array(draw, (j,), 2, 4, 4, 6),
            weight=_array(draw, (j,), 1, 1, 2, 3),
            length=draw(one_of(1, 1000, 4000)),
            pause=draw(one_of(0, 0, 500, 2000)),
        )

    return draw_instance()


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Instances in which two to four jobs want the same GPUs: one fits where two do not."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        j, gpus = draw(st.integers(2, 4)), draw(st.integers(1, 3))
        return Instance(
            capacity=np.array([gpus]),
            config_type=np.array([0, 0]),
            config_gpus=np.array([1, gpus]),
            rate=_array(draw, (j, 2), 1000, 2000, 3000),
            remaining=_array(draw, (j,), 5, 10, 100),
            done=_array(draw, (j,), 0, 5),
            age=_array(draw, (j,), 1000, 5000),
            current=_array(draw, (j,), -1, -1, 0),
            usual=np.full(j, 1000),
            fair=np.full(j, 500),
            isolated=np.zeros(j, dtype=np.int64),
            goodput_cost=_array(draw, (j, 2), 1, 2, 3),
            waiting_cost=np.full(j, 5),
            length=5000,
        )

    return draw_instance()
