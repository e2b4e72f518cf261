"""The trained policies of the workers problem: feasible on anything, indifferent to order, as trained on the clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.heuristics.workers.rates import feasible_cost
from mlsched.instances.workers import NEVER, instances
from mlsched.learned.net import Mlp
from mlsched.learned.weights import Weights, of, read, write
from mlsched.learned.workers import chic_plus
from mlsched.learned.workers.chic_plus import NAMES, JobNetwork, job_features
from mlsched.learned.workers.chic_policy import SETTLED, USUAL, VARIANTS, Variant, allowed_actions, shipped_weights
from mlsched.learned.workers.chic_policy import policy as shipped_policy
from mlsched.simulation.workers.phase import Phase, features
from mlsched.simulation.workers.synthetic import chic
from mlsched_training.workers.batch import Batch

POLICIES = ("chic", "chic-pair", "chic-plus")


def net() -> JobNetwork:
    return JobNetwork(of("chic-plus", "workers"))


@pytest.mark.parametrize("policy", ["chic", "chic:greedy=true", "chic-pair", "chic-pair:greedy=true", "chic-plus"])
def test_answers_are_feasible_repeatable_and_observed(policy):
    waits = 0
    for seed in range(12):
        inst = mlsched.generate("workers", seed=seed, jobs=seed % 6, scale=(0.2, 1.0, 3.0)[seed % 3])
        first = mlsched.solve(inst, policy, seed=seed)
        assert inst.violations(first.plan) == []
        assert mlsched.solve(inst, policy, seed=seed).plan == first.plan
        waits += int((first.plan.workers == 0).sum())
    assert waits  # some instances are too small for everybody


@given(instances())
def test_chic_plus_answers_any_instance(inst):
    assert inst.violations(mlsched.solve(inst, "chic-plus").plan) == []


@given(instances(), st.booleans())
def test_chic_answers_or_names_the_model_it_does_not_know(inst, pair):
    policy = "chic-pair" if pair else "chic"
    known = set(of(policy, "workers").card["data"]["models"])
    asked = {inst.models[m] for m in inst.model[:3].tolist()}
    if asked <= known:
        assert inst.violations(mlsched.solve(inst, policy).plan) == []
    else:
        with pytest.raises(InvalidInput, match="chic-plus") as error:
            mlsched.solve(inst, policy)
        assert "\n" not in str(error.value)


@given(instances())
def test_features_and_weights_are_finite(inst):
    cost = feasible_cost(inst)
    features, able = job_features(inst, cost)
    assert features.shape == (len(inst.waiting), len(NAMES))
    assert able.tolist() == (cost < NEVER).any(axis=(1, 2)).tolist()
    assert np.isfinite(features).all()
    assert (features[~able] == 0).all()
    if able.any():
        assert np.isfinite(net()(features[able])).all()


def test_chic_plus_does_not_care_for_the_order_of_jobs():
    rng = np.random.default_rng(0)
    for seed in range(20):
        inst = mlsched.generate("workers", seed=seed, jobs=5, running=0.0)
        features, _ = job_features(inst, feasible_cost(inst))
        order = rng.permutation(5)
        fields = ("worker_demand", "ps_demand", "cost", "waiting", "remaining", "model")
        turned = inst.replace(**{name: getattr(inst, name)[order] for name in fields})
        assert np.allclose(job_features(turned, feasible_cost(turned))[0], features[order])


def test_features_by_hand():
    """Two jobs that take 1 and 3 s alone: the shorter one has 3 / 4 of a longer job, the other one 1 / 4."""
    seconds, pair, share = np.array([1.0, 3.0]), np.array([2.0, 3.0]), np.array([0.1, 0.4])
    short, long = chic_plus._features_of_jobs(1000 * seconds, 1000 * pair, share)
    assert np.allclose(short[:2], np.log1p([3 / 4, 27 / 28]))
    assert np.allclose(long[:2], np.log1p([1 / 4, 1 / 28]))
    assert np.allclose([short[3], long[3]], np.log(3) * np.array([-0.5, 0.5]))
    assert np.allclose(short[4:10], [np.log(2), np.log(2), np.log(0.5), 1 / 4, 2 / 4, np.log(0.1)])
    assert np.allclose(long[4:10], [0, np.log(2), np.log(0.5), 3 / 4, 4 / 4, np.log(0.4)])


@pytest.mark.parametrize("policy", POLICIES)
def test_runs_pass_the_replay_check(policy):
    work = mlsched.workload("synthetic:chic", jobs=8, seed=3, rate=4.0)
    run = mlsched.simulate(work, policy, record=1.0)
    assert run.violations() == []
    assert run.options.window == (0 if policy == "chic-plus" else 3)
    assert all(run.replay(d) == d.plan for d in run.recorded)


@pytest.mark.parametrize("policy", ["chic", "chic-pair"])
def test_the_clock_and_the_batch_agree_on_greedy_runs(policy):
    """The policy on the batched simulation, as trained, and as a solver on the clock: the same completions."""
    work = chic(jobs=10, seed=5, rate=3.0)
    weights = of(policy, "workers")
    batch = Batch([work], Phase(3, policy == "chic-pair", weights.card["recipe"]["limit"]))
    mlp = Mlp(weights.tensors)
    while not batch.done.all():
        allowed = allowed_actions(batch.mask, True, "forced")
        batch.step(np.where(allowed, mlp(batch.features), -np.inf).argmax(axis=1))
    run = mlsched.simulate(work, policy, greedy=True)
    assert run.jobs["completion_s"].mean() == pytest.approx(float(batch.completion_s()[0]))


def test_weights_of_ones_own(tmp_path):
    path = tmp_path / "mine.safetensors"
    shipped_weights = of("chic", "workers")
    write(path, Weights({k: v.copy() for k, v in shipped_weights.tensors.items()}, dict(shipped_weights.card)))
    inst = mlsched.generate("workers", seed=1)
    assert mlsched.solve(inst, f"chic:weights={path}", seed=4).plan == mlsched.solve(inst, "chic", seed=4).plan
    with pytest.raises(InvalidFile, match="expected of chic-plus"):
        mlsched.solve(inst, "chic-plus", weights=str(path))
    with pytest.raises(InvalidFile, match="file not found"):
        mlsched.solve(inst, "chic", weights=str(tmp_path / "none"))


def test_chic_plus_refuses_a_network_for_other_features(tmp_path):
    path, plus = tmp_path / "odd.safetensors", of("chic-plus", "workers")
    write(path, Weights({**plus.tensors, "linear.0.weight": plus.tensors["linear.0.weight"][:, :5]}, plus.card))
    with pytest.raises(InvalidFile, match="5 -> 1, expected 11 -> 1") as error:
        mlsched.solve(mlsched.generate("workers"), "chic-plus", weights=str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("tensors", "recipe", "says"),
    [
        (lambda t: {**t, "3.weight": t["3.weight"][:5], "3.bias": t["3.bias"][:5]}, {}, r"19 -> 5"),
        (lambda t: t, {"window": "3"}, "window"),
        (lambda t: t, {"void": "never"}, "void"),
        (lambda t: {k: v for k, v in t.items() if k != "1.bias"}, {}, "another policy"),
    ],
)
def test_weights_that_do_not_fit_their_recipe_are_refused(tmp_path, tensors, recipe, says):
    shipped_weights, path = of("chic", "workers"), tmp_path / "odd.safetensors"
    card = {**shipped_weights.card, "recipe": {**shipped_weights.card["recipe"], **recipe}}
    write(path, Weights(tensors(dict(shipped_weights.tensors)), card))
    with pytest.raises(InvalidFile, match=says) as error:
        mlsched.solve(mlsched.generate("workers"), "chic", weights=str(path))
    assert "\n" not in str(error.value)
    assert read(path).card["policy"] == "chic"


def test_chic_pair_for_other_windows():
    inst = mlsched.generate("workers", seed=2, jobs=6)
    for window in (2, 3, 4):
        plan = mlsched.solve(inst, "chic-pair", window=window).plan
        assert (plan.workers[window:] == 0).all()
        assert (plan.workers == plan.ps).all()
    with pytest.raises(InvalidInput, match="window = 7"):
        mlsched.solve(inst, "chic-pair", window=7)


@pytest.mark.parametrize("name", ["chic", "chic-pair"])
def test_every_variant_is_there_and_says_what_it_is_trained_for(name):
    usual = shipped_weights(name).card
    for variant in VARIANTS[name]:
        card = shipped_weights(name, variant).card
        assert shipped_policy(name, "", variant).variant == variant
        assert card["data"]["rates"] == [variant.rate] * 2
        apart = {key for key in usual["recipe"] if usual["recipe"][key] != card["recipe"].get(key)}
        assert card["trained"] is True
        assert variant.protocol == SETTLED or apart <= {"window", "jobs", "rate"}, "the same recipe otherwise"
    assert shipped_weights(name, Variant()) is shipped_weights(name)
    assert len({one.suffix for one in VARIANTS[name]}) == len(VARIANTS[name])


@pytest.mark.parametrize(
    ("name", "key", "other"), [("chic", "episode", 60), ("chic-pair", "rate", 2.7), ("chic", "protocol", "settled")]
)
def test_weights_are_chosen_by_what_they_are_trained_for(name, key, other, tmp_path):
    usual = getattr(USUAL, key)
    work = chic(jobs=20, seed=0, rate=1.8)  # single questions may be answered alike, a whole run is not
    runs = [mlsched.simulate(work, f"{name}{given}") for given in ("", f":{key}={usual}", f":{key}={other}")]
    acts = [run.summary()["average_completion_s"] for run in runs]
    assert acts[0] == acts[1] != acts[2]
    assert [run.violations() for run in runs] == [[], [], []]
    path = tmp_path / "mine.safetensors"
    write(path, shipped_weights(name, Variant(**{key: other})))
    inst = mlsched.generate("workers", seed=1, jobs=6)
    mine = mlsched.solve(inst, name, weights=str(path), **{key: other})
    assert mine.plan == mlsched.solve(inst, name, **{key: other}).plan
    with pytest.raises(InvalidInput, match=f"trained for {other}"):
        mlsched.solve(inst, name, weights=str(path), **{key: usual})
    with pytest.raises(
        InvalidInput,
        match=r"window = 3, episode = 45, rate = 0\.9 and protocol = paper, expected .*--set jobs=45 --set rate=0\.9",
    ):
        mlsched.solve(inst, name, episode=45, rate=0.9)


def test_answers_need_no_torch():
    import subprocess
    import sys

    code = """import sys; sys.modules['torch'] = None; sys.modules['gymnasium'] = None
import mlsched
inst = mlsched.generate("workers")
for name in ("chic", "chic-pair", "chic-plus"): assert mlsched.solve(inst, name).plan is not None
from mlsched_training import train
try: train("chic")
except mlsched.InvalidInput as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "training needs torch, which is not installed: pip install 'mlsched[learn]'\n"


def test_features_of_the_paper_are_those_that_were_trained_on():
    batch = Batch([chic(jobs=3, seed=0, rate=9.0)], Phase(3))
    assert np.array_equal(features(batch.state, 3), batch.features)
