"""Rank-rate: the most useful work per second, if a job's weight is the number of longer jobs that it delays.

A job that finishes early spares every longer job some waiting, as in shortest-job-first. Job j therefore has the
weight u_j = 1 + sum over other jobs k of 1 / (1 + exp(-(e^0.5) ln(alone_k / alone_j))). This is 1 + the number of
longer jobs with a smooth step. The rule maximises the sum of u_j alone_j / cost_j. Here alone_j is the isolated time
of the job on the empty cluster, and cost_j its time with its workers and PSs.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched.core.registry import solver
from mlsched.heuristics.workers.rates import feasible_cost, most_weighted_work
from mlsched.instances.workers import NEVER, Instance, Plan

#: Steepness of the smooth step between a longer and a shorter job, on the logarithm of their times.
STEEPNESS = float(np.exp(0.5))


@solver("rank-rate", problem="workers", paper="ours; smooth shortest-job-first weights on rates")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Give workers and PSs to maximise the sum of rates, weighted by the number of longer jobs."""
    cost = feasible_cost(instance)
    alone = cost.min(axis=(1, 2), initial=NEVER).astype(np.float64)
    return most_weighted_work(instance, cost, ranks(alone, alone < NEVER))


def ranks(alone: FloatArray, able: np.ndarray) -> FloatArray:
    """Return 1 + the smooth number of longer jobs for each job, 0 for a job that cannot train on the cluster."""
    log = np.log(np.where(able, np.maximum(alone, 1.0), 1.0))
    # longer[i, j] is near 1 if job j takes much longer than job i, and near 0 if it takes much less time.
    longer = 1 / (1 + np.exp(-STEEPNESS * (log[None, :] - log[:, None]))) * able[None, :]
    np.fill_diagonal(longer, 0.0)
    return np.where(able, 1.0 + longer.sum(axis=1), 0.0)
