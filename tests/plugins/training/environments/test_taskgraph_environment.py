"""The task-graph environment against the judge: returns, plans, masks, seeds, over whole instances."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_examples import horizon

import mlsched
import mlsched_training.environments

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from mlsched.heuristics.taskgraph.measures import candidates  # noqa: E402
from mlsched.heuristics.taskgraph.place import Placer  # noqa: E402
from mlsched.instances import strategies  # noqa: E402
from mlsched.simulation.clock import Rule  # noqa: E402
from mlsched.simulation.taskgraph.adapters import rollout  # noqa: E402
from mlsched.simulation.taskgraph.workload import impossible  # noqa: E402
from mlsched_training.environments.taskgraph import TaskGraphEnv  # noqa: E402

gymnasium.register_envs(mlsched_training.environments)


def play(env, seed):
    """An episode of random allowed actions: (return, observations, how often void was chosen)."""
    rng = np.random.default_rng(seed)
    seen, info = env.reset(seed=seed)
    total, over, voids, trail = 0.0, False, 0, [seen]
    while not over:
        able = np.flatnonzero(info["action_mask"])
        action = int(rng.choice(able))
        voids += action == env.action_space.n - 1
        seen, reward, over, cut, info = env.step(action)
        assert env.observation_space.contains(seen)
        assert not cut
        total += reward
        trail.append(seen)
    assert info["total_jct"] == -total
    return total, trail, voids


def stopping(stop):
    """Starts what it can, in order, and stops jobs by the same rule."""

    def call(snapshot, memory, rng):
        placer = Placer(snapshot, stop)
        placer.start_in_order(candidates(snapshot))
        return placer.round(), memory

    return Rule("stopping", call)


def check_episode(env, total):
    assert env.instance.violations(env.plan) == []
    assert env.instance.evaluate(env.plan)["total_jct"] == -total


@settings(max_examples=draws(8, 60))
@given(
    instance=strategies.taskgraph(),
    seed=st.integers(0, 99),
    window=st.integers(1, 3),
    stop=st.sampled_from(["most", "least", "required"]),
)
def test_the_return_is_the_judges_over_adversarial_instances(instance, seed, window, stop):
    """Residual horizons, movement, runs of no length, and early stops included."""
    make = functools.partial(TaskGraphEnv, instances=[instance], window=window, stop=stop)
    if impossible(instance):
        with pytest.raises(mlsched.InvalidInput, match="is infeasible"):
            make()
        return
    if len(rollout(instance, stopping(stop)).task) == len(instance.fixed_task):
        with pytest.raises(mlsched.InvalidInput, match="nothing to decide"):
            make()
        return
    env = make()
    total, _, _ = play(env, seed)
    check_episode(env, total)


@pytest.mark.parametrize(
    "keywords", [{}, {"preset": "six-loose"}, {"preset": "moving", "window": 4}, {"preset": "dags", "stop": "least"}]
)
def test_the_return_is_the_judges_over_generated_instances(keywords):
    env = gymnasium.make("mlsched/TaskGraph-v0", **keywords).unwrapped
    returns, voids = set(), 0
    for seed in range(3):
        total, _, ended = play(env, seed)
        check_episode(env, total)
        returns.add(total)
        voids += ended
    assert len(returns) == 3
    assert voids  # random actions leave tasks waiting that could start, and the plans are feasible all the same


def test_gymnasiums_checker_is_content_with_given_instances():
    inst = horizon([(0, 2, [(3, 1), (2, 2)]), (2, 1, [(4, 2)])], edges=[(0, 1, 0, 5, 1)])
    check_env(gymnasium.make("mlsched/TaskGraph-v0", instances=[inst]).unwrapped, skip_render_check=True)


def test_the_same_seed_gives_the_same_episode():
    one, other = TaskGraphEnv(), TaskGraphEnv()
    first, again = play(one, 7), play(other, 7)
    assert first[0] == again[0]
    assert all(np.array_equal(a, b) for a, b in zip(first[1], again[1], strict=True))
    assert one.instance == other.instance
    assert one.plan == other.plan
    play(other, 8)
    assert one.instance != other.instance


def test_a_refused_action_changes_nothing():
    env, tried = TaskGraphEnv(), 0
    seen, info = env.reset(seed=1)
    over = False
    while not over:
        for action in np.flatnonzero(info["action_mask"] == 0)[[0, -1]].tolist():
            after, reward, over, _, later = env.step(action)
            assert np.array_equal(after, seen)
            assert np.array_equal(later["action_mask"], info["action_mask"])
            assert (later["now"], reward, over) == (info["now"], 0.0, False)
            tried += 1
        seen, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert tried > 20
    with pytest.raises(mlsched.InvalidInput, match="the episode is over"):
        env.step(0)


def test_a_hand_made_episode():
    """Two jobs of one task (3 and 1 ticks) on one GPU: the long one first 3 + 4, the short one first 1 + 4."""
    inst = horizon([(0, 1, [(3, 1)]), (0, 1, [(1, 1)])], nodes=[(1,)])
    env = TaskGraphEnv(instances=[inst], window=2)
    for action, rewards in ((0, [-6, -1]), (1, [-2, -3])):
        _, info = env.reset(seed=0)
        assert info["action_mask"].tolist() == [1, 1, 0]  # void: nothing runs
        _, first, over, _, info = env.step(action)
        assert not over
        assert info["action_mask"].tolist() == [1, 0, 0]
        _, second, over, _, info = env.step(0)
        assert over
        assert [first, second] == rewards
        assert info["total_jct"] == -sum(rewards)


def test_void_leaves_a_node_free():
    """A long task runs on one node; void waits for the second job, which comes at 2 and needs the other node whole."""
    inst = horizon([(0, 1, [(9, 2), (5, 1)]), (2, 1, [(1, 2)])])
    env = TaskGraphEnv(instances=[inst], window=2)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(0)  # the long one on node 0
    assert (reward, info["now"]) == (0.0, 0)
    assert info["action_mask"].tolist() == [0, 1, 0, 0, 1]
    _, reward, _, _, info = env.step(4)
    assert (reward, info["now"]) == (-2.0, 2)
    assert info["action_mask"].tolist() == [0, 1, 0, 1, 1]
    _, reward, _, _, info = env.step(3)
    assert (reward, info["now"]) == (-2.0, 3)
    _, reward, over, _, info = env.step(1)
    assert (reward, over, info["total_jct"]) == (-6.0, True, 10)
    assert env.instance.evaluate(env.plan)["total_jct"] == 10


def test_what_cannot_be_an_episode_is_refused():
    good, narrow = horizon([(0, 1, [(1, 1)])]), horizon([(0, 1, [(1, 1)])], nodes=[(2,)])
    cases = [
        ({"instances": []}, "at least one"),
        ({"instances": [good, narrow]}, r"instances\[1\]: expected as many nodes"),
        ({"instances": [good], "jobs": 3}, "leave out preset and sizes"),
        ({"instances": [horizon([(0, 1, [(1, 9)])])]}, "is infeasible: 1 of 1 tasks fit no node"),
        ({"preset": "none-such"}, "unknown preset"),
        ({"jobs": 0}, "jobs: 0"),
        ({"size": 3}, "size"),
        ({"window": 0}, "window: 0"),
        ({"stop": "never"}, "stop"),
    ]
    for keywords, message in cases:
        with pytest.raises(mlsched.InvalidInput, match=message):
            TaskGraphEnv(**keywords)
