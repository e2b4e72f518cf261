"""The environment of rounds against the world: the reward of the whole run, sound logs, masks, seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlsched
import mlsched_training.environments
from mlsched.core.errors import InvalidInput

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from mlsched.heuristics.taskgraph.measures import stops_after  # noqa: E402
from mlsched.simulation.taskgraph.allocation import FEATURES, GIVE, HOST, LEAVE, NEXT, STOP, Allocation, chosen  # noqa: E402
from mlsched.simulation.taskgraph.iterations import outcome  # noqa: E402
from mlsched.simulation.taskgraph.iterations.log import FINISH, PAUSE  # noqa: E402
from mlsched_training.environments.rounds import RoundsEnv  # noqa: E402
from mlsched_training.taskgraph._episodes import episode  # noqa: E402
from mlsched_training.taskgraph._reward import Reward  # noqa: E402

gymnasium.register_envs(mlsched_training.environments)


def play(env, seed):
    """An episode of random allowed actions: (return, kinds of choices)."""
    rng = np.random.default_rng(seed)
    seen, _ = env.reset(seed=seed)
    total, over, kinds = 0.0, False, set()
    while not over:
        assert env.observation_space.contains(seen)
        assert seen["action_mask"].sum() > 1
        kinds |= {kind for kind in (STOP, LEAVE, NEXT, HOST, GIVE) if seen["rows"][0, kind : kind + 1].any()}
        seen, reward, over, cut, info = env.step(int(rng.choice(np.flatnonzero(seen["action_mask"]))))
        assert (info["action_mask"] == seen["action_mask"]).all()
        assert not cut
        total += reward
    return total, kinds


@pytest.mark.parametrize(("stopping", "queueing"), [(False, "held"), (True, "held"), (False, "iteration")])
def test_the_return_is_the_reward_of_the_run_and_the_run_is_sound(stopping, queueing):
    env = RoundsEnv(jobs=6, servers=2, load=2.0, stopping=stopping, queueing=queueing)
    total, kinds = play(env, 3)
    assert env.violations() == []
    assert total == pytest.approx(float(Reward().of_jobs(env.workload, env.log).sum()))
    assert set(env.log.columns()["job"][env.log.columns()["outcome"] == FINISH].tolist()) == set(range(6))
    assert (STOP in kinds) == stopping
    assert (GIVE in kinds) == (queueing == "iteration")
    assert (PAUSE in env.log.columns()["outcome"]) == (queueing == "iteration")
    early = outcome.jobs(env.workload, env.log)["iterations"] < env.workload.max_iterations
    assert early.any() == stopping


def test_the_same_seed_and_actions_give_the_same_episode():
    logs = []
    for _ in range(2):
        env = RoundsEnv(jobs=5, servers=2, window=3)
        total, _ = play(env, 1)
        logs.append((total, env.log.rows, env.log.places))
    assert logs[0] == logs[1]


def test_an_action_that_the_mask_refuses_changes_nothing():
    env = RoundsEnv(jobs=3, servers=2)
    seen, _ = env.reset(seed=0)
    refused = int(np.flatnonzero(seen["action_mask"] == 0)[0])
    again, reward, over, _, _ = env.step(refused)
    assert (again["rows"] == seen["rows"]).all()
    assert (reward, over) == (0.0, False)


@pytest.mark.parametrize("queueing", ["held", "iteration"])
def test_the_choices_are_those_of_a_policy(queueing):
    """A policy that answers rounds is asked for the same rows, and the runs are the same."""
    env = RoundsEnv(jobs=6, servers=2, load=2.0, queueing=queueing)
    asked = []
    seen, _ = env.reset(seed=5)
    over = False
    while not over:
        asked.append(seen["rows"][: int(np.flatnonzero(seen["action_mask"])[-1]) + 1])
        seen, _, over, _, _ = env.step(int(np.flatnonzero(seen["action_mask"])[-1]))
    own = []

    def last(due):
        own.append(due.rows())
        return due.choices

    def answer(snapshot, rng):
        return chosen(Allocation(snapshot, stops_after(snapshot, "most"), most=32, queueing=queueing), last)

    log = episode(env.workload, answer, 0, 0)
    assert log.rows == env.log.rows
    assert len(asked) == len(own)
    assert all((a == b).all() for a, b in zip(asked, own, strict=True))


def test_workloads_without_a_choice_are_drawn_again_or_refused():
    one = mlsched.workload("synthetic:mlfs-cluster", jobs=1, servers=1, seed=1)
    with pytest.raises(InvalidInput, match="reset: 100 workloads leave nothing to choose"):
        RoundsEnv(workloads=[one]).reset(seed=0)
    two = mlsched.workload("synthetic:mlfs-cluster", jobs=6, servers=2, seed=3)
    env = RoundsEnv(workloads=[one, two])
    for seed in range(4):
        env.reset(seed=seed)
        assert env.workload is two


def test_the_page_has_all_columns_in_order():
    page = (Path(__file__).parents[4] / "docs" / "reference" / "environments.md").read_text(encoding="utf-8")
    lines = page.split("<!-- columns -->\n")[1].split("<!-- end -->")[0].splitlines()[2:]
    parts = [[cell.strip() for cell in line.split("|")[1:3]] for line in lines]
    columns = [f"{part}: {name}" for part, names in parts for name in names.split("; ")]
    assert columns == list(RoundsEnv(jobs=2, servers=1, queueing="iteration").observation_names)
    assert columns[:FEATURES] == list(RoundsEnv(jobs=2, servers=1).observation_names)


@pytest.mark.parametrize("queueing", ["held", "iteration"])
def test_gymnasium_checks_it(queueing):
    env = gymnasium.make("mlsched/TaskGraphRounds-v0", jobs=3, servers=2, queueing=queueing)
    check_env(env.unwrapped, skip_render_check=True)


def test_wrong_calls_are_refused():
    with pytest.raises(InvalidInput, match="window"):
        RoundsEnv(window=0)
    with pytest.raises(InvalidInput, match="queueing: 'always'"):
        RoundsEnv(queueing="always")
    for sizes, said in (({"nodes": 3}, "unknown parameter 'nodes'"), ({"jobs": 0}, "jobs: 0, expected between 1")):
        with pytest.raises(InvalidInput, match=f"mlsched/TaskGraphRounds-v0: {said}"):
            RoundsEnv(**sizes)
    with pytest.raises(InvalidInput, match="pausing: 'none', expected 'keep'"):
        RoundsEnv(queueing="iteration", options={})
    with pytest.raises(InvalidInput, match="at least one"):
        RoundsEnv(workloads=[])
    load = mlsched.workload("synthetic:mlfs-cluster", jobs=2, servers=1)
    with pytest.raises(InvalidInput, match="600 s is not a multiple of a tick of 7 s"):
        RoundsEnv(workloads=[load, load.replace(tick_ms=7000)])
    with pytest.raises(InvalidInput, match="leave out the sizes"):
        RoundsEnv(workloads=[load], jobs=3)
    env = RoundsEnv(jobs=2, servers=1)
    play(env, 0)
    with pytest.raises(InvalidInput, match="reset"):
        env.step(0)
