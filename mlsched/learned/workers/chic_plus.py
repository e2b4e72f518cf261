"""Chic-plus: a small network weighs the jobs; the hull greedy maximises the weighted work per second.

Ours, in place of Chic's networks (Gong et al., 2019). The network reads each job and the other jobs, so it accepts any
number of jobs and any training model. Job j has the weight u_j = exp(network(features_j) + linear(features_j)). The
decision maximises the sum of u_j alone_j / cost_j. Here alone_j is the job's time by itself on the cluster, and cost_j
its time with its workers and PSs. Trained by `mlsched train chic-plus`.
"""

from __future__ import annotations

import functools

import numpy as np

from mlsched.core.errors import InvalidFile
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.workers.rates import feasible_cost, most_weighted_work
from mlsched.instances.workers import NEVER, Instance, Plan
from mlsched.learned.net import Mlp
from mlsched.learned.weights import Weights, of

#: Powers of the smooth numbers of longer jobs: from the job's share of two jobs' times to nearly a count.
POWERS = (1, 3, 10)
#: The features of a job, in this order.
NAMES = (
    *(f"log of 1 + the number of longer jobs, smooth with power {power}" for power in POWERS),
    "log of the time alone, less the mean over the jobs",
    "log of the time with one worker and one PS over the time alone",
    "log of the number of jobs",
    "log of the jobs' dominant shares with one worker and one PS, summed",
    "share of the jobs' times alone",
    "sum of the smaller of the job's and each job's time alone, over the sum of times alone",
    "log of the dominant share with one worker and one PS",
    "product of the third and the sixth feature",
)
#: Largest difference of a logarithmic weight from the mean: every weight remains a number that can be compared.
MOST = 10.0


@solver("chic-plus", problem="workers", paper="ours, after Chic Section 4")
def answer(instance: Instance, *, rng: np.random.Generator, weights: str = "") -> Plan:
    """Give workers and PSs to the jobs whose rates gain most, weighted by a network.

    Args:
        instance: The worker allocation decision.
        rng: Unused; the answer is deterministic.
        weights: File that `mlsched train chic-plus` wrote; "" for the weights that come with mlsched.
    """
    return weighted_plan(_weighting_network(of("chic-plus", "workers", weights)), instance)


def weighted_plan(network: JobNetwork, instance: Instance) -> Plan:
    """Return the plan with the most work per second, weighted by the network."""
    cost = feasible_cost(instance)
    features, able = job_features(instance, cost)
    weight = np.zeros(len(able))
    if able.any():
        log = network(features[able])
        weight[able] = np.exp(np.clip(log - log.mean(), -MOST, MOST))
    return most_weighted_work(instance, cost, weight)


def job_features(instance: Instance, cost: IntArray) -> tuple[FloatArray, np.ndarray]:
    """Return the features of all jobs, (jobs, features), and the jobs that can train on the cluster, (jobs,).

    cost: `feasible_cost` of the instance, ms. Rows of jobs that cannot train are 0.
    """
    alone = cost.min(axis=(1, 2), initial=NEVER).astype(np.float64)
    able = alone < NEVER
    pair = np.where(instance.cost[:, 0, 0] == NEVER, alone, instance.cost[:, 0, 0])
    demand = (instance.worker_demand + instance.ps_demand) / np.maximum(instance.capacity, 1)
    features = np.zeros((len(alone), len(NAMES)))
    if able.any():
        features[able] = _features_of_jobs(alone[able], pair[able], demand[able].max(axis=1, initial=0.0))
    return features, able


def _features_of_jobs(alone: FloatArray, pair: FloatArray, share: FloatArray) -> FloatArray:
    """Return the features of jobs that can train: (jobs,) of times in ms and shares to (jobs, features)."""
    alone, pair, share = np.maximum(alone, 1.0), np.maximum(pair, 1.0), np.maximum(share, 1e-3)
    jobs, log = len(alone), np.log(alone)
    ratio = alone[:, None] / alone[None, :]
    # The ratio of a job to itself adds one half, which is taken off again.
    longer = [np.log1p((1 / (1 + ratio**power)).sum(axis=1) - 0.5) for power in POWERS]
    columns = [
        *longer,
        log - log.mean(),
        np.log(pair / alone),
        np.full(jobs, np.log(jobs)),
        np.full(jobs, np.log(share.sum())),
        alone / alone.sum(),
        np.minimum(alone[:, None], alone[None, :]).sum(axis=1) / alone.sum(),
        np.log(share),
        longer[-1] * np.log(jobs),
    ]
    return np.stack(columns, axis=1)


class JobNetwork:
    """A network with a linear layer beside it: features (jobs, features) to logarithmic weights (jobs,)."""

    def __init__(self, weights: Weights) -> None:
        name = weights.source or "weights"
        self.parts = [Mlp(weights.tensors, prefix, name) for prefix in ("network.", "linear.")]
        for part in self.parts:
            if (part.inputs, part.outputs) != (len(NAMES), 1):
                raise InvalidFile(
                    f"{name}: a part is {part.inputs} -> {part.outputs}, expected {len(NAMES)} -> 1; train it again"
                )

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return the logarithms of the jobs' weights."""
        return np.asarray(sum(part(features)[:, 0] for part in self.parts), dtype=np.float64)


@functools.lru_cache(maxsize=64)
def _weighting_network(weights: Weights) -> JobNetwork:
    return JobNetwork(weights)
