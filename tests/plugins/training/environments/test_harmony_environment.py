"""Harmony's decision process is the placement world's, and shows what the paper's state holds."""

from __future__ import annotations

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput

gymnasium = pytest.importorskip("gymnasium")
from mlsched_training.environments.harmony import GAMMA, HarmonyEnv  # noqa: E402


def episode(env, seed, choose):
    """Rewards of an episode whose actions `choose(valid actions)` takes."""
    _, info = env.reset(seed=seed)
    over, rewards = False, []
    while not over:
        _, reward, over, _, info = env.step(choose(np.flatnonzero(info["action_mask"])))
        rewards.append(reward)
        assert info["interval_reward"] == reward
    return rewards


def test_the_discount_is_the_papers():
    assert GAMMA == 0.9


def test_an_episode_is_a_run_of_the_world():
    """What the environment does is what the clock does with a rule that takes the same actions."""
    env = HarmonyEnv(jobs=8)
    rewards = episode(env, 5, lambda valid: int(valid[0]))
    world = env.world
    shape = env._board.shape
    said = []

    def first(instance, *, rng):
        from mlsched.simulation.placement.board import Board

        board, only = Board(shape, 1), np.array([0])
        board.read(instance, np.arange(shape.types))
        while (valid := board.valid(only)[0]).any():
            board.act(only, np.array([np.flatnonzero(valid)[0]]))
        said.append(board.plan(instance).workers.any())
        return board.plan(instance)

    run = mlsched.simulate(world.workload, first, options={"window": shape.new, "most_jobs": shape.running})
    assert run.log.placements == world.log.placements
    assert run.violations() == []
    assert sum(reward > 0 for reward in rewards) == sum(said)


def test_an_action_that_is_not_valid_changes_nothing():
    env = HarmonyEnv(jobs=4)
    seen, info = env.reset(seed=1)
    bad = int(np.flatnonzero(info["action_mask"] == 0)[0])
    after, reward, over, _, later = env.step(bad)
    assert (after == seen).all()
    assert reward == 0
    assert not over
    assert (later["action_mask"] == info["action_mask"]).all()


def test_interference_is_not_seen():
    """Two worlds that differ in their interference alone look the same until speeds make a difference."""
    one, other = HarmonyEnv(jobs=6), HarmonyEnv(jobs=6, sigma_scale=3.0)
    assert (one.reset(seed=2)[0] == other.reset(seed=2)[0]).all()


def test_after_the_end_one_line_says_so():
    env = HarmonyEnv(jobs=1)
    episode(env, 0, lambda valid: int(valid[0]))
    with pytest.raises(InvalidInput, match="the episode is over"):
        env.step(0)
