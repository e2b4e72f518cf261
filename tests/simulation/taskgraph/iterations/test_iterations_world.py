"""The iteration engine: an example computed by hand, the simulator point by point, and runs at random."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import ends, jobs_of, play, rows
from snapshot_examples import greedy, scripted

from mlsched import api
from mlsched.api.adapters import as_rule
from mlsched.core.errors import SolverError
from mlsched.core.registry import registry
from mlsched.core.request import Setup
from mlsched.instances.taskgraph import Snapshot
from mlsched.simulation.taskgraph.iterations import Options
from mlsched.simulation.taskgraph.iterations.outcome import jobs as outcome
from mlsched.simulation.taskgraph.iterations.replay import violations
from mlsched.simulation.taskgraph.iterations.strategies import options, workloads
from mlsched.simulation.taskgraph.strategies import any_round, any_rule, wakes
from mlsched.simulation.wake import Wake

EVENTS = Wake(True, 0)

#: Job 0: a gang of two tasks (1 GPU each) that take 4 ticks in each of 3 iterations; its second task sends itself 5 MB,
#: which takes 2 ticks between nodes. Job 1: one task of 2 GPUs, 3 ticks, once, from 6 on. Two nodes of 2 GPUs.
PLAYED = jobs_of([[(4, 1), (4, 1)], [(3, 2)]], [(0, 0, 3), (6, 1, 1)], edges=[(1, 1, 1, 5, 2)], deadline=[13, 9])
#: At 6, half of the second iteration is done: the gang pauses, and job 1 has node 0 until 9. The gang goes on at 7 with
#: both tasks on node 1: its first task was on node 0 and moves for nothing, its second stays. The other half takes 2
#: ticks, until 9. At 11, after half of the third iteration, the second task moves to node 0 (what the second iteration
#: sent is there then), fetches until 13, and the other half takes 2 ticks: it ends at 15.
SCRIPT = {
    0: {"start": [(0, 0), (1, 1)]},
    6: {"pause": [0, 1], "start": [(2, 0)], "wake_at": 7},
    7: {"start": [(0, 1), (1, 1)], "wake_at": 11},
    11: {"migrate": [(1, 0)]},
}


def test_an_example_with_a_gang_a_pause_and_a_move():
    world, asked = play(PLAYED, scripted(SCRIPT), pausing="keep", movement="anytime")
    seen = [(r["job"], r["start"], r["end"], r["finished"], r["part"], r["delay"], r["nodes"]) for r in rows(world.log)]
    assert seen == [
        (0, 0, 6, 0, 0, 0, (0, 1)),
        (1, 6, 9, 0, 0, 0, (0,)),
        (0, 7, 11, 1, 500_000, 0, (1, 1)),
        (0, 11, 15, 2, 500_000, 2, (1, 0)),
    ]
    assert violations(PLAYED, Options(pausing="keep", movement="anytime"), EVENTS, world.log) == []
    at_seven = asked[7]
    assert (at_seven.finished.tolist(), at_seven.state.tolist()) == ([1, 0], [2, 2, 1])
    assert (at_seven.progress.tolist(), at_seven.home.tolist()) == ([2, 2, 0], [0, 1, -1])
    assert (at_seven.service[:, 0].tolist(), at_seven.executed.tolist()) == ([12, 2], [6, 1])
    assert at_seven.idle_since.tolist() == [6, 7]
    last = asked[11]
    assert (last.finished.tolist(), last.start.tolist(), last.last_end.tolist()) == ([2], [9, 9], [9, 9])
    assert (last.home.tolist(), last.on_time.tolist(), last.accuracy_seen.tolist()) == ([1, 1], [2], [400_000])
    table = outcome(PLAYED, world.log)
    assert table["completion"].tolist() == [15, 9]
    assert (table["waiting"].tolist(), table["on_time"].tolist(), table["met"].tolist()) == ([1, 0], [2, 1], [0, 1])
    assert (table["pauses"].tolist(), table["migrations"].tolist()) == ([1, 0], [1, 0])


def test_a_pause_can_lose_the_iteration_under_way():
    script = {0: SCRIPT[0], 6: SCRIPT[6], 7: {"start": [(0, 0), (1, 1)]}, 9: {"start": [(0, 0), (1, 1)]}}
    world, asked = play(PLAYED, scripted(script | {7: {"wake_at": 9}}), pausing="restart")
    assert asked[7].state.tolist() == [0, 0, 1]
    assert ends(world.log, 2) == [17, 9], "two whole iterations from 9 on"
    assert violations(PLAYED, Options(pausing="restart"), EVENTS, world.log) == []


CHAIN = [[(2, 1), (3, 1)]]


def test_cut_edges_make_the_first_iteration_and_the_later_ones_longer():
    """Task 0 (2) sends to task 1 (3), 1 tick away; task 1 to task 0 of the next iteration, 4 ticks away."""
    edges = [(0, 1, 0, 5, 1), (1, 0, 1, 7, 4)]
    jobs = jobs_of(CHAIN, [(0, 0, 3)], edges=edges)
    apart, _ = play(jobs, scripted({0: {"start": [(0, 0), (1, 1)]}}))
    assert [(r["first"], r["cycle"]) for r in rows(apart.log)] == [(6_000_000, 10_000_000)]
    assert ends(apart.log, 1) == [26]
    assert outcome(jobs, apart.log)["traffic"].tolist() == [3 * 5 + 2 * 7]
    together, _ = play(jobs, scripted({0: {"start": [(0, 0), (1, 0)]}}))
    assert ends(together.log, 1) == [15]
    assert outcome(jobs, together.log)["traffic"].tolist() == [0]


def test_after_a_pause_data_of_the_last_iteration_must_have_arrived_elsewhere():
    """The first iteration ends at 5; task 0 may begin the next on another node from 9 on, and the engine asks then."""
    jobs = jobs_of(CHAIN, [(0, 0, 2)], edges=[(0, 1, 0, 5, 0), (1, 0, 1, 7, 4)])
    script = {0: {"start": [(0, 0), (1, 0)], "wake_at": 5}, 5: {"pause": [0, 1]}, 9: {"start": [(0, 1), (1, 1)]}}
    world, asked = play(jobs, scripted(script), pausing="keep", movement="between_iterations")
    assert [asked[5].may_start_on(task).tolist() for task in (0, 1)] == [[True, False], [True, True]]
    assert asked[9].may_start_on(0).tolist() == [True, True]
    assert ends(world.log, 1) == [14]


def test_lengths_are_exact_and_ends_are_rounded_up():
    """Seven iterations of 3 x 0.333333 ticks end after 7 ticks, of 1.000001 after 8."""
    jobs = jobs_of([[(3, 1)]], [(0, 0, 7, 333_333), (0, 0, 7, 333_334)])
    world, _ = play(jobs, greedy())
    assert ends(world.log, 2) == [7, 8]


def test_tasks_of_a_job_that_is_no_gang_hold_nodes_and_wait_for_each_other():
    jobs = jobs_of([[(4, 2), (4, 2)]], [(0, 0, 1)], gang=0)
    script = {0: {"start": [(0, 0)], "wake_at": 3}, 3: {"start": [(1, 1)]}}
    world, asked = play(jobs, scripted(script))
    assert [(r["start"], r["end"], r["first"], r["outcome"]) for r in rows(world.log)] == [
        (0, 3, 0, 3),
        (3, 7, 4_000_000, 1),
    ]
    assert (asked[3].state.tolist(), asked[3].free.tolist(), asked[3].service.tolist()) == ([1, 0], [[0], [2]], [[6]])
    assert violations(jobs, Options(), EVENTS, world.log) == []


def test_a_task_moves_while_the_others_of_its_job_pause():
    jobs = jobs_of([[(4, 1), (4, 1)]], [(0, 0, 1)], gang=0)
    script = {
        0: {"start": [(0, 0), (1, 0)], "wake_at": 2},
        2: {"pause": [0], "migrate": [(1, 1)], "wake_at": 3},
        3: {"start": [(0, 1)]},
    }
    world, _ = play(jobs, scripted(script), pausing="keep", movement="anytime")
    assert [(r["start"], r["end"], r["part"], r["nodes"]) for r in rows(world.log)] == [
        (0, 2, 0, (0, 0)),
        (2, 3, 500_000, (-1, 1)),
        (3, 5, 500_000, (1, 1)),
    ]
    assert violations(jobs, Options(pausing="keep", movement="anytime"), EVENTS, world.log) == []


def test_jobs_stop_when_told_running_or_paused():
    jobs = jobs_of([[(4, 1)]], [(0, 0, 5), (0, 0, 5)], min_iterations=[1, 1])
    script = {
        0: {"start": [(0, 0), (1, 0)], "wake_at": 4},
        4: {"pause": [1], "wake_at": 5},
        5: {"stop": [(0, 2), (1, 1)]},
    }
    world, _ = play(jobs, scripted(script), pausing="keep")
    assert ends(world.log, 2) == [8, 4]
    assert violations(jobs, Options(pausing="keep"), EVENTS, world.log) == []
    assert outcome(jobs, world.log)["iterations"].tolist() == [2, 1]


def test_it_asks_only_when_a_job_that_waits_would_find_room():
    """Job 1, a gang of three, arrives at 1 and finds 2 of 4 GPUs free; job 2, a single, finds one at 2."""
    jobs = jobs_of([[(9, 1), (9, 1)], [(9, 1)] * 3, [(9, 1)]], [(0, 0, 1), (1, 1, 1), (2, 2, 1)])
    _, asked = play(jobs, greedy_gangs())
    assert sorted(asked) == [0, 2, 9]


def greedy_gangs():
    return as_rule(Setup(registry().solvers["taskgraph", "fifo"], ""))


@settings(max_examples=draws(15, 400))
@given(load=workloads(gpus=True), readings=options(), scheduling_events=wakes(), seed=st.integers(0, 99))
def test_rounds_at_random_make_sound_runs(load, readings, scheduling_events, seed):
    """Snapshots are validated as they are made (tests/conftest.py), rounds judged, the run replayed."""
    world, asked = play(load, any_rule(), scheduling_events=scheduling_events, **readings)
    assert violations(load, Options(**readings), Wake.parse(scheduling_events), world.log) == []
    if not asked:
        return
    snapshot = asked[sorted(asked)[seed % len(asked)]]
    plan, _ = any_round(snapshot, None, np.random.default_rng(seed))
    assert snapshot.violations(plan) == []
    assert Snapshot.from_json(snapshot.to_json()) == snapshot


RULES = sorted(a.name for a in registry().available("taskgraph") if a.called == "online")


@settings(max_examples=draws(9, 200))
@given(load=workloads(gpus=True), rule=st.sampled_from(RULES), readings=options(), scheduling_events=wakes())
def test_every_rule_makes_sound_runs_that_repeat(load, rule, readings, scheduling_events):
    run = api.simulate(load, rule, options=readings, scheduling_events=scheduling_events, record=1.0)
    assert run.violations() == []
    assert all(run.replay(decision) == decision.plan for decision in run.recorded)
    assert api.simulate(load, rule, options=readings, scheduling_events=scheduling_events).log.rows == run.log.rows


@settings(max_examples=draws(9, 200))
@given(
    load=workloads(), rule=st.sampled_from(RULES), at=st.integers(0, 2), factor=st.sampled_from([500_000, 3 * 10**6])
)
def test_snapshots_hold_no_truth(load, rule, at, factor):
    """Other lengths of jobs that come later, or that have not run an iteration yet, change no snapshot before."""
    job = min(at, len(load.arrival) - 1)
    other = load.replace(scale=np.where(np.arange(len(load.scale)) == job, factor, load.scale))
    first, second = (api.simulate(w, rule, record=1.0) for w in (load, other))
    known = [
        min((r["start"] + r["first"] // 10**6 for r in rows(run.log) if r["job"] == job), default=0)
        for run in (first, second)
    ]
    seen = [[d.instance for d in run.recorded if d.time < min(known)] for run in (first, second)]
    assert seen[0] == seen[1]


def test_a_rule_that_starts_nothing_gets_stuck():
    with pytest.raises(SolverError, match="the run is stuck"):
        play(PLAYED, scripted({}))
