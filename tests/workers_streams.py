"""What tests of workers online share: tiny streams in whole ms, and every way that their arrivals can fall."""

import itertools

import numpy as np
from hypothesis import strategies as st

from mlsched.core.fields import ints
from mlsched.instances.workers import NEVER, Stream

NS = 10**6


@st.composite
def streams(draw, *, jobs=2, iterations=2, workers=2):
    """Streams whose iterations take a few ms, on one or two resources; some configurations cannot train."""
    models = draw(st.integers(1, 2))
    times = st.sampled_from([NS, NS, 3 * NS // 2, 2 * NS, 3 * NS, NEVER])
    table = [[draw(times) for _ in range(workers)] for _ in range(models)]
    for row in table:
        row[0] = min(row[0], 3 * NS)  # one worker and one PS can train
    types = draw(st.integers(1, 2))
    return Stream(
        resources=("gpu",),
        models=("a", "b")[:models],
        capacity=ints([draw(st.integers(1, 3))]),
        worker_demand=[[1]] * models,
        ps_demand=[[0]] * models,
        time=np.array(table, dtype=np.int64)[:, :, None],
        type_model=ints(draw(st.integers(0, models - 1)) for _ in range(types)),
        type_iterations=ints(draw(st.integers(1, iterations)) for _ in range(types)),
        chance=ints(draw(st.integers(1, 3)) for _ in range(types)),
        jobs=draw(st.integers(0, jobs)),
        gap=draw(st.sampled_from([1, 2, 5])),
    )


def courses(stream, longest):
    """(probability, arrivals, types) of every way that jobs can come; gaps above `longest` ms are one, the last.

    After so long everybody who is there has finished, and how much longer it takes makes no difference.
    """
    stay, total = 1 - 1 / stream.gap, int(stream.chance.sum())
    gaps = [(stay ** (k - 1) / stream.gap, k) for k in range(1, longest + 1)] + [(stay**longest, longest + 1)]
    kinds = [(int(c) / total, k) for k, c in enumerate(stream.chance)]
    for chosen in itertools.product(gaps, repeat=max(0, stream.jobs - 1)):
        for types in itertools.product(kinds, repeat=stream.jobs):
            probability = np.prod([p for p, _ in chosen]) * np.prod([p for p, _ in types])
            arrival = np.cumsum([0, *(k for _, k in chosen)])[: stream.jobs].tolist()
            yield float(probability), arrival, [k for _, k in types]
