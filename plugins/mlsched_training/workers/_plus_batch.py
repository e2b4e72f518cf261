"""Chic-plus over the batched simulation: the features and possible actions of every episode at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.instances.workers import NEVER
from mlsched.learned.workers.chic_plus import MOVES, dominant_shares
from mlsched.learned.workers.plus_net import STATIC, PlusNet, dynamic, static, valid
from mlsched.simulation.workers.phase import FIELDS
from mlsched.simulation.workers.workload import Workload, startable
from mlsched_training.workers.batch import Batch


class Views:
    """What the network sees of a batch of episodes (E episodes, I slots). Tables have one model more: an empty slot."""

    def __init__(self, batch: Batch, first: Workload) -> None:
        self.batch, self.window = batch, batch.phase.window
        models, most_w, most_p = first.iteration.shape
        self.most = np.array([most_w, most_p])
        self.seconds = np.full((models + 1, most_w + 2, most_p + 2), np.inf)
        self.seconds[:-1, 1:-1, 1:-1] = np.where(first.iteration == NEVER, np.inf, first.iteration / 1e9)
        alone = np.where(startable(first), self.seconds[:-1, 1:-1, 1:-1], np.inf)
        self.best = np.append(alone.reshape(models, -1).min(axis=1), 1.0)
        self.capacity = first.capacity
        tasks = np.stack([first.worker_demand, first.ps_demand], axis=1)
        need = np.concatenate([tasks, tasks.sum(axis=1, keepdims=True)], axis=1)
        self.need = np.concatenate([need, np.zeros_like(need[:1])])
        self.shares = np.append(dominant_shares(tasks, first.capacity), [[1e-3, 1e-3]], axis=0)
        self.begin = np.zeros((len(batch.done), self.window, STATIC), dtype=np.float32)

    def look(self) -> tuple[Any, Any, Any, Any]:
        """(static, dynamic, there, valid) of every episode now; `valid` is E x (2 I + 1), the void action last.

        The first is updated in place by the next look.
        """
        state = self.batch.state
        slots = state[:, :-1].reshape(len(state), self.window, FIELDS)
        there = slots[..., 0] >= 0
        kind = np.where(there, slots[..., 0], len(self.best) - 1)
        left, tasks = np.maximum(slots[..., 1], 1), slots[..., 2:]
        at = tasks + MOVES[:, None, None]
        ahead = self.seconds[kind, at[..., 0], at[..., 1]] * left
        best, share = self.best[kind] * left, self.shares[kind]
        new = np.flatnonzero(~tasks.any(axis=(1, 2)))  # a phase begins; `static` does not change within one
        pair = self.seconds[kind[new], 1, 1] * left[new]
        self.begin[new] = static(best[new], pair, share[new, :, 0], share[new, :, 1], there[new], state[new, -1])
        changing = dynamic(ahead, best, tasks[..., 0], tasks[..., 1], share[..., 0], share[..., 1])
        possible = valid(ahead, tasks[..., 0], tasks[..., 1], self._fits(kind, tasks), there)
        flat = possible.reshape(len(state), -1)
        return self.begin, changing, there, np.concatenate([flat, ~flat.any(axis=1, keepdims=True)], axis=1)

    def _fits(self, kind: Any, tasks: Any) -> Any:
        """E x I x 3: whether a worker, a PS, both fit."""
        need = self.need[kind]
        free = self.capacity - (need[:, :, :2] * tasks[..., None]).sum(axis=(1, 2))
        fits = (need <= free[:, None, None]).all(axis=-1)
        room = tasks < self.most
        return fits & np.concatenate([room, room.all(axis=-1, keepdims=True)], axis=-1)


def scores(net: PlusNet, begin: Any, changing: Any, there: Any, possible: Any) -> Any:
    """E x (2 I + 1): the network's scores, -inf for what may not be taken; the void action only where it must be."""
    pair_scores = net.score(net.encode(begin, there), changing).reshape(len(there), -1)
    pair_scores = np.concatenate([pair_scores, np.zeros((len(pair_scores), 1), dtype=np.float32)], axis=1)
    return np.where(possible, pair_scores, np.float32(-np.inf))
