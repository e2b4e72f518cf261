"""MLF-RL-plus' training: it begins with what it says, follows what gains, and counts a gain by its criterion."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
from mlsched.learned.taskgraph.plus_order import FEATURES, SIZE
from mlsched_training.taskgraph import _mlf_rl_plus as plus
from mlsched_training.taskgraph._mlf_rl_plus import Evolution, MlfRlPlusParams, begin, trained

SMALL = {"jobs": 4, "servers": 1, "pool": 2, "workloads": 2, "directions": 40, "validation": 3}


def test_it_begins_with_the_order_and_gains_nothing_on_it():
    learner = Evolution(MlfRlPlusParams(**SMALL, exponent=0.5), 0, "cpu")
    assert learner.weights()["0.weight"].tolist() == [[1.0, 0.5] + [0.0] * (FEATURES - 2)]
    found = learner.validate(learner.weights())
    assert (found.score, found.meets) == (1.0, False)


def test_the_weights_go_where_completion_times_are_shorter(monkeypatch):
    """A world in which the mean completion time is 10 h plus that by how far the size's weight is from 0.7."""

    def jct(batch, order, **world):
        weights = order.__closure__[0].cell_contents
        rows = np.broadcast_to(np.atleast_2d(weights), (len(batch.arrival), FEATURES))
        return 10 + (rows[:, SIZE] - 0.7) ** 2

    monkeypatch.setattr(plus, "mean_jct", jct)
    learner = Evolution(MlfRlPlusParams(**SMALL, learning_rate=2.0), 1, "cpu")
    before = learner.validate(learner.weights())
    for iteration in range(1, 31):
        learner.improve(iteration)
    assert abs(learner.now[SIZE] - 0.7) < 0.1
    assert np.abs(np.delete(learner.now - begin(0.0), SIZE)).max() < 0.3
    after = learner.validate(learner.weights())
    assert after.score < before.score


def test_a_training_is_over_when_validations_have_come_to_rest():
    params = MlfRlPlusParams(span=2, flat=0.001)

    def curve(*scores):
        return [{"validation": score} for score in scores]

    assert not trained(params, curve(1, 1, 1))
    assert trained(params, curve(0.9, 0.99, 0.9902, 0.99, 0.9898))
    assert not trained(params, curve(1, 1, 0.99, 0.99))
