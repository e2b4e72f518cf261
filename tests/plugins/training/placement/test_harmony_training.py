"""Harmony's training: the clusters, the replay buffer, the shuffling, and a training that resumes to the byte."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from mlsched.core.errors import InvalidInput
from mlsched.learned.placement.harmony_policy import Net
from mlsched.simulation.placement.board import NOBODY, Shape

torch = pytest.importorskip("torch")
from mlsched.learned.weights import read  # noqa: E402
from mlsched_training import train  # noqa: E402
from mlsched_training._torch import layer_state  # noqa: E402
from mlsched_training.placement import _harmony_live  # noqa: E402
from mlsched_training.placement._harmony import ActorCritic, HarmonyParams, has_settled  # noqa: E402
from mlsched_training.placement._harmony_clusters import Clusters  # noqa: E402
from mlsched_training.placement._harmony_replay import Replay, Samples, shuffled_samples  # noqa: E402
from mlsched_training.trainer import CHECKPOINT, checkpoint_of  # noqa: E402

SMALL = {
    "hidden": "8-8",
    "job_units": 2,
    "server_units": 2,
    "workers": 3,
    "live": 1,
    "minibatch": 4,
    "replay": 64,
    "validation": 1,
    "jobs": 4,
    "every": 2,
    "span": 2,
    "retrain": 2,
    "anneal": 4,
}
SHAPE = Shape(types=6, servers=6, resources=3, new=6, running=12)


@pytest.fixture(autouse=True)
def _little_history(monkeypatch):
    monkeypatch.setattr(_harmony_live, "PAST", 20)
    monkeypatch.setattr(_harmony_live, "STEPS", 2)


def alone(clusters):
    """Every job at full speed."""
    board = clusters.board
    return lambda rows: ((board.kind[rows] != NOBODY) & board.on[rows].any(axis=(1, 3))).astype(float)


def test_clusters_keep_account_of_what_they_hold():
    rng = np.random.default_rng(0)
    clusters = Clusters(SHAPE, 4, rate=3.0, load=0.3)
    clusters.speeds = alone(clusters)
    clusters.begin(rng)
    board, every = clusters.board, np.arange(4)
    for _ in range(120):
        valid = board.valid(every)
        assert valid.any(axis=1).all()
        board.act(every, np.array([rng.choice(np.flatnonzero(row)) for row in valid]))
        over = np.flatnonzero(~board.valid(every).any(axis=1))
        if over.size:
            assert (clusters.finish(over, rng) >= 0).all()
        new = np.zeros((4, SHAPE.slots, 2, 3), dtype=np.int64)
        new[:, : SHAPE.new], new[:, SHAPE.new :] = board.need, clusters.demand[:, SHAPE.new :]
        used = np.einsum("bmnk,bnkr->bmr", board.on, new)
        assert (board.capacity - used == board.free).all()
        # A job that runs is whole.
        placed = board.on.sum(axis=1)[:, SHAPE.new :]
        assert (placed == board.asked[:, SHAPE.new :]).all()


@pytest.mark.parametrize("whole", [True, False])
def test_samples_of_an_interval_get_its_reward(whole):
    shape = Shape(types=1, servers=1, resources=1, new=1, running=1)
    replay, one = Replay(4, 2, shape, 0.5, whole), np.ones((2, shape.features), dtype=np.float32)
    valid = np.ones((2, shape.actions), dtype=bool)
    for step in range(3):
        replay.note(step * one, np.array([step, step]), valid, (step + 1) * one)
    assert replay.count == 0
    replay.close(np.array([1]), np.array([5.0]))
    assert (replay.count, replay.next) == (3, 3)
    taken = replay.draw(np.random.default_rng(0), 0, replayed=False)
    assert sorted(taken.action.tolist()) == [0, 1, 2]
    assert set(taken.reward.tolist()) == {5.0}
    assert taken.then[:, 0].tolist() == ([3, 3, 3] if whole else [3, 2, 1])
    assert taken.discount.tolist() == ([0.5, 0.25, 0.125] if whole else [0.5, 0.5, 0.5])
    replay.close(np.array([0]), np.array([7.0]))
    assert (replay.count, replay.next) == (4, 2)  # the oldest went first


def test_shuffling_means_nothing_to_a_network_that_has_no_names():
    """A network that adds up what it sees of each (job, kind, server) gives a shuffled action the same logit."""
    rng = np.random.default_rng(1)
    now = rng.random((5, SHAPE.features)).astype(np.float32)
    valid = rng.random((5, SHAPE.actions)) < 0.5
    action = np.array([np.flatnonzero(row)[0] for row in valid])
    mixed = shuffled_samples(rng, Samples(now, now, valid, action, *np.zeros((2, 5))), SHAPE)

    def seen(x, a):
        cut = SHAPE.slots * SHAPE.of_job
        job, kind, server = np.unravel_index(a, (SHAPE.new, 2, SHAPE.servers))
        row = np.arange(len(x))
        jobs = x[:, :cut].reshape(len(x), SHAPE.slots, -1)[row, job]
        servers = x[:, cut:].reshape(len(x), SHAPE.servers, -1)[row, server]
        there = servers[:, SHAPE.resources :].reshape(len(x), SHAPE.slots, 2)
        return np.concatenate([jobs, servers[:, : SHAPE.resources], there[row, job]], axis=1), kind

    for one, other in zip(seen(now, action), seen(mixed.now, mixed.action), strict=True):
        assert (one == other).all()
    assert mixed.valid[np.arange(5), mixed.action].all()
    assert (mixed.valid.sum(axis=1) == valid.sum(axis=1)).all()


def test_numpy_answers_as_torch_does():
    learner = ActorCritic(HarmonyParams(**SMALL), 0, "cpu")
    x = np.random.default_rng(0).random((3, SHAPE.features)).astype(np.float32)
    with torch.no_grad():
        expected = learner._forward_pass(learner.actor, torch.from_numpy(x)).numpy()
    assert Net(layer_state(learner.actor), SHAPE)(x) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "ablation", [{}, {"value": "average"}, {"explore": False, "difference": "action"}, {"replayed": False, "live": 0}]
)
def test_a_resumed_training_is_as_one_that_never_stopped(tmp_path, ablation):
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    settings = {**SMALL, **ablation}
    train("harmony", iterations=4, output=whole, **settings)
    train("harmony", iterations=2, output=parts, **settings)
    train("harmony", iterations=4, output=parts, resume=True, **settings)
    assert whole.read_bytes() == parts.read_bytes()


def test_two_processes_give_the_same_weights_again_and_resume_to_the_byte(tmp_path):
    """From what a training has written when it is half done, two others come to the same end."""
    whole, parts, alone = (tmp_path / f"{name}.safetensors" for name in ("whole", "parts", "alone"))
    settings = {**SMALL, "processes": 2}

    def keep(done, *_):
        if done == 2:
            shutil.copy(whole, parts)
            shutil.copy(checkpoint_of(whole), checkpoint_of(parts))

    train("harmony", iterations=4, output=whole, progress=keep, **settings)
    assert whole.read_bytes() != parts.read_bytes()
    train("harmony", iterations=4, output=parts, resume=True, **settings)
    train("harmony", iterations=4, output=alone, **SMALL)
    assert whole.read_bytes() == parts.read_bytes()
    states = [read(checkpoint_of(path), kind=CHECKPOINT) for path in (whole, parts, alone)]
    assert states[0].card["recipe"]["processes"] == 2
    for name, values in states[0].tensors.items():
        assert np.array_equal(values, states[1].tensors[name])
    assert any((values != states[2].tensors[name]).any() for name, values in states[0].tensors.items())
    assert not torch.distributed.is_initialized(), "the processes have ended"


def test_gradients_of_two_processes_add_up_to_those_of_all_their_samples():
    learner = ActorCritic(HarmonyParams(**SMALL), 0, "cpu")
    rng = np.random.default_rng(0)
    x, y = (torch.from_numpy(rng.random(s).astype(np.float32)) for s in ((12, SHAPE.features), (12, 1)))

    def gradients(rows, share):
        loss = share * ((learner._forward_pass(learner.critic, x[rows]) - y[rows]) ** 2).mean()
        return torch.autograd.grad(loss, learner.learned[1][1])

    both = [gradients(slice(0, 8), 2 / 3), gradients(slice(8, 12), 1 / 3)]
    for whole, *parts in zip(gradients(slice(0, 12), 1), *both, strict=True):
        assert torch.allclose(whole, sum(parts), atol=1e-6)


def test_more_processes_than_clusters_are_refused():
    with pytest.raises(InvalidInput, match="processes"):
        HarmonyParams(**{**SMALL, "processes": 4})
    with pytest.raises(InvalidInput, match="live"):
        HarmonyParams(**{**SMALL, "processes": 2, "live": 3})


def test_the_criterion():
    params = HarmonyParams(span=250, anneal=400, every=250, flat=0.05)
    flat = [{"validation": 2.0} if k % 250 == 249 else {} for k in range(500)]
    assert has_settled(params, flat)
    assert not has_settled(params, flat[:499])
    assert not has_settled(params, [*flat[:249], {"validation": 2.5}, *flat[250:]])
    assert not has_settled(HarmonyParams(span=250, anneal=501, every=250), flat)
    with pytest.raises(InvalidInput, match="span"):
        HarmonyParams(span=1)
