"""Harmony's reward model: what it is given, that slots and servers have no names to it, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched.core.errors import InvalidFile
from mlsched.learned.weights import Weights
from mlsched.simulation.placement.board import NOBODY
from mlsched_training.placement.harmony_speeds import Speeds, flat_inputs, job_inputs, reward_model_of

torch = pytest.importorskip("torch")
from mlsched_training import train  # noqa: E402
from mlsched_training.placement._harmony_rewards import RewardLearner, RewardParams, random_history, relative_errors  # noqa: E402

PAST = random_history(60, 0, "pairwise", 6, 18)


def test_what_the_flat_network_is_given():
    x = flat_inputs(PAST.kind, PAST.on, 6)
    assert x.shape == (60, 18 * 6 + 18 * 2 + 6 * 18 * 2)
    assert x[:, : 18 * 6].sum() == (PAST.kind != NOBODY).sum()


def test_neither_slots_nor_servers_have_names():
    rng = np.random.default_rng(0)
    slots, servers = rng.permutation(18), rng.permutation(6)
    kind, on = PAST.kind[:, slots], PAST.on[:, servers][:, :, slots]
    plain, mixed = job_inputs(PAST.kind, PAST.on, 6), job_inputs(kind, on, 6)
    # Equal servers may change places; their sums then are as telling as their order.
    assert mixed.sum(axis=-1) == pytest.approx(plain.sum(axis=-1)[:, slots])


def test_a_history_is_drawn_by_seed_and_holds_measured_speeds():
    assert (random_history.__wrapped__(5, 0, "pairwise", 6, 18).kind == PAST.kind[:5]).all()
    there = PAST.kind != NOBODY
    assert ((PAST.speed[there] <= 1) & (PAST.speed[there] > 0.1)).all()
    assert (PAST.on.any(axis=(1, 3)) == there).all()


@pytest.mark.parametrize("form", ["jobs", "flat"])
def test_it_learns_and_numpy_answers_as_torch_does(form):
    learner = RewardLearner(RewardParams(samples=60, form=form), 1, "cpu")
    before = learner.validate(learner.weights()).score
    for k in range(1, 9):
        learner.improve(k)
    assert learner.validate(learner.weights()).score < before
    net, kind = learner.net, learner.past.kind[:7]
    with torch.no_grad():
        if form == "flat":
            found = net.net(torch.from_numpy(flat_inputs(kind, learner.past.on[:7], 6))).numpy()[kind != NOBODY]
        else:
            found = net.net(torch.from_numpy(job_inputs(kind, learner.past.on[:7], 6)[kind != NOBODY])).numpy()[:, 0]
    predicted = Speeds(learner.weights(), form, 6)(kind, learner.past.on[:7])[kind != NOBODY]
    assert predicted == pytest.approx(np.exp(np.minimum(found, 0)), rel=1e-4)


def test_whole_placements_are_held_out():
    learner = RewardLearner(RewardParams(samples=60), 0, "cpu")
    assert len(learner.tested) == 6
    assert not set(learner.tested) & set(learner.trained_on)
    errors = relative_errors(learner.weights(), "jobs", learner.past, learner.tested)
    assert len(errors) == (learner.past.kind[learner.tested] != NOBODY).sum()


def test_jobs_that_wait_have_no_speed_and_disturb_nobody(tmp_path):
    path = tmp_path / "reward.safetensors"
    model = reward_model_of(train("harmony-reward", iterations=1, output=path, samples=40).weights)
    kind, on = PAST.kind[:1].copy(), PAST.on[:1]
    with_jobs = model(kind, on)
    empty = np.flatnonzero(kind[0] == NOBODY)[0]
    kind[0, empty] = 2
    assert (model(kind, on) == with_jobs).all()


def test_a_card_without_its_form_is_refused():
    with pytest.raises(InvalidFile, match="lacks form or models"):
        reward_model_of(Weights({}, {"recipe": {}, "data": {}}, "x"))
