"""Random workloads of gangs for the iteration engine: few nodes and jobs, whole ticks, no transfers."""

from __future__ import annotations

from hypothesis import strategies as st
from jobs_examples import jobs_of

from mlsched.simulation.taskgraph.iterations.fits import never_start


@st.composite
def gang_workloads(draw, *, true=False, equal=False, jobs=6):
    """Up to `jobs` jobs of three shapes on up to three nodes; `true`: estimates are, `equal`: so are a gang's tasks.

    Every job fits the empty cluster in any order of its tasks.
    """
    nodes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    shapes = []
    for _ in range(draw(st.integers(1, 3))):
        count = draw(st.integers(1, 3))
        sizes = [draw(st.integers(1, max(nodes)))] * count
        if not equal:
            sizes = [draw(st.integers(1, max(nodes))) for _ in range(count)]
        shapes.append([(draw(st.integers(1, 4)), size) for size in sizes])
    which = st.tuples(st.integers(0, 12), st.integers(0, len(shapes) - 1), st.integers(1, 3))
    drawn = sorted(draw(st.lists(which, min_size=1, max_size=jobs)))
    load = jobs_of(shapes, drawn, nodes=[(size,) for size in nodes], tick_ms=1000)
    if not true:
        load = load.replace(told=[draw(st.sampled_from([500_000, 10**6, 2 * 10**6])) for _ in drawn])
    return draw(st.just(load).filter(lambda found: not never_start(found) and _packs(found)))


def _packs(load):
    """Whether every job's tasks, in their order, find nodes one after another however each chooses among those free."""
    capacity = load.node_capacity[:, 0].tolist()
    return all(_any_way(capacity, load.demand[first:end, 0].tolist()) for first, end in load.tasks)


def _any_way(free, tasks):
    if not tasks:
        return True
    able = [node for node, room in enumerate(free) if room >= tasks[0]]
    return bool(able) and all(
        _any_way([room - tasks[0] * (k == node) for k, room in enumerate(free)], tasks[1:]) for node in able
    )
