"""SLAQ and Optimus: what they predict of losses whose curve is known, and whom they serve first."""

from __future__ import annotations

import numpy as np
import pytest
from jobs_examples import jobs_of, seen_at

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.optimus import needed
from mlsched.heuristics.taskgraph.slaq import gains

#: One GPU; job 0 runs from 0 on, job 1 comes at 5 and job 2 at 6; iterations of one tick, 100 each.
LOAD = jobs_of([[(1, 1)]], [(0, 0, 100), (5, 0, 100), (6, 0, 100)], nodes=[(1,)])
#: Five iterations of job 0 are done at 5, and its losses are 1 / (k + 1): 1, 1/2, ..., 1/6.
FALLING = [round(10**6 / (k + 1)) for k in range(6)]


def at(time, losses):
    """What is seen of LOAD at a time, with these losses of job 0."""
    script = {0: {"start": [(0, 0)], "wake_at": 5}, 5: {"wake_at": 6}, 6: {"wake_at": 7}}
    seen = seen_at(LOAD, time, script, pausing="keep")
    count = len(losses)
    return seen.replace(sample_job=[0] * count, sample_iteration=list(range(count)), sample_loss=losses)


def first(snapshot, rule):
    """The job that holds the GPU after the round."""
    plan = api.solve(snapshot, rule).plan
    assert snapshot.violations(plan) == []
    return plan.start_task.tolist() or [0]


def test_slaqs_gain_is_the_predicted_reduction_over_the_largest_so_far():
    """Four more iterations: 1/6 - 1/10 of losses whose largest fall was 1/2; of the other job nothing is known."""
    jobs, found = gains(at(5, FALLING), np.array([4.0, 4.0]))
    assert (jobs.tolist(), found.tolist()) == ([0], pytest.approx([(1 / 6 - 1 / 10) / 0.5], rel=0.05))


def test_slaq_serves_the_new_job_and_then_whoever_gains_most():
    assert first(at(5, FALLING), "slaq") == [1]
    assert first(at(5, []), "slaq") == [0], "of both nothing is known: the one that runs goes on"
    flat = at(5, []).replace(
        sample_job=[0] * 6 + [1] * 3,
        sample_iteration=[0, 1, 2, 3, 4, 5, 0, 1, 2],
        sample_loss=[*FALLING, 10**6, 500_000, 499_000],
        finished=[5, 2],
        home=[0, 0],
        last_end=[5, 5],
    )
    assert first(flat, "slaq") == [0], "job 1 has fallen as far at most, and hardly falls any more"


def test_slaq_without_preemption_leaves_running_jobs_on_their_nodes():
    assert api.solve(at(5, FALLING), "slaq:queueing=held").plan.pause_task.tolist() == []
    assert api.simulate(LOAD, "slaq:queueing=held").jobs["pauses"].tolist() == [0, 0, 0]


def test_optimus_needs_iterations_until_one_brings_too_little():
    """1/n - 1/(n + 1) is below 0.01 from n = 10 on: five more, of the 95 that are left."""
    found = needed(at(5, FALLING), 0.01).tolist()
    assert found[0] == pytest.approx(5, abs=0.6)
    assert found[1] == 100
    assert needed(at(5, FALLING), 0.0).tolist() == [95, 100]


def test_optimus_serves_the_job_that_is_done_soonest():
    """Job 0 needs 5 more by its losses and 95 without them; job 1 as many as it has, 100 or 50 ticks."""
    assert first(at(5, FALLING), "optimus:threshold=0.01") == [0]
    short = at(5, []).replace(max_iterations=[100, 50], min_iterations=[100, 50], stop_after=[100, 50])
    assert first(short, "optimus") == [1]
    falling = short.replace(sample_job=[0] * 6, sample_iteration=list(range(6)), sample_loss=FALLING)
    assert first(falling, "optimus:threshold=0.01") == [0]


@pytest.mark.parametrize("rule", ["slaq", "optimus"])
def test_what_was_predicted_is_kept_for_an_epoch(rule):
    run = api.simulate(LOAD, f"{rule}:epoch=50", record=1.0)
    assert run.violations() == []
    memories = {d.time: d.memory for d in run.recorded}
    assert memories[5]["next"] == memories[6]["next"] == 50
    assert set(memories[6]["of"]) <= {"0"}, "of what came since nothing has been predicted"
    assert memories[100]["next"] == 100, "before the round at 100, which predicts anew"


def test_settings_are_checked():
    for rule, text in (("slaq", "epoch: 0, expected at least 1"), ("optimus", "epoch: 0, expected at least 1")):
        with pytest.raises(InvalidInput, match=text):
            api.simulate(LOAD, f"{rule}:epoch=0")
