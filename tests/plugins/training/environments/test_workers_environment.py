"""`mlsched/Workers-v0`, as one environment and as a vector of them."""

from __future__ import annotations

import numpy as np
import pytest

import mlsched
import mlsched_training.environments
from mlsched.core.errors import InvalidInput

gymnasium = pytest.importorskip("gymnasium")

from mlsched.simulation.workers.phase import Phase  # noqa: E402
from mlsched.simulation.workers.synthetic import chic  # noqa: E402
from mlsched_training.workers.batch import Batch  # noqa: E402

gymnasium.register_envs(mlsched_training.environments)


def test_a_vector_refuses_what_is_no_action_and_what_is_no_option():
    envs = gymnasium.make_vec("mlsched/Workers-v0", num_envs=2, jobs=1).unwrapped
    with pytest.raises(InvalidInput, match=r"^reset: options: unknown 'x'; it has none$"):
        envs.reset(options={"x": 1})
    _, info = envs.reset(seed=0)
    rng, over = np.random.default_rng(0), np.zeros(2, dtype=bool)
    while not over.any():
        able = info["action_mask"].astype(bool)
        _, _, over, _, info = envs.step(np.array([rng.choice(np.flatnonzero(row)) for row in able]))
    before = (envs._batch.features.copy(), envs._batch.mask.copy(), envs._batch.done.copy())
    for wrong, said in [
        ([-1, 0], "between 0 and 6"),
        ([0, 7], "between 0 and 6"),
        ([0], "2 integers"),
        ([0.0, 1.0], "2 integers"),
    ]:
        with pytest.raises(InvalidInput, match=f"^actions: expected {said}"):
            envs.step(wrong)
    for kept, now in zip(before, (envs._batch.features, envs._batch.mask, envs._batch.done), strict=True):
        assert np.array_equal(kept, now), "nothing began anew, although an episode was over"


def test_masked_out_actions_change_nothing():
    env = gymnasium.make("mlsched/Workers-v0", jobs=6).unwrapped
    seen, info = env.reset(seed=3)
    rng, tried = np.random.default_rng(0), 0
    over = False
    while not over:
        action = int(rng.integers(env.action_space.n))
        after, _, over, _, later = env.step(action)
        # After the last step of a phase everything is new, whatever ended it.
        if not info["action_mask"][action] and later["now_s"] == info["now_s"] and later["system_ms"] == 0:
            assert np.array_equal(after, seen)
            assert np.array_equal(info["action_mask"], later["action_mask"])
            tried += 1
        seen, info = after, later
    assert tried > 5


def test_the_return_is_the_time_in_the_system():
    env = gymnasium.make("mlsched/Workers-v0", jobs=5, p1=0.0, p2=0.0, unit_s=1)
    _, info = env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        _, reward, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        total += reward
    assert total == pytest.approx(-5 * info["average_completion_s"])


def test_a_vector_is_as_many_single_environments():
    many = gymnasium.make_vec("mlsched/Workers-v0", num_envs=3, jobs=2)
    single = gymnasium.make_vec("mlsched/Workers-v0", num_envs=3, jobs=2, vectorization_mode="sync")
    assert type(many.unwrapped).__name__ == "WorkersVectorEnv"
    (a, info), (b, other) = many.reset(seed=5), single.reset(seed=5)
    assert np.array_equal(a, b)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(300):
        actions = rng.integers(0, 7, 3)
        ours, theirs = many.step(actions), single.step(actions)
        for x, y in zip(ours[:4], theirs[:4], strict=True):
            assert np.array_equal(x, y)
        info, other = ours[4], theirs[4]
        assert np.array_equal(info["action_mask"], other["action_mask"])
        for key in ("average_completion_s", "_average_completion_s"):
            assert (key in info) == (key in other)
            assert key not in info or np.array_equal(info[key], other[key])
        ends += int(ours[2].sum())
    assert ends >= 6


def test_workloads_of_ones_own():
    mine = [chic(jobs=n, seed=n, rate=5.0) for n in (1, 4)]
    env = gymnasium.make("mlsched/Workers-v0", workloads=mine, window=2, pair=True)
    assert env.action_space.n == 3
    for seed in range(4):
        seen, _ = env.reset(seed=seed)
        assert env.observation_space.contains(seen)
    with pytest.raises(mlsched.InvalidInput, match="workloads"):
        gymnasium.make("mlsched/Workers-v0", workloads=[])


def test_a_restarted_episode_is_a_fresh_one():
    works = [chic(jobs=3, seed=s, rate=3.0) for s in range(4)]
    phase = Phase(2)
    used, rng = Batch(works[:2], phase, room=3), np.random.default_rng(0)
    while not used.done.all():
        used.step(rng.integers(0, phase.actions, 2))
    used.restart(np.array([0, 1]), works[2:])
    fresh = Batch(works[2:], phase)
    while not fresh.done.all():
        assert np.array_equal(used.features, fresh.features)
        assert np.array_equal(used.mask, fresh.mask)
        action = rng.integers(0, phase.actions, 2)
        a, b = used.step(action), fresh.step(action)
        assert np.array_equal(a.reward, b.reward)
    assert np.array_equal(used.finish, fresh.finish)
    with pytest.raises(mlsched.InvalidInput, match="room for 3"):
        used.restart(np.array([0]), [chic(jobs=4, seed=0)])


def test_a_vector_takes_a_seed_per_environment():
    many = gymnasium.make_vec("mlsched/Workers-v0", num_envs=3, jobs=2)
    first = many.reset(seed=[4, 5, 6])[0]
    assert np.array_equal(many.reset(seed=4)[0], first)
    for seeds in ([4, 5], [4, 5, 6, 7]):
        with pytest.raises(InvalidInput, match=f"reset: {len(seeds)} seeds: expected 3, one per environment"):
            many.reset(seed=seeds)


def test_a_vector_shows_masks_in_observations_as_single_environments_do():
    made = {"num_envs": 2, "jobs": 2, "mask_observation": True}
    many, single = (
        gymnasium.make_vec("mlsched/Workers-v0", **made, **mode) for mode in ({}, {"vectorization_mode": "sync"})
    )
    assert many.observation_space == single.observation_space
    (seen, _), (other, _) = many.reset(seed=3), single.reset(seed=3)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(150):
        assert many.observation_space.contains(seen)
        assert all(np.array_equal(seen[key], other[key]) for key in ("observation", "action_mask"))
        actions = rng.integers(0, 7, 2)
        (seen, _, over, *_), (other, *_) = many.step(actions), single.step(actions)
        ends += int(over.sum())
    assert ends >= 2
