"""Losses as they are seen: of finished iterations alone, thinned out, and by both engines alike."""

from __future__ import annotations

import numpy as np
import pytest
from jobs_examples import jobs_of
from jobs_examples import play as play_jobs
from snapshot_examples import greedy, horizon, play, scripted

from mlsched.simulation.taskgraph.losses import error_rates, learning, samples


@pytest.mark.parametrize("finished", [1, 2, 62, 63, 64, 65, 1000, 10**6])
def test_at_most_64_losses_of_finished_iterations(finished):
    found = samples(np.arange(10**6, 0, -1)[None, :100], np.zeros(1, dtype=np.int64), np.array([finished]))
    iteration = found["sample_iteration"]
    assert len(iteration) == min(64, finished + 1)
    assert (np.diff(iteration) > 0).all()
    assert set(iteration.tolist()) >= {0, 1, finished - 1, finished}
    assert (found["sample_loss"] == 10**6 - np.minimum(iteration, 99)).all(), "past its end the table stays as it is"
    if finished > 64:
        assert np.ptp(np.diff(iteration)[1:-1]) <= 1, "evenly between"


def test_jobs_that_have_finished_nothing_or_never_learn_show_no_loss():
    tables = error_rates(np.array([[0, 250_000, 500_000], [500_000, 750_000, 750_000]]))
    assert tables.tolist() == [[10**6, 750_000, 500_000], [10**6, 500_000, 500_000]]
    found = samples(tables, np.array([0, 1, -1, 1]), np.array([0, 1, 5, 3]))
    assert found["sample_job"].tolist() == [1, 1, 3, 3, 3, 3]
    assert found["sample_loss"].tolist() == [10**6, 500_000, 10**6, 500_000, 500_000, 500_000]
    assert learning(np.array([[0, 1], [3, 3]])).tolist() == [True, False]


def test_both_engines_show_the_same():
    inst = horizon([(0, 4, [(2, 1)])])
    jobs = jobs_of([[(2, 1)]], [(0, 0, 4)])
    first = play(inst, greedy())[2]
    second = play_jobs(jobs, scripted({0: {"start": [(0, 0)], "wake_at": 4}}), pausing="keep")[1]
    for name in ("sample_job", "sample_iteration", "sample_loss", "accuracy_seen", "finished"):
        assert getattr(first[4], name).tolist() == getattr(second[4], name).tolist()
    assert first[4].sample_loss.tolist() == [10**6, 800_000, 600_000]


def test_a_table_of_losses_and_an_estimate_of_the_accuracy_are_what_is_seen():
    told = {"accuracy": [[0, 300_000, 500_000], [100_000, 900_000, 900_000]], "accuracy_told": [1]}
    jobs = jobs_of([[(2, 1)]], [(0, 0, 4)], loss=[[10**6, 2 * 10**6]], loss_table=[0], **told)
    script = {0: {"start": [(0, 0)], "wake_at": 4}}
    seen = play_jobs(jobs, scripted(script), pausing="keep")[1][4]
    assert seen.sample_loss.tolist() == [10**6, 2 * 10**6, 2 * 10**6]
    assert (seen.accuracy.tolist(), seen.accuracy_seen.tolist()) == ([[100_000, 900_000, 900_000]], [500_000])
    oracle = play_jobs(jobs, scripted(script), pausing="keep", information="oracle")[1][4]
    assert oracle.accuracy.tolist() == [[0, 300_000, 500_000]]


def test_since_when_tasks_wait():
    """Task 1 follows task 0; task 2 of another job waits for room until 5, runs, pauses at 6."""
    inst = horizon([(0, 1, [(2, 1), (3, 1)]), (1, 1, [(4, 1)])], nodes=[(1,)], edges=[(0, 1, 0, 0, 0)])
    script = {
        0: {"start": [(0, 0)], "wake_at": 1},
        2: {"wake_at": 3},
        3: {"start": [(1, 0)]},
        6: {"start": [(0, 0)], "wake_at": 7},  # alone in the snapshot
        7: {"pause": [0], "wake_at": 9},
        9: {"start": [(0, 0)]},
    }
    seen = play(inst, scripted(script), pausing="keep")[2]
    assert seen[1].waiting_since.tolist() == [1, 1, 1], "task 1 cannot run yet"
    assert seen[3].waiting_since.tolist() == [3, 2, 1]
    assert (seen[7].waiting_since.tolist(), seen[9].waiting_since.tolist()) == ([7], [7])
    assert (seen[7].usage.tolist(), seen[9].usage.tolist()) == ([[1]], [[0]])
