"""Hypothesis strategies of small quality workloads and of the world's options, and rules that act at random.

Few distinct numbers, so that the following are common: bursts, full clusters, waiting jobs, flat and rising losses, and
iterations that just fill an epoch.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import UNLIMITED, IntArray, ints
from mlsched.instances.quality import Instance, Plan
from mlsched.instances.values import one_of
from mlsched.simulation.quality.workload import NANO, NO_TARGET, Workload

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def workloads(*, jobs: int = 6, cores: int = 8, iterations: int = 6) -> SearchStrategy[Workload]:
    """Return a strategy of workloads up to these jobs, cores and iterations per job, every cap at least 2."""
    from hypothesis import strategies as st

    @st.composite
    def draw_workload(draw: DrawFn) -> Workload:
        count = draw(st.integers(1, jobs), label="jobs")
        others = draw(one_of(0, 0, 1, 2), label="others")

        def column(entries: SearchStrategy[int], length: int = count) -> IntArray:
            return ints(draw(st.lists(entries, min_size=length, max_size=length)))

        falls = column(one_of(0, 0, 1, 2, 5, 50, -1), count * iterations).reshape(count, iterations)
        first = column(one_of(0, 10, 1000))
        reduction = column(one_of(0, 0, 1, 3, 50))
        return Workload(
            cores=draw(st.integers(2, cores), label="cores"),
            submit=np.sort(column(one_of(0, 0, 1, 3, 5, 20))),
            work=column(one_of(1, 700, 1000, 3000, 9000)),
            iterations=column(st.integers(1, iterations)),
            loss=(first[:, None] - np.hstack([np.zeros((count, 1), dtype=np.int64), np.cumsum(falls, axis=1)])) * NANO,
            target=np.where(reduction > 0, (first - reduction) * NANO, NO_TARGET),
            family=column(st.integers(0, 2)),
            weight=column(one_of(1, 1, 0, 3)),
            most=column(one_of(2, 3, UNLIMITED)),
            other_submit=np.sort(column(one_of(0, 2, 9), others)),
            other_seconds=column(one_of(1, 6, 10), others),
            other_cores=column(one_of(0, 1, 3, 20), others),
        )

    return draw_workload()


def roomy(workload: Workload) -> Workload:
    """Return the same jobs with one more core for each of them, and the cores that non-ML jobs request."""
    more = len(workload.submit) + int(workload.other_cores.sum())
    return workload.replace(cores=min(workload.cores + more, UNLIMITED))


def options() -> SearchStrategy[Data]:
    """Return a strategy of the simulator's options. Every job that may run gets a core, so that every run ends."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "epoch": one_of(1, 3, 10),
            "progress": one_of("fluid", "carry"),
            "normalise": one_of("change", "range"),
            "newcomer": one_of("unit", "flat"),
            "information": one_of("observed", "oracle"),
            "hints": one_of("stop", "fit", "unknown"),
            "predictor": one_of("fit", "strawman"),
            "least": one_of(1, 1, 2),
            "spare": one_of("idle", "share"),
            "others": one_of("reservation", "fair"),
        }
    )


def any_plan(instance: Instance, *, rng: np.random.Generator, share: float = 0.8) -> Plan:
    """Draw a plan: the least for every running job, and about a share of the other cores to random jobs."""
    running = instance.running
    cores = np.full(len(running), instance.least, dtype=np.int64)
    for _ in range(max(0, instance.available - int(cores.sum()))):
        room = np.flatnonzero(cores < instance.most[running])
        if room.size and rng.uniform() < share:
            cores[rng.choice(room)] += 1
    return instance.plan(cores)


VERBS: Data = {
    "anything": any_plan,
    "the least": functools.partial(any_plan, share=0.0),
    "everything": functools.partial(any_plan, share=1.0),
}
