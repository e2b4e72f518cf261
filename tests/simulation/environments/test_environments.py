"""The Gymnasium environments keep Gymnasium's contract, and their masks and rewards tell the truth."""

from __future__ import annotations

import numpy as np
import pytest

import mlsched

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from mlsched.simulation.workers.batch import Batch  # noqa: E402
from mlsched.simulation.workers.phase import Phase  # noqa: E402
from mlsched.simulation.workers.synthetic import chic  # noqa: E402

gymnasium.register_envs(mlsched.environments)
NAMES = ("mlsched/Workers-v0", "mlsched/Placement-v0", "mlsched/TaskGraph-v0", "mlsched/Harmony-v0")


@pytest.mark.parametrize("name", NAMES)
def test_gymnasiums_checker_is_content(name):
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


def test_made_by_module_name():
    env = gymnasium.make("mlsched.simulation.environments:mlsched/Workers-v0", jobs=1)
    assert env.reset(seed=0)[0].dtype == np.float32


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("masked", [True, False])
def test_episodes_end_within_the_spaces(name, masked):
    env = gymnasium.make(name, jobs=4)
    for seed in range(3):
        seen, info = env.reset(seed=seed)
        over = False
        rng = np.random.default_rng(seed)
        for _ in range(5000):
            assert env.observation_space.contains(seen)
            mask = info["action_mask"].astype(bool)
            assert mask.any()
            action = rng.choice(np.flatnonzero(mask)) if masked else rng.integers(env.action_space.n)
            seen, reward, over, cut, info = env.step(int(action))
            assert np.isfinite(reward)
            assert not cut
            if over:
                break
        assert over


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


def test_placement_plans_are_the_judges():
    env = gymnasium.make("mlsched/Placement-v0", servers=4, jobs=4, contention=0.9).unwrapped
    placed = 0
    for seed in range(10):
        _, info = env.reset(seed=seed)
        start, total, over = info["total_speed"], 0.0, False
        rng = np.random.default_rng(seed)
        while not over:
            open_ = np.flatnonzero(info["action_mask"][:-1])
            action = rng.choice(open_) if len(open_) else env.action_space.n - 1
            _, reward, over, _, info = env.step(int(action))
            total += reward
        assert env.instance.violations(env.plan) == []
        value = env.instance.evaluate(env.plan)["total_speed"]
        assert info["total_speed"] == value
        assert total == pytest.approx((value - start) / env.instance.job_speed.sum())
        placed += int((env.plan.workers.sum(axis=1) > 0).sum())
    assert placed >= 10


def test_placement_respects_caps_and_apart():
    env = gymnasium.make("mlsched/Placement-v0", jobs=4, most_new=1, contention=0.3).unwrapped
    _, info = env.reset(seed=0)
    over = False
    while not over:
        _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert (env.plan.workers.sum(axis=1) > 0).sum() == 1


def test_without_gymnasium_one_line_says_so():
    import subprocess
    import sys

    code = "import sys; sys.modules['gymnasium'] = None\nimport mlsched\nmlsched.environments"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'mlsched[learn]'" in done.stderr.splitlines()[-1]
