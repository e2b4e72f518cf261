"""MLF-RL-plus: sound runs, the orders that training begins with are what they are called, and what it refuses."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from draws import draws

from mlsched import api
from mlsched.core.errors import InvalidFile
from mlsched.heuristics.taskgraph.measures import per_job, remaining_time, shares
from mlsched.learned.taskgraph.plus_order import FEATURES, NAMES, features, standing_of
from mlsched.learned.weights import Weights, of, read, write

WORLD = {"usage": "drawn", "usage_every": 1800, "movement": "anytime", "pausing": "keep"}
WAKE = "events+interval:1800"


def load(jobs=16, servers=2, seed=2, pause=30):
    made = api.workload(
        "synthetic:mlfs-cluster", "taskgraph", simulator="iterations", seed=seed, jobs=jobs, servers=servers, load=1.5
    )
    return made.replace(pause_cost=np.full(jobs, pause * 10**6))


def weights_of(tmp_path, values):
    shipped = of("mlf-rl-plus", "taskgraph")
    tensors = {"0.weight": np.array(values, dtype=np.float32)[None], "0.bias": np.zeros(1, dtype=np.float32)}
    path = tmp_path / "some.safetensors"
    write(path, Weights(tensors, shipped.card))
    return path


@functools.cache
def recorded():
    """A run in which jobs pause, with all its decisions."""
    return api.simulate(load(), "mlf-rl-plus", seed=4, scheduling_events=WAKE, options=WORLD, record=1.0)


def test_runs_are_sound_and_every_decision_can_be_replayed():
    run = recorded()
    assert run.violations() == []
    assert run.jobs["pauses"].sum() > 0
    assert all(run.replay(decision) == decision.plan for decision in run.recorded)


@pytest.mark.parametrize("seed", range(draws(2, 3)))
@pytest.mark.parametrize(("exponent", "size"), [(0.0, "time"), (1.0, "area")])
def test_by_what_is_left_and_the_size_alone_it_is_preemptive_srpt(tmp_path, seed, exponent, size):
    path = weights_of(tmp_path, [1.0, exponent] + [0.0] * (FEATURES - 2))
    learned, rule = (
        api.simulate(load(seed=seed), text, seed=seed, scheduling_events=WAKE, options=WORLD)
        for text in (f"mlf-rl-plus:weights={path},nodes=least-work", f"srpt:preempt=true,size={size},nodes=least-work")
    )
    assert learned.jobs["pauses"].sum() > 0
    assert learned.log.rows == rule.log.rows


def test_the_first_two_features_are_logs_of_time_left_and_size_with_the_price_of_a_pause():
    seen = 0
    for snapshot in (decision.instance for decision in recorded().recorded):
        rows = features(standing_of(snapshot, snapshot.max_iterations))
        assert rows.shape == (FEATURES, len(snapshot.arrival)) == (len(NAMES), len(snapshot.arrival))
        assert np.isfinite(rows).all()
        left = remaining_time(snapshot, snapshot.max_iterations)
        runs = per_job(snapshot, snapshot.state == 1) > 0
        goes_on = ~runs & (snapshot.first_start >= 0)
        seen += goes_on.sum()
        expected = np.maximum(left - 30 * runs + 30 * goes_on, 3.6) / 3600
        assert np.allclose(np.exp(rows[0]), expected, rtol=1e-6)
        assert np.allclose(np.exp(rows[1] - 2.5), per_job(snapshot, shares(snapshot)), rtol=1e-6)
    assert seen > 0


def test_what_runs_before_a_job_is_the_share_of_the_shorter_ones():
    for snapshot in (decision.instance for decision in recorded().recorded[::5]):
        at = standing_of(snapshot, snapshot.max_iterations)
        rows = features(at)
        ahead = np.array([at.share[rows[0] < own].sum() for own in rows[0]])
        shown = rows[NAMES.index("shorter jobs, of the cluster")]
        distinct = np.array([(rows[0] == own).sum() == 1 for own in rows[0]])
        assert np.allclose(shown[distinct], np.minimum(ahead, 1)[distinct])


def test_where_nothing_may_pause_it_says_who_starts():
    run = api.simulate(load(), "mlf-rl-plus", scheduling_events=WAKE, options=WORLD | {"pausing": "none"})
    assert run.violations() == []
    assert run.jobs["pauses"].sum() == 0


def test_weights_of_another_shape_are_refused(tmp_path):
    path = weights_of(tmp_path, [1.0, 0.0, 0.0])
    with pytest.raises(InvalidFile, match=f"3 -> 1, expected {FEATURES} -> 1; train it again"):
        api.simulate(load(), f"mlf-rl-plus:weights={path}", options=WORLD)


def test_the_weights_that_come_along_have_a_card(tmp_path):
    weights = of("mlf-rl-plus", "taskgraph")
    assert weights.card["data"]["features"] == list(NAMES)
    assert weights.card["curve"]
    write(tmp_path / "w", weights)
    assert read(tmp_path / "w", "mlf-rl-plus").card == weights.card
    assert (tmp_path / "w").stat().st_size < 50_000


def test_weights_without_a_network_are_named(tmp_path):
    path = weights_of(tmp_path, [1.0])
    held = read(path)
    write(path, Weights({"x": held.tensors["0.weight"]}, held.card))
    with pytest.raises(InvalidFile, match=r"\.safetensors: tensor '0\.weight' is missing"):
        api.simulate(load(), f"mlf-rl-plus:weights={path}", options=WORLD)
