"""Harmony's experience replay: samples (s, a, r, s') of many clusters, first in first out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.simulation.placement.board import Shape


@dataclasses.dataclass(frozen=True)
class Samples:
    """now, then: features of s and s' (samples x features). valid: actions of s (samples x actions). action. reward: r.
    discount: of V(s'), gamma to the number of actions between s and s'; each of them has the reward r.
    """

    now: Any
    then: Any
    valid: BoolArray
    action: IntArray
    reward: Any
    discount: Array


class Replay:
    """The last `size` samples. Samples of an interval wait until its reward is known.

    gamma: the discount of an action. whole: s' is the first state of the next interval, not the state after the action.
    """

    def __init__(self, size: int, rows: int, shape: Shape, gamma: float, whole: bool) -> None:
        self.size, self.count, self.next = size, 0, 0
        self.gamma, self.whole = gamma, whole
        self.kept = Samples(
            np.zeros((size, shape.features), dtype=np.float32),
            np.zeros((size, shape.features), dtype=np.float32),
            np.zeros((size, shape.actions), dtype=bool),
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.float32),
            np.zeros(size, dtype=np.float32),
        )
        self._open: list[list[tuple[Array, ...]]] = [[] for _ in range(rows)]
        self._last = 0

    def note(self, now: Array, action: Any, valid: Array, then: Array) -> None:
        """Record a step of every cluster; its reward follows at the end of the interval (`close`).

        Args:
            now, then: State before and after the step.
            action: Action.
            valid: Valid actions before the step.
        """
        for row, waiting in enumerate(self._open):
            waiting.append((now[row], then[row], valid[row], action[row]))

    def close(self, rows: IntArray, reward: FloatArray) -> None:
        """Record the rewards of the ended intervals of some clusters."""
        for row, got in zip(rows.tolist(), reward.tolist(), strict=True):
            waiting, self._open[row] = self._open[row], []
            at = (self.next + np.arange(len(waiting))) % self.size
            storage = self.kept
            for k, (now, then, valid, action) in zip(at.tolist(), waiting, strict=True):
                storage.now[k], storage.then[k], storage.valid[k], storage.action[k] = (now, then, valid, action)
            storage.reward[at], storage.discount[at] = got, self.gamma
            if self.whole and waiting:
                storage.then[at] = waiting[-1][1]
                storage.discount[at] = self.gamma ** np.arange(len(waiting), 0, -1)
            self.next = (self.next + len(waiting)) % self.size
            self.count = min(self.size, self.count + len(waiting))
            self._last += len(waiting)

    def forget_last(self) -> None:
        """Start the last samples (see `draw`) now."""
        self._last = 0

    def draw(self, rng: np.random.Generator, count: int, replayed: bool) -> Samples:
        """Return `count` random samples, or, with `replayed` false, all samples since `forget_last`."""
        if replayed:
            indices = rng.integers(self.count, size=count)
        else:
            indices = (self.next - 1 - np.arange(min(self._last, self.size))) % self.size
        return Samples(*(column[indices] for column in arrays_of_samples(self.kept)))


def shuffled_samples(rng: np.random.Generator, samples: Samples, shape: Shape) -> Samples:
    """Return the samples with waiting jobs, running jobs and servers in another order, the same for all samples."""
    new, servers = rng.permutation(shape.new), rng.permutation(shape.servers)
    slots = np.concatenate([new, shape.new + rng.permutation(shape.running)])
    boundary = shape.slots * shape.of_job
    jobs = np.arange(boundary).reshape(shape.slots, shape.of_job)[slots]
    rest = np.arange(boundary, shape.features).reshape(shape.servers, shape.of_server)[servers]
    pairs = rest[:, shape.resources :].reshape(shape.servers, shape.slots, 2)[:, slots].reshape(shape.servers, -1)
    rest = np.concatenate([rest[:, : shape.resources], pairs], axis=1)
    features = np.concatenate([jobs.ravel(), rest.ravel()])
    actions = np.arange(shape.actions).reshape(shape.new, 2, shape.servers)[new][:, :, servers].ravel()
    place = np.argsort(actions)  # where each action has gone
    return Samples(
        samples.now[:, features],
        samples.then[:, features],
        samples.valid[:, actions],
        place[samples.action],
        samples.reward,
        samples.discount,
    )


def arrays_of_samples(samples: Samples) -> tuple[Array, ...]:
    """Return the arrays themselves, without the copies of `dataclasses.astuple`."""
    return tuple(getattr(samples, field.name) for field in dataclasses.fields(samples))
