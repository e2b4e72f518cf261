"""The trained policies of the workers problem: feasible on anything, indifferent to order, as trained on the clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.workers import instances
from mlsched.learned.net import Mlp
from mlsched.learned.weights import Weights, of, read, write
from mlsched.learned.workers import _plus_queue
from mlsched.learned.workers.chic_plus import Allocation
from mlsched.learned.workers.chic_policy import SETTLED, USUAL, VARIANTS, Variant, allowed_actions, shipped
from mlsched.learned.workers.chic_policy import policy as shipped_policy
from mlsched.learned.workers.plus_net import DYNAMIC, STATIC, PlusNet
from mlsched.simulation.workers.phase import Phase, features
from mlsched.simulation.workers.synthetic import chic
from mlsched_training.workers._plus_batch import Views, scores
from mlsched_training.workers.batch import Batch

POLICIES = ("chic", "chic-pair", "chic-plus")


def net() -> PlusNet:
    return PlusNet(of("chic-plus", "workers").tensors)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("greedy", [True, False])
def test_answers_are_feasible_repeatable_and_observed(policy, greedy):
    waits = 0
    for seed in range(12):
        inst = mlsched.generate("workers", seed=seed, jobs=seed % 6, scale=(0.2, 1.0, 3.0)[seed % 3])
        first = mlsched.solve(inst, policy, seed=seed, greedy=greedy)
        assert inst.violations(first.plan) == []
        assert mlsched.solve(inst, policy, seed=seed, greedy=greedy).plan == first.plan
        waits += int((first.plan.workers == 0).sum())
    assert waits  # some instances are too small for everybody


@given(instances())
def test_chic_plus_answers_any_instance(inst):
    for greedy in (True, False):
        assert inst.violations(mlsched.solve(inst, "chic-plus", greedy=greedy).plan) == []


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
def test_features_and_scores_are_finite(inst):
    state = Allocation(inst)
    every = np.arange(len(state.tasks))
    if not len(every):
        return
    begin, changing = state.start(), state.features(every)
    assert begin.shape == (len(every), STATIC)
    assert changing.shape == (len(every), DYNAMIC)
    for found in (begin, changing, net().score(net().encode(begin, state.there), changing)):
        assert np.isfinite(found).all()
        assert found.dtype == np.float32


def test_chic_plus_does_not_care_for_the_order_of_jobs():
    rng = np.random.default_rng(0)
    for seed in range(20):
        inst = mlsched.generate("workers", seed=seed, jobs=5, running=0.0)
        state = Allocation(inst)
        order = rng.permutation(5)
        every = np.arange(5)
        straight = net().score(net().encode(state.start(), state.there), state.features(every))
        turned = net().score(net().encode(state.start()[order], state.there[order]), state.features(order))
        assert np.allclose(straight[order], turned, atol=1e-4)


def test_batched_scores_are_those_of_single_questions():
    """In the batched simulation and in one question: the same possible actions, and scores within 1e-5."""
    works = [chic(jobs=6, seed=s, rate=6.0) for s in range(3)]
    batch = Batch(works, Phase(4, limit=10**4))
    views, policy, rng, seen = Views(batch, works[0]), net(), np.random.default_rng(0), 0
    while not batch.done.all():
        begin, changing, there, possible = views.look()
        many = scores(policy, begin, changing, there, possible)
        for e in np.flatnonzero(~batch.done)[:1]:
            state = _question(batch, works[e], e)
            jobs = len(state.tasks)
            single = state.valid()
            assert (possible[e, : 2 * jobs].reshape(jobs, 2) == single).all()
            one = policy.score(policy.encode(state.start(), state.there), state.features(np.arange(jobs)))
            assert np.allclose(many[e, : 2 * jobs].reshape(jobs, 2)[single], one[single], rtol=1e-4, atol=1e-3)
            seen += int(single.sum())
        weighted = np.where(possible, rng.random(possible.shape), -1)
        batch.step(weighted.argmax(axis=1))
    assert seen > 200


def _question(batch, work, e):
    """The state of an episode as an instance under allocation."""
    from mlsched.instances.workers.models import MODELS, RESOURCES
    from mlsched.instances.workers.tables import from_models

    slots = batch.state[e, :-1].reshape(-1, 4)
    slots = slots[slots[:, 0] >= 0]
    inst = from_models(
        MODELS,
        RESOURCES,
        work.capacity,
        model=slots[:, 0],
        remaining=slots[:, 1],
        most_workers=10,
        most_ps=20,
        backlog=int(batch.state[e, -1]),
    )
    state = Allocation(inst)
    state.tasks = slots[:, 2:].copy()
    state.free = inst.capacity - (state.need[:, :2] * state.tasks[..., None]).sum(axis=(0, 1))
    return state


def step_by_step(inst):
    return Allocation(inst).draw(net(), None)


@given(instances())
def test_the_queue_takes_the_actions_of_the_way_step_by_step(inst):
    assert mlsched.solve(inst, "chic-plus").plan == step_by_step(inst)


def test_the_queue_takes_the_actions_of_the_way_step_by_step_on_the_papers_cluster():
    waits = 0
    for seed in range(40):
        inst = mlsched.generate("workers", seed=seed, jobs=1 + seed % 14, most_workers=10)
        plan = mlsched.solve(inst, "chic-plus").plan
        assert plan == step_by_step(inst)
        waits += int((plan.workers == 0).any())
    assert waits


@pytest.mark.parametrize("depth", [1, 3, _plus_queue.DEPTH])
def test_the_queue_takes_the_same_actions_however_far_it_looks_ahead(depth, monkeypatch):
    monkeypatch.setattr(_plus_queue, "DEPTH", depth)
    for preset, sizes in (("x16", {"jobs": 30}), ("measured", {"jobs": 20}), ("cpu-bound", {"jobs": 20})):
        inst = mlsched.generate("workers", preset, seed=depth, **sizes)
        plan = mlsched.solve(inst, "chic-plus").plan
        assert plan == step_by_step(inst)
        assert plan.workers.sum() > depth, "it has looked ahead more than once"


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


def test_chic_plus_is_the_same_on_the_clock_and_in_the_batch():
    work = chic(jobs=10, seed=5, rate=3.0)
    batch = Batch([work], Phase(10, limit=10**4))
    views = Views(batch, work)
    while not batch.done.all():
        batch.step(scores(net(), *views.look()).argmax(axis=1))
    run = mlsched.simulate(work, "chic-plus")
    assert run.jobs["completion_s"].mean() == pytest.approx(float(batch.completion_s()[0]))


def test_weights_of_ones_own(tmp_path):
    path = tmp_path / "mine.safetensors"
    shipped = of("chic", "workers")
    write(path, Weights({k: v.copy() for k, v in shipped.tensors.items()}, dict(shipped.card)))
    inst = mlsched.generate("workers", seed=1)
    assert mlsched.solve(inst, f"chic:weights={path}", seed=4).plan == mlsched.solve(inst, "chic", seed=4).plan
    with pytest.raises(InvalidFile, match="expected of chic-plus"):
        mlsched.solve(inst, "chic-plus", weights=str(path))
    with pytest.raises(InvalidFile, match="file not found"):
        mlsched.solve(inst, "chic", weights=str(tmp_path / "none"))


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
    shipped, path = of("chic", "workers"), tmp_path / "odd.safetensors"
    card = {**shipped.card, "recipe": {**shipped.card["recipe"], **recipe}}
    write(path, Weights(tensors(dict(shipped.tensors)), card))
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
    usual = shipped(name).card
    for variant in VARIANTS[name]:
        card = shipped(name, variant).card
        assert shipped_policy(name, "", variant).variant == variant
        assert card["data"]["rates"] == [variant.rate] * 2
        apart = {key for key in usual["recipe"] if usual["recipe"][key] != card["recipe"].get(key)}
        assert card["trained"] is True
        assert variant.protocol == SETTLED or apart <= {"window", "jobs", "rate"}, "the same recipe otherwise"
    assert shipped(name, Variant()) is shipped(name)
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
    write(path, shipped(name, Variant(**{key: other})))
    inst = mlsched.generate("workers", seed=1, jobs=6)
    mine = mlsched.solve(inst, name, weights=str(path), **{key: other})
    assert mine.plan == mlsched.solve(inst, name, **{key: other}).plan
    with pytest.raises(InvalidInput, match=f"trained for {other}"):
        mlsched.solve(inst, name, weights=str(path), **{key: usual})
    with pytest.raises(
        InvalidInput,
        match=r"window = 3, episode = 45, rate = 0\.9 and protocol = paper: .*--set jobs=45 --set rate=0\.9",
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
