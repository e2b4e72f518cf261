"""A Hypothesis strategy of small rounds: adversarial, unlike the realistic generator.

Few distinct numbers make ties, exact fits and equal jobs common. Costs may be independent of rates.
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


def _integer_array(draw: DrawFn, shape: tuple[int, ...], *entries: int) -> IntArray:
    from hypothesis import strategies as st

    size = int(np.prod(shape))
    if not size:
        return np.zeros(shape, dtype=np.int64)
    return np.array(draw(st.lists(one_of(*entries), min_size=size, max_size=size)), dtype=np.int64).reshape(shape)


@functools.cache
def instances(*, jobs: int = 4, types: int = 2) -> SearchStrategy[Instance]:
    """Generate instances up to these numbers of jobs and types (defaults: brute force takes milliseconds)."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        j, m = draw(st.integers(0, jobs), label="jobs"), draw(st.integers(0, types), label="types")
        c = draw(st.integers(0, 4), label="configs") if m else 0
        rate = _integer_array(draw, (j, c), 0, 0, 1000, 1000, 2000, 2500, 7)
        able = [[-1, *np.flatnonzero(row).tolist()] for row in rate]
        return Instance(
            capacity=_integer_array(draw, (m,), 0, 1, 2, 2, 3),
            config_type=_integer_array(draw, (c,), *range(m)),
            config_gpus=_integer_array(draw, (c,), 1, 1, 2, 3),
            rate=rate,
            remaining=_integer_array(draw, (j,), 1, 2, 5, 10, 1000),
            done=_integer_array(draw, (j,), 0, 0, 3, 10),
            age=_integer_array(draw, (j,), 0, 1000, 5000),
            current=np.array([draw(one_of(*options)) for options in able], dtype=np.int64),
            usual=_integer_array(draw, (j,), 1, 1000, 1000, 3000),
            fair=_integer_array(draw, (j,), 1, 500, 500, 1000),
            isolated=_integer_array(draw, (j,), 0, 1000, 4000),
            goodput_cost=_integer_array(draw, (j, c), 1, 2, 3, 3, 5, 0),
            waiting_cost=_integer_array(draw, (j,), 2, 4, 4, 6),
            weight=_integer_array(draw, (j,), 1, 1, 2, 3),
            length=draw(one_of(1, 1000, 4000)),
            pause=draw(one_of(0, 0, 500, 2000)),
        )

    return draw_instance()


@functools.cache
def contended() -> SearchStrategy[Instance]:
    """Generate instances in which two to four jobs compete for the same GPUs: one fits, two do not."""
    from hypothesis import strategies as st

    @st.composite
    def draw_instance(draw: DrawFn) -> Instance:
        j, gpus = draw(st.integers(2, 4)), draw(st.integers(1, 3))
        return Instance(
            capacity=np.array([gpus]),
            config_type=np.array([0, 0]),
            config_gpus=np.array([1, gpus]),
            rate=_integer_array(draw, (j, 2), 1000, 2000, 3000),
            remaining=_integer_array(draw, (j,), 5, 10, 100),
            done=_integer_array(draw, (j,), 0, 5),
            age=_integer_array(draw, (j,), 1000, 5000),
            current=_integer_array(draw, (j,), -1, -1, 0),
            usual=np.full(j, 1000),
            fair=np.full(j, 500),
            isolated=np.zeros(j, dtype=np.int64),
            goodput_cost=_integer_array(draw, (j, 2), 1, 2, 3),
            waiting_cost=np.full(j, 5),
            length=5000,
        )

    return draw_instance()
