"""Hypothesis strategies of small preemption workloads and of the world's options, and rules that act at random.

Few distinct numbers, so that the following are common: full nodes, exact fits, ties in time, bursts, and victims
without grace period.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import UNLIMITED, IntArray, ints
from mlsched.instances.preemption import Instance, Plan
from mlsched.instances.values import one_of
from mlsched.simulation.preemption.workload import Workload

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@functools.cache
def workloads(*, nodes: int = 3, jobs: int = 14, resources: int = 2) -> SearchStrategy[Workload]:
    """Return a strategy of saturated workloads up to these sizes; every job fits some empty node."""
    from hypothesis import strategies as st

    @st.composite
    def draw_workload(draw: DrawFn) -> Workload:
        k = draw(st.integers(1, resources), label="resources")
        capacity = draw(st.lists(st.lists(st.integers(2, 5), min_size=k, max_size=k), min_size=1, max_size=nodes))
        count = draw(st.integers(1, jobs), label="jobs")

        def column(entries: SearchStrategy[int]) -> IntArray:
            return ints(draw(st.lists(entries, min_size=count, max_size=count)))

        hosts = column(st.integers(0, len(capacity) - 1))
        return Workload(
            resources=("gpu", "cpu", "ram")[:k],
            node_capacity=np.array(capacity, dtype=np.int64),
            submit=np.sort(column(one_of(0, 0, 1, 30, 60, 61, 120, 240, 400, 900))),
            te=column(st.integers(0, 1)),
            execution=column(one_of(1, 30, 60, 90, 180, 200, 600, 1000)),
            demand=np.array([[draw(st.integers(0, c)) for c in capacity[host]] for host in hosts], dtype=np.int64),
            grace=column(one_of(0, 0, 60, 90, 180)),
        )

    return draw_workload()


def options() -> SearchStrategy[Data]:
    """Return a strategy of the world's interpretations, every field drawn."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "te_first": st.booleans(),
            "preemption_limit": one_of(0, 1, 2, UNLIMITED),
            "blocking": one_of("all", "be", "none"),
            "elsewhere": st.booleans(),
            "during_grace": one_of("work", "paused"),
            "snapshot": one_of(1, 60, 180),
            "grace_weight": one_of(0, 4000),
            "asked": one_of("head", "all"),
            "ask_again": one_of("change", "tick"),
        }
    )


def any_plan(instance: Instance, *, rng: np.random.Generator, victims: float = 0.4, eager: float = 0.8) -> Plan:
    """Draw random victims, needed or not, and random nodes for some of the TE jobs that then fit."""
    able = np.flatnonzero(instance.preemptible)
    selection = np.sort(able[rng.uniform(size=len(able)) < victims])
    room = instance.node_free + instance.node_draining
    np.add.at(room, instance.job_node[selection], instance.job_demand[selection])
    te_node = []
    for demand in instance.te_demand:
        fits = np.flatnonzero((room >= demand).all(axis=1))
        node = int(rng.choice(fits)) if fits.size and rng.uniform() < eager else -1
        if node >= 0:
            room[node] -= demand
        te_node.append(node)
    return Plan(te_node=ints(te_node), victims=selection)


VERBS: Data = {
    "anything": any_plan,
    "preempt all": functools.partial(any_plan, victims=1.0),
    "preempt nobody": functools.partial(any_plan, victims=0.0),
    "let all wait": functools.partial(any_plan, victims=0.0, eager=0.0),
}

#: Cadences.
WAKES = ("events", "interval:7", "interval:60", "events+interval:60")
