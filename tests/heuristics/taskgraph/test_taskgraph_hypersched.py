"""HyperSched: rungs and cut-offs by hand, a run by hand, and deadlines."""

from __future__ import annotations

import numpy as np
import pytest
from jobs_examples import jobs_of, rows, seen_at

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph import hypersched
from mlsched.heuristics.taskgraph.hypersched import EMPTY, answer, lacking, left_behind, rungs_reached

RNG = np.random.default_rng(0)


def test_rungs_lie_at_powers():
    assert rungs_reached(np.array([0, 1, 3, 4, 15, 16]), 1, 4).tolist() == [-1, 0, 0, 1, 1, 2]
    assert rungs_reached(np.array([2, 3, 11, 12]), 3, 4).tolist() == [-1, 0, 0, 1]


def test_what_is_left_at_a_rung_stays_and_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(hypersched, "WINDOW", 2)
    kept = left_behind(EMPTY, ["7", "8"], [0, 1], [0.1, 0.3], 2)
    assert kept == {
        "rungs": [[0.1, 0.3], [0.3]],
        "cuts": [pytest.approx(0.2), -1.0],
        "left": {"7": [0.1], "8": [0.3, 0.3]},
    }
    later = left_behind(kept, ["7", "9"], [1, 0], [0.2, 0.5], 2)
    assert later["rungs"] == [[0.3, 0.5], [0.3, 0.2]]
    assert later["cuts"] == pytest.approx([0.4, 0.25])
    assert later["left"] == {"7": [0.1, 0.2], "9": [0.5]}
    assert kept["rungs"] == [[0.1, 0.3], [0.3]], "a memory is never changed"
    assert EMPTY == {"rungs": [], "cuts": [], "left": {}}


def test_below_the_best_quarter_of_any_rung():
    """Of 0, 1, 2, 3, 4 the best quarter begins at 3; a rung with one entry cuts nobody off."""
    names, left = [str(job) for job in range(5)], [float(job) for job in range(5)]
    rungs = left_behind(EMPTY, names, [0, 0, 1, 0, 0], left, 4)
    assert rungs["cuts"] == [3.0, -1.0]
    assert lacking(rungs).tolist() == [True, True, True, False, False]
    assert lacking(EMPTY).tolist() == []


def test_a_run_by_hand():
    """Two GPUs, three jobs of 8 ticks, rungs at 2, 4, 8, the best half goes on. After two: .08, .24 and .16.

    At 2, A is below the half way between .08 and .24: C, which is new, takes its GPU. At 4, C leaves .16, which is the
    median. At 6, C leaves .32 at the rung of 4, below the half way to B's .48: it is to pause, as A is, and of the two
    it goes on, since it runs. At 8 B ends, and A goes on.
    """
    tables = [[40_000 * slope * i for i in range(9)] for slope in (1, 3, 2)]
    load = jobs_of(
        [[(1, 1)]] * 3,
        [(0, job, 8) for job in range(3)],
        nodes=[(2,)],
        accuracy=tables,
        accuracy_table=[0, 1, 2],
        required=[10**6] * 3,
    )
    run = api.simulate(load, "hypersched:grace=2,factor=2")
    assert run.violations() == []
    seen = [(row["job"], row["start"], row["end"]) for row in rows(run.log)]
    assert seen == [(0, 0, 2), (1, 0, 8), (2, 2, 10), (0, 8, 14)]


def test_jobs_without_time_before_their_deadline_come_last():
    """One GPU, and two ticks to the first rung: job 0 reaches it before 4 from no later than 2, job 1 from 4, ..."""
    load = jobs_of(
        [[(2, 1)]], [(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 9)], nodes=[(1,)], deadline=[4, 6, 90, 99], gang=0
    )
    seen = seen_at(load, 0, {0: {"wake_at": 1}})
    for now, first in ((2, 0), (3, 1), (5, 2), (89, 3)):
        plan, _ = answer(seen.replace(now=now), memory=None, rng=RNG)
        assert plan.start_task.tolist() == [first]


def test_settings_are_checked():
    load = jobs_of([[(1, 1)]], [(0, 0, 1)])
    with pytest.raises(InvalidInput, match="factor: 1, expected at least 2"):
        api.simulate(load, "hypersched:factor=1")
