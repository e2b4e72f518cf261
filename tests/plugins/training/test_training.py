"""Training: repeatable to the byte, resumable, finite, and what the paper's algorithm says."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from compiled_runs import skip_without_compiled
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName
from mlsched.learned.weights import read
from mlsched_training import recipe, recipes, train
from mlsched_training._torch import repeatable_numbers
from mlsched_training.trainer import CHECKPOINT, checkpoint_of

torch = pytest.importorskip("torch")
from mlsched.simulation.workers.phase import Phase  # noqa: E402
from mlsched_training._recipe import Validation  # noqa: E402
from mlsched_training.workers._chic import ChicParams, CrossEntropy  # noqa: E402
from mlsched_training.workers._rewards import Account, has_settled  # noqa: E402
from mlsched_training.workers._sequences import TRAINING, VALIDATION, sequence_of_seed  # noqa: E402
from mlsched_training.workers.batch import Batch, Rewards  # noqa: E402

#: Small enough for a test: everything is there, a little of each.
CHIC = {"episodes": 4, "jobs": 3, "validation": 2, "limit": 40, "every": 2}
PLUS = {"questions": 6, "steps": 5, "batch": 3, "share": 0.05, "largest": 1.0, "every": 2}
MLF_RL = {"jobs": 3, "servers": 1, "runs": 1, "imitation_steps": 3, "workloads": 1, "episodes": 2}
MLF_RL |= {"validation": 1, "every": 2}
PLACING = {"jobs": 3, "servers": 1, "workloads": 1, "validation": 1, "every": 2}
EVOLUTION = {"jobs": 3, "servers": 1, "pool": 2, "workloads": 2, "directions": 2, "validation": 2, "every": 2}
SMALL = {"chic": CHIC, "chic-pair": CHIC, "chic-plus": PLUS, "mlf-rl": MLF_RL, "mirhoseini-rl": PLACING}
SMALL |= {"mlf-rl-plus": EVOLUTION}


@pytest.mark.parametrize("policy", sorted(SMALL))
def test_the_same_seed_gives_the_same_bytes_and_so_it_does_resumed(tmp_path, policy):
    skip_without_compiled(policy)
    sizes = SMALL[policy] | {"every": 1}
    whole, parts, other = (tmp_path / f"{name}.safetensors" for name in ("whole", "parts", "other"))
    train(policy, iterations=2, seed=3, output=whole, **sizes)
    train(policy, iterations=1, seed=3, output=parts, **sizes)
    train(policy, iterations=1, seed=4, output=other, **sizes)
    states = [read(checkpoint_of(path), kind=CHECKPOINT).tensors for path in (parts, other)]
    assert any((values != states[1][name]).any() for name, values in states[0].items()), "another seed, other weights"
    done = train(policy, iterations=2, seed=3, output=parts, resume=True, **sizes)
    assert done.iterations_run == 1
    assert whole.read_bytes() == parts.read_bytes()
    assert checkpoint_of(whole).read_bytes() == checkpoint_of(parts).read_bytes()


def test_the_trained_weights_answer(tmp_path):
    path = tmp_path / "w.safetensors"
    done = train("chic", iterations=2, output=path, **CHIC)
    card = read(path, "chic").card
    assert card["recipe"] == dataclasses.asdict(ChicParams(**CHIC))
    assert [c["iteration"] for c in done.curve] == [1, 2]
    assert card["curve"] == [done.curve[1]], "of the curve, a file of weights has what was validated"
    assert card["scores"]["validation"] == min(c["validation"] for c in done.curve if "validation" in c)
    assert card["scores"]["best_iteration"] == 2, "an untrained network is no choice"
    inst = mlsched.generate("workers", seed=0)
    assert inst.violations(mlsched.solve(inst, "chic", weights=str(path)).plan) == []


def test_mlf_rl_is_trained_and_answers_where_every_iteration_queues_anew(tmp_path):
    path, sizes = tmp_path / "w.safetensors", MLF_RL | {"jobs": 8, "low": 2.0, "pause": 30.0, "queueing": "iteration"}
    done = train("mlf-rl", iterations=2, output=path, **sizes)
    assert done.curve[1]["choices"] > 0
    assert read(path, "mlf-rl").card["recipe"]["queueing"] == "iteration"
    load = mlsched.workload("synthetic:mlfs-cluster", simulator="iterations", jobs=8, servers=1, seed=1, load=1.8)
    run = mlsched.simulate(load, f"mlf-rl:queueing=iteration,weights={path}")
    assert run.violations() == []
    with pytest.raises(InvalidFile, match="weights for queueing: iteration, expected for held"):
        mlsched.simulate(load, f"mlf-rl:weights={path}")


def test_resuming_needs_the_same_settings(tmp_path):
    path = tmp_path / "w.safetensors"
    train("chic", iterations=2, output=path, **CHIC)
    with pytest.raises(InvalidInput, match=r"keep = 0\.3 there, 0\.7 here"):
        train("chic", iterations=4, output=path, resume=True, keep=0.7, **CHIC)
    with pytest.raises(InvalidInput, match="seed = 0 there, 1 here"):
        train("chic", iterations=4, output=path, resume=True, seed=1, **CHIC)
    with pytest.raises(InvalidInput, match="expected more than the 2"):
        train("chic", iterations=2, output=path, resume=True, **CHIC)
    with pytest.raises(InvalidFile, match=r"not a mlsched\.weights"):
        read(checkpoint_of(path))
    checkpoint_of(path).write_bytes(checkpoint_of(path).read_bytes()[:-1])
    with pytest.raises(InvalidFile):
        train("chic", iterations=4, output=path, resume=True, **CHIC)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"iterations": 0}, "iterations"),
        ({"keep": 0.0}, "keep"),
        ({"hidden": "64-x"}, "hidden"),
        ({"nope": 1}, "nope"),
        ({"device": "tpu"}, "device"),
        ({"resume": True}, "output"),
        ({"output": "/nowhere/w"}, "/nowhere/w"),
        ({"void": "x"}, "void"),
        ({"dropout": 1.0}, "dropout"),
        ({"keep": "much"}, "keep"),
        ({"sequences": "x"}, "sequences"),
        ({"punished": 1.5}, "punished"),
        ({"span": 0}, "span"),
        ({"cpu_limit": 0.0}, "cpu_limit"),
    ],
)
def test_wrong_calls_are_refused(wrong, says):
    with pytest.raises(InvalidInput, match=says) as error:
        train("chic", **{"iterations": 1, **wrong})
    assert "\n" not in str(error.value)


def test_unknown_policies_are_refused():
    with pytest.raises(UnknownName, match="chic, chic-pair, chic-plus"):
        recipe("nope")
    assert set(SMALL) <= set(recipes())


def test_the_papers_hyper_parameters_are_the_defaults():
    p = ChicParams()
    assert (p.hidden, p.dropout, p.episodes, p.uniform, p.jobs, p.window) == ("64-32-4", 0.5, 35, 1, 30, 3)
    assert (p.learning_rate, p.p1, p.p2, p.unit_s, p.validation) == (0.01, 5.0, 1.0, 1200, 30)
    assert (p.every, p.sequences, p.protocol) == (2, "episode", "paper"), "Section 5, and line 4 of Algorithm 1"


def test_sequences_never_meet():
    assert VALIDATION >= 100_000
    assert TRAINING > VALIDATION + 10**5


scales = st.fixed_dictionaries(
    {
        "jobs": st.integers(1, 6),
        "rate": st.sampled_from([0.0, 0.01, 2.0, 500.0]),
        "window": st.integers(1, 5),
        "p1": st.sampled_from([0.0, 5.0, 1e6]),
        "unit_s": st.sampled_from([1, 1200, 10**6]),
        "keep": st.sampled_from([0.01, 0.3, 1.0]),
        "steps": st.sampled_from([1, 3, 1000]),
        "dropout": st.sampled_from([0.0, 0.5, 0.95]),
        "masked": st.booleans(),
        "void": st.sampled_from(["ends", "forced", "waits"]),
        "protocol": st.sampled_from(["paper", "settled"]),
        "floor": st.sampled_from(["always", "never"]),
        "learning_rate": st.sampled_from([1e-4, 0.01, 1.0]),
        "sequences": st.sampled_from(["episode", "iteration"]),
        "examples": st.sampled_from([0, 1, 5]),
    }
)


@settings(max_examples=draws(5, 50))
@given(scales, st.booleans(), st.integers(0, 100))
def test_losses_and_gradients_are_finite(given_, pair, seed):
    with repeatable_numbers():
        learner = CrossEntropy(ChicParams(episodes=3, validation=1, limit=30, **given_), seed, "cpu", pair=pair)
        for k in (1, 2):
            found = learner.improve(k)
            assert all(math.isfinite(v) for v in found.values())
        assert all(torch.isfinite(p.grad).all() for p in learner.parameters)
        assert all(np.isfinite(v).all() for v in learner.state().values())
        assert math.isfinite(learner.validate(learner.weights()).score)


def test_training_takes_one_thread():
    """Of torch and of NumPy's matrix products: the latter's threads wait for each other at several times the cost."""
    import threadpoolctl

    def threads():
        return {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()}

    with threadpoolctl.threadpool_limits(limits=2):
        before = threads()
        assert 2 in before.values()
        with repeatable_numbers():
            assert set(threads().values()) == {1}
            assert torch.get_num_threads() == 1
        assert threads() == before


def entry(punished, reward):
    return {"validation": 1.0, "validation_punished_share": punished, "validation_reward": reward}


def test_the_criterion_by_hand():
    """Few punished actions, and a reward that has stopped to change: both, over the last `span` iterations."""
    params = ChicParams(span=2, punished=0.01, flat=0.02)
    good = [entry(0.3, -1000), entry(0.01, -51), entry(0.01, -51), entry(0.005, -50), entry(0.012, -51)]
    assert has_settled(params, good)
    assert not has_settled(params, good[-3:]), "too short"
    assert has_settled(params, [{}, good[1], {}, good[3]]), "what was validated counts"
    assert not has_settled(params, [*good[:3], {}, {}]), "nothing was validated"
    assert not has_settled(params, [*good[:-1], entry(0.03, -51)]), "too many punished"
    assert not has_settled(params, [*good[:-2], entry(0.005, -48), entry(0.005, -48)]), "still getting better"


@pytest.mark.parametrize("pair", [True, False])
def test_the_parts_of_the_reward_add_up(pair):
    """r_t1, r_t2 and r_t3 as accounted for sum to what the simulation pays, and r_t1 to the completion times."""
    works = [sequence_of_seed(TRAINING + k, 4, 3.0) for k in range(5)]
    ours = Account(Batch(works, Phase(3, pair, 40), rewards=Rewards(5.0, 1.0, 1000)))
    theirs, rng, paid = Batch(works, Phase(3, pair, 40), rewards=Rewards(5.0, 1.0, 1000)), np.random.default_rng(1), 0.0
    while not theirs.done.all():
        action = rng.integers(0, theirs.phase.actions - 1, len(works))
        ours.step(action)
        paid = paid + theirs.step(action).reward
    assert np.allclose(ours.reward, paid)
    assert np.allclose(-ours.completion / 4, theirs.completion_s())
    assert (ours.punished <= ours.useless).all()
    assert ours.punished.any()
    figures = ours.figures(len(works))
    parts = figures["reward_completion"] + figures["reward_absent"] + figures["reward_halves"]
    assert math.isclose(figures["reward"], parts)
    assert figures["punished_share"] == ours.punished.sum() / ours.actions.sum()


def test_one_sequence_an_iteration_or_one_an_episode():
    def drawn(**given):
        learner = CrossEntropy(ChicParams(**CHIC, **given), 0, "cpu", pair=False)
        return [w.source for w in learner._draw_sequences(np.random.default_rng(0))]

    with repeatable_numbers():
        assert len(set(drawn())) == CHIC["episodes"] + 1
        assert len(set(drawn(examples=1))) == 1
        assert len(set(drawn(sequences="iteration"))) == 1


def test_training_ends_when_it_is_trained_or_its_cpu_time_is_spent(tmp_path):
    easy = {**CHIC, "protocol": "settled", "punished": 1.0, "flat": 1.0, "span": 2}
    for chosen in ({}, {"iterations": 50, "until_trained": True}):  # by default it ends when it is trained
        done = train("chic", **chosen, **easy)
        assert done.trained is True
        assert done.iterations_run == 4
        assert done.weights.card["trained"] is True
    assert train("chic", iterations=6, **easy).iterations_run == 6, "as many as were asked for"
    done = train("chic", iterations=50, cpu_limit=1e-6, **{**easy, "punished": 0.0})
    assert done.trained is False
    assert done.iterations_run == 2
    with pytest.raises(InvalidInput, match="chic-plus lacks a criterion"):
        train("chic-plus", iterations=1, until_trained=True, **PLUS)


def test_a_training_by_the_papers_protocol_has_a_length_and_comes_to_its_fastest_policy(monkeypatch):
    found = iter([Validation(1.0, False), *map(Validation, (90.0, 80.0, 85.0))])
    monkeypatch.setattr(CrossEntropy, "validate", lambda self, weights: next(found))
    done = train("chic", length=6, **CHIC)
    assert (done.iterations_run, done.trained) == (6, True)
    scores = done.weights.card["scores"]
    assert (scores["validation"], scores["best_iteration"]) == (80.0, 4)
    monkeypatch.undo()
    assert train("chic", iterations=2, length=6, **CHIC).trained is False, "cut short"


@pytest.mark.parametrize(("protocol", "may"), [("paper", True), ("settled", False)])
def test_a_policy_may_be_chosen_once_it_has_learned(protocol, may):
    with repeatable_numbers():
        learner = CrossEntropy(ChicParams(**CHIC, protocol=protocol, punished=0.0), 0, "cpu", pair=False)
        assert learner.validate(learner.weights()).meets is False
        learner.improve(1)
        assert learner.validate(learner.weights()).meets is may
        again = CrossEntropy(ChicParams(**CHIC, protocol=protocol, punished=0.0), 0, "cpu", pair=False)
        again.restore(learner.state())
        assert again.validate(again.weights()).meets is may, "so may one that was resumed"


def test_a_policy_that_meets_the_criterion_goes_before_a_faster_one(monkeypatch):
    found = iter([Validation(90.0), Validation(10.0, False), Validation(80.0), Validation(70.0, False)])
    monkeypatch.setattr(CrossEntropy, "validate", lambda self, weights: next(found))
    scores = train("chic", iterations=6, **CHIC).weights.card["scores"]
    assert (scores["validation"], scores["best_iteration"], scores["meets_criterion"]) == (80.0, 4, True)


def test_more_kept_episodes_lower_the_bar():
    """keep = 0.3 keeps the best three tenths: line 9 of Algorithm 1, read both ways."""
    with repeatable_numbers():
        bounds = [
            CrossEntropy(ChicParams(**{**CHIC, "episodes": 9}, keep=keep), 0, "cpu", pair=False).improve(1)["bound"]
            for keep in (0.1, 0.3, 0.7, 1.0)
        ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1]


def test_no_smoothing_towards_the_old_is_adam_alone():
    """smoothing = 1 takes Adam's parameters; 0.25 goes a quarter of the way (line 11)."""
    with repeatable_numbers():
        whole = CrossEntropy(ChicParams(**CHIC, smoothing=1.0, steps=1), 0, "cpu", pair=False)
        part = CrossEntropy(ChicParams(**CHIC, smoothing=0.25, steps=1), 0, "cpu", pair=False)
        start = {k: v.copy() for k, v in whole.weights().items()}
        whole.improve(1)
        part.improve(1)
    for name, old in start.items():
        expected = old + 0.25 * (whole.weights()[name] - old)
        assert np.allclose(part.weights()[name], expected, atol=1e-6)


def test_learning_makes_the_kept_actions_likelier():
    """A few steps on what was sampled: the loss falls, so probabilities of the kept actions rise."""
    with repeatable_numbers():
        learner = CrossEntropy(ChicParams(**CHIC, dropout=0.0, steps=1, smoothing=1.0), 1, "cpu", pair=False)
        rng = np.random.default_rng(0)
        features = rng.random((64, learner.net[0].in_features)).astype(np.float32)
        actions, masks = np.full(64, 2), np.ones((64, 7), dtype=bool)
        losses = [learner._learn_from_elite(k, features, actions, masks) for k in range(1, 60)]
    assert losses[-1] < losses[0] / 3
