"""The check of gangs in columns finds what the check segment by segment finds, and nothing in sound runs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from draws import draws
from jobs_examples import jobs_of

import mlsched
from mlsched.simulation.taskgraph.iterations import Options, Segments, replay, replay_gangs
from mlsched.simulation.taskgraph.iterations.replay_gangs import is_sound
from mlsched.simulation.wake import Wake

EVENTS = Wake(True, 0)


def log_of_jobs(seed):
    """Gangs on nodes of two sizes, some of several iterations, with pause costs, failures, and types of nodes."""
    rng = random.Random(seed)
    gangs = [[(rng.randint(1, 9), 1 + k % 2)] * (1 + k) for k in range(4)]
    jobs = sorted(
        (rng.randint(0, 30), rng.randrange(4), rng.randint(1, 3), rng.choice([10**6, 700_001])) for _ in range(14)
    )
    more = {"movement": "anytime", "pause_cost": [rng.choice([0, 1_500_000])] * 14, "tick_ms": 1000}
    if seed % 2:
        more |= {"failure_node": [0], "failure_from": [7], "failure_to": [13]}
    if seed % 3 == 0:
        more |= {"node_type": [0, 0, 1], "slowness": [[10**6, 1_500_000]], "type_names": ("a", "b")}
    return jobs_of(gangs, jobs, nodes=((4,), (4,), (4,)), **more)


def run_of(seed):
    jobs = log_of_jobs(seed)
    rule, params = [("fifo", {}), ("srpt", {"preempt": True}), ("las", {"quantum": 3.0})][seed % 3]
    options = {"restart": "scratch"} if seed % 4 == 1 else {}
    if rule == "las" and seed % 2:
        options["pausing"] = "restart"
    return jobs, mlsched.simulate(jobs, rule, options=options, **params)


def mutant(log, rng):
    """The log with one number, one node or one row changed."""
    rows, places = [list(row) for row in log.rows], [list(nodes) for nodes in log.places]
    at, kind = rng.randrange(len(rows)), rng.randrange(12)
    if kind == 10:
        places[at][rng.randrange(len(places[at]))] = rng.randrange(-1, 4)
    elif kind == 11:
        del rows[at], places[at]
    else:
        rows[at][kind] += rng.choice([-1, 1, 1, rng.randint(-9, 9), 10**6])
    return Segments([tuple(row) for row in rows], [tuple(nodes) for nodes in places], [], list(log.wakes))


@pytest.mark.parametrize("seed", range(draws(12, 300)))
def test_both_checks_agree_on_a_run_and_its_mutants(seed, monkeypatch):
    jobs, run = run_of(seed)
    assert is_sound(jobs, run.options, EVENTS, run.log)
    monkeypatch.setattr(replay_gangs, "is_sound", lambda *arguments: None)
    assert not replay.violations(jobs, run.options, EVENTS, run.log)
    rng, missed, found = random.Random(seed), [], 0
    for _ in range(40):
        log = mutant(run.log, rng)
        wrong = replay.violations(jobs, run.options, EVENTS, log)
        found += bool(wrong)
        if wrong and is_sound(jobs, run.options, EVENTS, log):
            missed.append(wrong[0])
        assert wrong or is_sound(jobs, run.options, EVENTS, log)
    assert found > 20
    assert not missed


def test_runs_with_graphs_and_numbers_beyond_64_bits_are_left_to_the_other_check():
    graph = jobs_of([[(4, 1), (4, 1)]], [(0, 0, 1)], edges=[(0, 1, 0, 5, 2)])
    long = jobs_of([[(2**30, 1)]], [(0, 0, 1)])
    for jobs in (graph, long):
        run = mlsched.simulate(jobs, "fifo")
        assert is_sound(jobs, Options(), EVENTS, run.log) is None
        assert run.violations() == []


def test_a_job_that_is_not_in_the_log_is_missed():
    jobs = jobs_of([[(4, 1)]], [(0, 0, 1), (1, 0, 1)])
    log = mlsched.simulate(jobs, "fifo").log
    assert not is_sound(jobs, Options(), EVENTS, Segments(log.rows[:1], log.places[:1]))
    assert not is_sound(jobs, Options(), EVENTS, Segments())
    assert np.array(log.rows).shape == (2, 10)
