"""The Gymnasium environments keep Gymnasium's contract, and their masks and rewards tell the truth."""

from __future__ import annotations

import numpy as np
import pytest

import mlsched
import mlsched_training.environments
from mlsched.core.errors import InvalidInput

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from mlsched.simulation.workers.synthetic import chic  # noqa: E402

gymnasium.register_envs(mlsched_training.environments)
NAMES = ("mlsched/Workers-v0", "mlsched/Placement-v0", "mlsched/TaskGraph-v0", "mlsched/Harmony-v0")


@pytest.mark.parametrize("name", NAMES)
def test_gymnasiums_checker_is_content(name):
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


def test_made_by_module_name():
    env = gymnasium.make("mlsched_training.environments:mlsched/Workers-v0", jobs=1)
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("action", [-1, 10**6, "1", 1.0, None, np.zeros(2, dtype=np.int64)])
def test_what_is_no_action_is_refused(name, action):
    env = gymnasium.make(name, jobs=2).unwrapped
    _, info = env.reset(seed=0)
    with pytest.raises(
        InvalidInput, match=rf"step: action: .*, expected an integer from 0 to {env.action_space.n - 1}"
    ):
        env.step(action)
    env.step(np.int64(np.flatnonzero(info["action_mask"])[0]))


@pytest.mark.parametrize("name", [*NAMES, "mlsched/TaskGraphRounds-v0"])
def test_options_that_there_are_not_are_refused(name):
    env = gymnasium.make(name, jobs=2).unwrapped
    its = "instance" if name in ("mlsched/Placement-v0", "mlsched/TaskGraph-v0") else "none"
    with pytest.raises(InvalidInput, match=f"^reset: options: unknown 'x'; it has {its}$"):
        env.reset(seed=0, options={"x": 1})
    env.reset(seed=0, options={})


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

    code = "import sys; sys.modules['gymnasium'] = None\nimport mlsched_training.environments"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'mlsched[learn]'" in done.stderr.splitlines()[-1]


# -- manners ----------------------------------------------------------------------------------------------------------

EVERY = (*NAMES, "mlsched/TaskGraphRounds-v0")
SMALL = {"mlsched/TaskGraphRounds-v0": {"jobs": 3, "servers": 2}, "mlsched/Harmony-v0": {"jobs": 6}}


@pytest.mark.parametrize("name", EVERY)
def test_the_mask_is_the_same_wherever_it_is_asked_for(name):
    own = {} if name.endswith("Rounds-v0") else {"mask_observation": True}  # that one has it there in any case
    env = gymnasium.make(name, **SMALL.get(name, {}), **own)
    check_env(env.unwrapped, skip_render_check=True)
    seen, info = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(12):
        able = env.unwrapped.action_masks()
        assert able.dtype == bool
        assert able.tolist() == info["action_mask"].astype(bool).tolist() == seen["action_mask"].astype(bool).tolist()
        seen, _, over, _, info = env.step(int(rng.choice(np.flatnonzero(able))))
        if over:
            break


@pytest.mark.parametrize("name", EVERY)
def test_every_entry_and_every_action_has_a_name_of_its_own(name):
    env = gymnasium.make(name, **SMALL.get(name, {})).unwrapped
    for names in (env.observation_names, env.action_names):
        assert len(set(names)) == len(names)
    assert len(env.action_names) == env.action_space.n
    if name.endswith("Rounds-v0"):
        assert len(env.observation_names) == env.observation_space["rows"].shape[1]
    else:
        assert env.observation_space.shape == (len(env.observation_names),)


def seen_by_name(env, seen):
    return dict(zip(env.unwrapped.observation_names, seen.tolist(), strict=True))


def test_the_names_are_those_of_what_is_seen():
    """Held against the instance itself."""
    env = gymnasium.make("mlsched/Placement-v0", servers=3, jobs=2)
    for seed in range(4):
        seen = seen_by_name(env, env.reset(seed=seed)[0])
        inst = env.unwrapped.instance
        for s in range(3):
            for r, resource in enumerate(inst.resources):
                share = inst.server_free[s, r] / max(1, inst.server_capacity[s, r])
                assert seen[f"server {s}: free {resource}"] == pytest.approx(share)
        assert seen["task: workers"] == pytest.approx(inst.job_workers[0] / 10)
        assert seen["task: PSs"] == pytest.approx(inst.job_ps[0] / 10)
        assert seen["task: is a PS"] == 0
    env = gymnasium.make("mlsched/TaskGraph-v0", unit=10)
    for seed in range(4):
        seen = seen_by_name(env, env.reset(seed=seed)[0])
        inner = env.unwrapped
        task, nodes = inner._open[0]
        ticks = int(inner.instance.duration[inner._number_in_instance(task)])
        assert seen["task 0: duration"] == pytest.approx(ticks / (ticks + 10))
        assert [n for n in range(2) if seen[f"task 0: may start on node {n}"]] == nodes.tolist()
        assert seen["jobs in the system"] == pytest.approx(1 / 11) or seen["jobs in the system"] > 0
        assert seen["void is allowed"] == inner._may_end_round(inner._placer)
    env = gymnasium.make("mlsched/Workers-v0", jobs=4)
    before = seen_by_name(env, env.reset(seed=1)[0])
    assert sum(before[f"slot 0: is {model}"] for model in env.unwrapped.task.models) == 1
    after = seen_by_name(env, env.step(env.unwrapped.action_names.index("add a PS to slot 0"))[0])
    assert {name for name in before if before[name] != after[name]} == {"slot 0: PSs"}
    assert after["slot 0: PSs"] == pytest.approx(0.1)
    env = gymnasium.make("mlsched/Harmony-v0", jobs=6, servers=3)
    _, info = env.reset(seed=1)
    action = int(np.flatnonzero(info["action_mask"])[0])
    what, _, where = env.unwrapped.action_names[action].partition(" on server ")
    job = what.rpartition(" ")[2]
    after = seen_by_name(env, env.step(action)[0])
    assert after[f"server {where}: workers of slot {job}"] == pytest.approx(1 / 3)
    assert after[f"slot {job}: workers placed"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", EVERY)
def test_episodes_can_be_looked_at(name):
    env = gymnasium.make(name, render_mode="ansi", **SMALL.get(name, {}))
    _, info = env.reset(seed=2)
    first = env.render()
    env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert "\n" in env.render() or "to choose" in env.render()
    assert env.render() != first
    if "rgb_array" in env.metadata["render_modes"]:
        env = gymnasium.make(name, render_mode="rgb_array")
        env.reset(seed=2)
        picture = env.render()
        assert (picture.dtype, picture.shape[2]) == (np.uint8, 3)
        assert len(np.unique(picture)) > 5
    with pytest.raises(InvalidInput, match="render_mode"):
        type(env.unwrapped)(render_mode="human")


def test_episodes_of_given_instances():
    given = [mlsched.generate("placement", servers=3, jobs=2, seed=s) for s in range(3)]
    env = gymnasium.make("mlsched/Placement-v0", instances=given)
    for number in (2, 0, 1):
        env.reset(seed=0, options={"instance": number})
        assert env.unwrapped.instance == given[number]
    env.reset(seed=0)
    assert env.unwrapped.instance in given
    with pytest.raises(InvalidInput, match="instance: 3, expected an instance, or a number from 0 to 2"):
        env.reset(options={"instance": 3})
    with pytest.raises(InvalidInput, match=r"instances\[1\]: expected as many servers"):
        gymnasium.make("mlsched/Placement-v0", instances=[given[0], mlsched.generate("placement", servers=4)])
    for name in ("placement", "taskgraph"):
        kind = {"placement": "Placement", "taskgraph": "TaskGraph"}[name]
        with pytest.raises(InvalidInput, match=rf"instances\[0\]: is not an instance of {name}"):
            gymnasium.make(f"mlsched/{kind}-v0", instances=[mlsched.generate("quality", "small")])


@pytest.mark.parametrize(
    ("name", "problem", "sizes", "information"),
    [
        ("mlsched/Placement-v0", "placement", {"servers": 3, "jobs": 2}, "oracle"),
        ("mlsched/TaskGraph-v0", "taskgraph", {"jobs": 2, "nodes": 2, "runs": 6}, "observed"),
    ],
)
def test_a_policy_of_an_environment_answers_any_instance_of_its_size(name, problem, sizes, information):
    env, rng = gymnasium.make(name, **sizes), np.random.default_rng(0)

    def policy(instance, *, rng):
        _, info = env.reset(options={"instance": instance})
        over = False
        while not over:
            _, _, over, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        return env.unwrapped.plan

    policy.information = information
    for seed in rng.integers(1000, size=3).tolist():
        instance = mlsched.generate(problem, seed=seed, **sizes)
        result = mlsched.solve(instance, policy)
        assert result.status == "feasible"
        assert not instance.violations(result.plan)
    other = mlsched.generate(problem, seed=0, **{**sizes, {"placement": "servers", "taskgraph": "nodes"}[problem]: 5})
    with pytest.raises(InvalidInput, match=r"options: instance: expected as many .* as the environment: "):
        env.reset(options={"instance": other})
    with pytest.raises(InvalidInput, match=f"options: instance: is not an instance of {problem}"):
        env.reset(options={"instance": mlsched.generate("quality", "small")})


# -- what would be ignored is refused ---------------------------------------------------------------------------------


def test_sizes_beside_instances_are_refused():
    given = [mlsched.generate("placement", servers=3, jobs=2, seed=0)]
    for size in ({"servers": 4}, {"jobs": 2}, {"contention": 0.5}):
        with pytest.raises(InvalidInput, match="instances: are given; leave out the sizes"):
            gymnasium.make("mlsched/Placement-v0", instances=given, **size)
    with pytest.raises(InvalidInput, match="mlsched/Placement-v0: unknown parameter 'nodes'; it has servers, jobs"):
        gymnasium.make("mlsched/Placement-v0", nodes=3)
    for size in ({"jobs": 30}, {"rate": 1.0}):
        with pytest.raises(InvalidInput, match="workloads: are given; leave out jobs and rate"):
            gymnasium.make("mlsched/Workers-v0", workloads=[chic(jobs=2, seed=0)], **size)


def test_placement_ends_and_refuses_to_begin_without_a_decision():
    env = gymnasium.make("mlsched/Placement-v0", servers=3, jobs=1).unwrapped
    with pytest.raises(InvalidInput, match="the episode is over; reset begins the next"):
        env.step(0)
    env.reset(seed=0)
    assert env.step(3)[2]
    for action in (0, 3):
        with pytest.raises(InvalidInput, match="the episode is over; reset begins the next"):
            env.step(action)
    for size in ({"jobs": 0}, {"most_new": 0}, {"most_jobs": 0}):
        with pytest.raises(InvalidInput, match=r"sizes: (0 new jobs|leaves nothing to decide)"):
            gymnasium.make("mlsched/Placement-v0", **size)
    full = mlsched.generate("placement", servers=3, jobs=2, seed=0).replace(most_new=0)
    with pytest.raises(InvalidInput, match="options: instance: leaves nothing to decide"):
        env.reset(options={"instance": full})
