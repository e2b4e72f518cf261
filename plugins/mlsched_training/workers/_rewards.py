"""Parts of an episode's reward, and the end of a training of Chic.

r_t = r_t1 + r_t2 + r_t3 (Gong et al., 2019, Section 4.2): waiting and training time, actions for empty slots, and
workers without a PS or PSs without a worker. Only the first is the objective of the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.learned.workers.chic_policy import PAPER
from mlsched_training.workers.batch import Batch


class Account:
    """Batch of episodes with counts of rewards and useless actions, one entry per episode.

    Attributes:
        completion: Sum of r_t1.
        absent: Sum of r_t2.
        halves: Sum of r_t3.
        actions: Number of actions.
        punished: Number of actions for empty slots, which r_t2 punishes.
        useless: Number of actions without effect, for empty slots or without enough capacity.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self._rows = np.arange(len(batch.done))
        self.completion, self.absent, self.halves = (np.zeros(len(self._rows)) for _ in range(3))
        self.actions, self.punished, self.useless = (np.zeros(len(self._rows), dtype=np.int64) for _ in range(3))

    def step(self, action: IntArray) -> None:
        """Take an action in every episode."""
        batch, rewards = self.batch, self.batch.rewards
        alive = ~batch.done
        self.actions += alive
        self.useless += alive & ~batch.mask[self._rows, action]
        outcome = batch.step(action)
        self.punished += outcome.absent
        self.completion -= outcome.system_ms / rewards.unit
        self.absent -= rewards.p1 * outcome.absent
        if not batch.phase.pair:
            self.halves -= rewards.p2 * outcome.halves

    @property
    def reward(self) -> Any:
        """Return the cumulative rewards, shape (episodes,)."""
        return self.completion + self.absent + self.halves

    def figures(self, episodes: int) -> dict[str, float]:
        """Return means over the first `episodes` for the learning curve; shares are of all their actions."""
        first = slice(episodes)
        actions = max(1, int(self.actions[first].sum()))
        return {
            "reward": float(self.reward[first].mean()),
            "reward_completion": float(self.completion[first].mean()),
            "reward_absent": float(self.absent[first].mean()),
            "reward_halves": float(self.halves[first].mean()),
            "actions": float(self.actions[first].mean()),
            "punished_share": float(self.punished[first].sum() / actions),
            "useless_share": float(self.useless[first].sum() / actions),
        }


def has_ended(params: Any, curve: Sequence[Mapping[str, float]]) -> bool:
    """Return whether a training has ended by its protocol: after `length` iterations, or when its reward settles."""
    return len(curve) >= params.length if params.protocol == PAPER else has_settled(params, curve)


def has_settled(params: Any, curve: Sequence[Mapping[str, float]]) -> bool:
    """Return whether the policy has stopped improving, judged by its learning curve.

    The criterion uses the policies validated in the last `span` iterations, all on the same sequences. At most a share
    `punished` of their actions is punished by r_t2, so that the reward measures completion. Their mean reward differs
    from that of the previous `span` iterations by at most a share `flat`.
    """
    span = params.span
    if len(curve) < 2 * span:
        return False
    validated = [[e for e in part if "validation" in e] for part in (curve[-2 * span : -span], curve[-span:])]
    if not all(validated):
        return False
    before, last = (float(np.mean([e["validation_reward"] for e in part])) for part in validated)
    share = float(np.mean([e["validation_punished_share"] for e in validated[1]]))
    return bool(share <= params.punished and abs(last - before) <= params.flat * abs(last))
