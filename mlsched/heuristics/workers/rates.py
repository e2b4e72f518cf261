"""Choose the workers and PSs with the largest sum of rates."""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.core.fields import FloatArray, IntArray
from mlsched.formulations.workers.columns import Columns, columns
from mlsched.heuristics.workers._hull import hull_greedy
from mlsched.instances.workers import NEVER, Instance, Plan
from mlsched.solvers.workers._state_search import cheapest

#: Largest sum over the jobs of the rates as integers.
MOST = 2**45


def feasible_cost(instance: Instance) -> IntArray:
    """Return the instance's costs, (jobs, workers, PSs), with `NEVER` where the cluster is too small for the job."""
    _, most_workers, most_ps = instance.cost.shape
    workers = np.arange(1, most_workers + 1)[None, :, None, None]
    servers = np.arange(1, most_ps + 1)[None, None, :, None]
    use = workers * instance.worker_demand[:, None, None, :] + servers * instance.ps_demand[:, None, None, :]
    return np.where((use <= instance.capacity).all(axis=3), instance.cost, NEVER)


def whole_rates(rate: FloatArray) -> IntArray:
    """Return rates as integers, scaled so that their sum over the jobs is at most `MOST`."""
    largest = float(rate.max(initial=0.0)) * max(1, len(rate))
    return np.floor(rate * (MOST / largest if largest else 0.0)).astype(np.int64)


def rate_columns(instance: Instance, rate: IntArray) -> Columns:
    """Return the columns of the instance with the cost (largest rate - rate); a waiting job has rate 0.

    rate: (jobs, workers, PSs), 0 for a job that cannot train.
    """
    largest = int(rate.max(initial=0))
    cost = np.where(instance.cost == NEVER, NEVER, largest - rate)
    return columns(instance, cost, np.full(len(rate), largest, dtype=np.int64))


def largest_sum(instance: Instance, rate: IntArray) -> Plan:
    """Return the plan with the largest sum of rates; the hull greedy's plan if the exact search is too large."""
    choice = rate_columns(instance, rate)
    try:
        return choice.plan(cheapest(choice).chosen)
    except TooLarge:
        return choice.plan(hull_greedy(choice))


def most_weighted_work(instance: Instance, cost: IntArray, weight: FloatArray) -> Plan:
    """Return the hull greedy's plan for the largest sum of weight_j alone_j / cost_j over the jobs.

    cost: `feasible_cost` of the instance. weight: (jobs,), 0 for a job that cannot train.
    """
    alone = cost.min(axis=(1, 2), initial=NEVER).astype(np.float64)
    rate = np.where(cost == NEVER, 0.0, (weight * alone)[:, None, None] / np.maximum(cost, 1))
    choice = rate_columns(instance, whole_rates(rate))
    return choice.plan(hull_greedy(choice))
