"""Hypothesis strategies of workloads of the iteration engine: those of the task engine, with their jobs as gangs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.aliases import Data
from mlsched.instances.taskgraph.roomy import with_room
from mlsched.instances.values import one_of
from mlsched.simulation.taskgraph import strategies
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.sources import from_tasks
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


#: Units of an individual GPU.
GPU = 4


@functools.cache
def workloads(
    *, jobs: int = 3, nodes: int = 3, tasks: int = 5, runs: int = 10, gpus: bool = False
) -> SearchStrategy[Jobs]:
    """Return a strategy of workloads up to these totals; jobs are slower or faster than their graphs.

    A node has room for all of a job's tasks that may run there, so that packing never prevents a gang. Jobs may have a
    pause cost.

    Args:
        jobs: Most jobs.
        nodes: Most nodes.
        tasks: Most tasks in all.
        runs: Most runs in all.
        gpus: In half of the workloads, GPUs are individual, 4 units each, and tasks may share them.
    """
    from hypothesis import strategies as st

    @st.composite
    def draw_workload(draw: DrawFn) -> Jobs:
        strategy = from_tasks(draw(strategies.workloads(jobs=jobs, nodes=nodes, tasks=tasks, runs=runs)))
        demand, unit = strategy.demand.copy(), draw(one_of(0, GPU)) if gpus else 0
        if unit:
            parts = st.lists(one_of(1, 2, 2, 3, GPU), min_size=len(demand), max_size=len(demand))
            demand[:, 0] = np.where(demand[:, 0] == 1, np.array(draw(parts), dtype=np.int64), demand[:, 0] * unit)
        apart = demand.copy()
        if unit:
            apart[:, 0] = -(-demand[:, 0] // GPU) * GPU
        most = np.zeros((len(strategy.gang), len(strategy.resources)), dtype=np.int64)
        np.add.at(most, strategy.task_template, apart)
        capacity = np.maximum(strategy.node_capacity, most.max(axis=0, initial=0))
        scales = st.lists(
            one_of(WHOLE, WHOLE, 2 * WHOLE, 700_000, 1_333_333),
            min_size=len(strategy.arrival),
            max_size=len(strategy.arrival),
        )
        scale = np.array(draw(scales), dtype=np.int64)
        if unit:
            capacity[:, 0] = -(-capacity[:, 0] // GPU) * GPU
        usage_options = st.lists(one_of(WHOLE, WHOLE // 2, 1_700_000), min_size=demand.size, max_size=demand.size)
        usage = np.array(draw(usage_options), dtype=np.int64).reshape(demand.shape)
        costs = st.lists(one_of(0, 0, WHOLE, 2_500_000), min_size=len(scale), max_size=len(scale))
        cost = np.array(draw(costs), dtype=np.int64)
        movement = draw(one_of(strategy.movement, strategy.movement, "anytime"))
        return strategy.replace(
            node_capacity=capacity,
            scale=scale,
            demand=demand,
            gpu_unit=unit,
            usage=usage,
            pause_cost=cost,
            movement=movement,
        )

    return draw_workload().filter(lambda workload: not never_start(workload))


def options() -> SearchStrategy[Data]:
    """Return a strategy of the world's options, every field drawn; in half of the draws, usage is drawn."""
    from hypothesis import strategies as st

    strategy = st.fixed_dictionaries(
        {
            "usage": st.just("drawn"),
            "overload_power": one_of(1, 1, 2, 3),
            "usage_spread": one_of(0.0, 0.2, 0.5),
            "usage_every": st.integers(1, 5),
            "usage_at_start": st.booleans(),
        }
    )
    return st.builds(
        lambda world, usage_options: world | (usage_options or {}), strategies.options(), st.one_of(st.none(), strategy)
    )


def roomy(workload: Jobs) -> Jobs:
    """Return the same jobs on nodes that may each run every task and have room for all jobs at once."""
    capacity = with_room(workload, len(workload.template))
    return workload.replace(node_capacity=capacity, eligible=np.ones_like(workload.eligible))
