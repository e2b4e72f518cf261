"""Chic-plus: a learned marginal gain decides which job gets the next worker or PS.

Ours, after Chic (Gong et al., 2019): its decision phase, but impossible and useless actions are masked, the network is
the same function for every job (any number of jobs, any training models), and it is trained by imitation first and
then by policy gradient with a baseline per workload sequence (`mlsched train chic-plus`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mlsched.core.registry import solver
from mlsched.instances.workers import NEVER, Instance, Plan
from mlsched.learned.net import sample
from mlsched.learned.weights import Weights, of
from mlsched.learned.workers._plus_queue import fill
from mlsched.learned.workers.plus_net import PlusNet, dynamic, static, valid

#: Time of a step more in each direction: as it is, a worker, a PS, both.
MOVES = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])


@solver("chic-plus", problem="workers", paper="ours, after Chic Section 4")
def answer(instance: Instance, *, rng: np.random.Generator, weights: str = "", greedy: bool = True) -> Plan:
    """One worker or PS after the other where a learned marginal gain is largest.

    weights: a file that `mlsched train chic-plus` wrote; "": the weights that come with mlsched. greedy: always the
    highest score; otherwise drawn, as in training.
    """
    state, net = Allocation(instance), _made(of("chic-plus", "workers", weights))
    if greedy:
        state.tasks = fill(state, net)
        return state.plan()
    return state.draw(net, rng)


@functools.lru_cache(maxsize=64)
def _made(weights: Weights) -> PlusNet:
    return PlusNet(weights.tensors)


class Allocation:
    """One instance under allocation: features and possible actions of every job, kept up to date."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        jobs = len(instance.waiting)
        _, most_w, most_p = instance.cost.shape
        self.time = np.full((jobs, most_w + 2, most_p + 2), np.inf)
        self.time[:, 1:-1, 1:-1] = np.where(instance.cost == NEVER, np.inf, instance.cost / 1000)
        self.most = np.array([most_w, most_p])
        self.tasks = np.zeros((jobs, 2), dtype=np.int64)
        self.free = instance.capacity.copy()
        self.need = np.stack(
            [instance.worker_demand, instance.ps_demand, instance.worker_demand + instance.ps_demand], axis=1
        )
        self.shares = dominant_shares(self.need[:, :2], instance.capacity)
        self.best = self._alone()
        # A job that cannot train on the cluster, even alone, is not there.
        self.there = np.isfinite(self.best)
        self.best = np.where(self.there, self.best, 1.0)

    def _alone(self) -> Any:
        """Least time to finish alone on the cluster; infinite where it cannot."""
        w = np.arange(1, self.most[0] + 1)[:, None, None]
        p = np.arange(1, self.most[1] + 1)[None, :, None]
        alone = np.full(len(self.tasks), np.inf)
        if not len(alone):
            return alone
        kinds, kind = np.unique(self.need[:, :2].reshape(len(alone), -1), axis=0, return_inverse=True)
        for k, (worker, ps) in enumerate(kinds.reshape(len(kinds), 2, -1)):
            fits = (w * worker + p * ps <= self.instance.capacity).all(axis=-1)
            alone[kind == k] = self.time[kind == k, 1:-1, 1:-1][:, fits].min(axis=1, initial=np.inf)
        return alone

    def start(self) -> Any:
        """`static` features of all jobs."""
        worker, ps = self.shares.T
        return static(self.best, self.time[:, 1, 1], worker, ps, self.there, np.float64(self.instance.backlog))

    def ahead(self, jobs: Any, tasks: Any) -> Any:
        """4 x jobs: times of jobs with their tasks (jobs x 2), as they are and after each move."""
        at = tasks + MOVES[:, None]
        return self.time[jobs, at[..., 0], at[..., 1]]

    def changing(self, jobs: Any, tasks: Any, ahead: Any) -> Any:
        """`dynamic` features of some jobs with their tasks, and the times `ahead`."""
        workers, servers = tasks.T
        return dynamic(ahead, self.best[jobs], workers, servers, *self.shares[jobs].T)

    def valid(self) -> Any:
        """Jobs x 2: which actions may be taken."""
        fits = (self.need <= self.free).all(axis=-1)
        room = self.tasks < self.most
        fits &= np.concatenate([room, room.all(axis=1, keepdims=True)], axis=1)
        every = np.arange(len(self.tasks))
        workers, servers = self.tasks.T
        return valid(self.ahead(every, self.tasks), workers, servers, fits, self.there)

    def give(self, job: int, kind: int) -> None:
        """Give a job a worker (0) or a PS (1)."""
        self.tasks[job, kind] += 1
        self.free -= self.need[job, kind]

    def features(self, jobs: Any) -> Any:
        """`dynamic` features of some jobs with what they have."""
        tasks = self.tasks[jobs]
        return self.changing(jobs, tasks, self.ahead(jobs, tasks))

    def draw(self, net: PlusNet, rng: np.random.Generator | None) -> Plan:
        """Take actions until none remains, drawn from the softmax of their scores; without `rng` the likeliest."""
        if len(self.tasks):
            every = np.arange(len(self.tasks))
            code = net.encode(self.start(), self.there)
            scores = net.score(code, self.features(every))
            while (possible := self.valid()).any():
                masked = np.where(possible, scores, -np.inf).ravel()
                chosen = int(masked.argmax() if rng is None else sample(masked, rng))
                job, kind = divmod(chosen, 2)
                self.give(job, kind)
                scores[job] = net.score(code[job], self.features(every[job : job + 1])[0])
        return self.plan()

    def plan(self) -> Plan:
        """What the jobs have; those that cannot train with it wait."""
        trains = np.isfinite(self.time[np.arange(len(self.tasks)), *self.tasks.T])
        tasks = self.tasks * trains[:, None]
        return Plan(workers=tasks[:, 0].copy(), ps=tasks[:, 1].copy())


def dominant_shares(need: Any, capacity: Any) -> Any:
    """Largest share of a resource that each demand (... x resources) takes, at least a thousandth."""
    shares = np.where(capacity > 0, need / np.maximum(capacity, 1), 0.0)
    return np.maximum(shares.max(axis=-1, initial=0.0), 1e-3)
