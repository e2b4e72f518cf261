"""What policies of rounds are told of a snapshot, number by number, and what they make of it at one decision."""

from __future__ import annotations

import numpy as np
import pytest
from mlf_examples import snapshot

from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph.states import PAUSED
from mlsched_rounds.heuristics.shares import POLICIES, Readings
from mlsched_rounds.heuristics.taskgraph import _rounds, gavel, round_by_round

M = 10**6
WAITS: dict[str, int] = {}


def seen(tasks, *, slowness=(M, 2 * M), jobs=(), **changes):
    """Jobs of one task, given by its columns and GPUs, on a node of four GPUs of each of two types."""
    columns = [*jobs, *({} for _ in tasks[len(jobs) :])]
    given = {"simulator": "iterations", "pausing": "keep", "movement": "anytime", "tick_ms": 1000} | changes
    return snapshot(
        100,
        [({"max_iterations": 10} | job, [((gpus,), task)]) for job, (gpus, task) in zip(columns, tasks, strict=True)],
        **{"nodes": [(4,), (4,)], "node_type": [0, 1], "slowness": [slowness], "gpu_unit": 0, **given},
    )


def told(snap):
    placer = Placer(snap, "most", "auto", rates=True)
    return placer, _rounds.typed(placer, "gavel")


@pytest.mark.parametrize(("seconds", "end"), [(1, 101), (60, 101), (61, 102), (90, 102), (120, 102), (150, 103)])
def test_a_round_lasts_its_seconds_in_whole_ticks_and_no_less(seconds, end):
    assert _rounds.round_ends(seen([(1, WAITS)], tick_ms=60_000), seconds) == end


def test_a_share_of_a_gpu_counts_as_one():
    jobs = told(seen([(500, WAITS), (1000, WAITS), (2000, WAITS)], nodes=[(4000,)] * 2, resources=("gpu_milli",)))[1]
    assert jobs.gpus.tolist() == [1, 1, 2]
    assert jobs.capacity.tolist() == [4, 4]


@pytest.mark.parametrize(
    ("movement", "been"), [("none", [0, 0.5]), ("between_iterations", [0, 0.5]), ("anytime", [1, 0.5])]
)
def test_there_is_a_rate_only_where_a_job_may_go_on(movement, been):
    """Two jobs that have been on the second type: one runs, one has paused; and one that waits."""
    tasks = [(1, {"node": 1}), (1, {"state": PAUSED, "node": 1, "home": 1}), (1, WAITS)]
    jobs = told(seen(tasks, jobs=[{"finished": 2}] * 2, movement=movement))[1]
    assert jobs.rate.tolist() == [been, been, [1, 0.5]]
    assert jobs.kind.tolist() == [1, -1, -1]
    assert jobs.last.tolist() == [1, 1, -1]


@pytest.mark.parametrize("gang", [0, 1])
@pytest.mark.parametrize(("kind", "fill", "node"), [(-1, [0], 1), (0, [], 0), (1, [], 1)])
def test_jobs_start_on_their_type_and_where_room_is_left_on_the_fastest(gang, kind, fill, node):
    for tasks in (1, 2):
        job = ({"max_iterations": 10, "gang": gang}, [((1,), WAITS)] * tasks)
        given = {"simulator": "iterations", "pausing": "keep", "movement": "anytime", "tick_ms": 1000, "gpu_unit": 0}
        typed = {"node_type": [0, 1], "slowness": [(2 * M, M)]}
        placer, jobs = told(snapshot(100, [job], nodes=[(4,), (4,)], **given, **typed))
        kinds, rest = np.array([kind]), np.array(fill, dtype=np.int64)
        assert _rounds.carry_out(placer, jobs, kinds, rest, anew=True) == []
        assert placer.starts == [(task, node) for task in range(tasks)]


# -- gavel ------------------------------------------------------------------------------------------------------------


def mechanism(jobs, policy, memory=None):
    return gavel._Mechanism(jobs, POLICIES[policy], 180.0, [], memory or {})


def test_accounts_are_opened_with_half_a_round():
    snap = seen([(1, WAITS)])
    memory = gavel.answer(snap, memory=None, rng=np.random.default_rng(0), round=300.0)[1]
    assert memory["time"] == [[150.0, 150.0]]


@pytest.mark.parametrize(("policy", "rate"), [("max_min_perf", [1, 0.5]), ("max_min", [1, 1])])
def test_only_policies_that_know_rates_are_told_them(policy, rate):
    asked = mechanism(told(seen([(1, WAITS)]))[1], policy)._question()
    assert asked.rate.tolist() == [rate]


@pytest.mark.parametrize(("policy", "kinds"), [("max_min_perf", {0}), ("max_min", {0, 1})])
def test_who_knows_no_rates_fills_types_in_any_order(policy, kinds):
    snap = seen([(1, WAITS)])
    found = set()
    for seed in range(20):
        due = mechanism(told(snap)[1], policy)
        due.reset_where_due(snap, 0.0, Readings(0, "drawn", "interior"))
        found |= set(due.kinds(np.random.default_rng(seed), anew=True).tolist())
    assert found == kinds


def test_who_lacks_most_of_its_share_is_first_to_take_the_room_that_is_left():
    """Shares of .2, .6 and .4 of the first type, on which the second has been for 540 s and the others never."""
    jobs = told(seen([(4, WAITS)] * 3))[1]
    memory = {"reset": 0.0, "name": [0, 1, 2], "ran": [0, 0, 0], "known": [True] * 3, "deficit": [[0.0, 0.0]] * 3}
    memory |= {"time": [[180.0, 180.0], [720.0, 180.0], [180.0, 180.0]], "share": [[0.2, 0], [0.6, 0], [0.4, 0]]}
    assert mechanism(jobs, "max_min_perf", memory).queue().tolist() == [2, 0, 1]


# -- round-by-round ---------------------------------------------------------------------------------------------------


def test_a_rule_of_rounds_is_asked_what_the_snapshot_says():
    """One job is on two GPUs of the second type, a second into the fourth of its 10 iterations of 3 s; one waits."""
    tasks = [(2, {"node": 1, "duration": 3, "start": 99}), (1, {"duration": 3})]
    snap = seen(tasks, jobs=[{"finished": 3}], pause_cost=[5, 5])
    instance, kind = round_by_round._question(told(snap)[1], 60.0)
    assert kind.tolist() == instance.config_type.tolist() == [0, 0, 1, 1]
    assert instance.config_gpus.tolist() == [1, 2, 1, 2]
    assert instance.rate.tolist() == [[0, 10**6, 0, 5 * 10**5], [10**6, 0, 5 * 10**5, 0]]
    assert instance.remaining.tolist() == [20_000, 30_000]
    assert instance.done.tolist() == [10_000, 0]
    assert instance.current.tolist() == [3, -1]
    assert (instance.length, instance.pause) == (60_000, 5_000)


def test_what_a_pause_costs_counts_where_a_job_runs_on_another_type():
    """Jobs of the same age: on the other type the cost is that of the rate and of what a restart loses."""
    costs = []
    for pause in (0, 50):
        snap = seen([(1, {"node": 1}), (1, WAITS)], pause_cost=[pause] * 2)
        costs.append(round_by_round._question(told(snap)[1], 60.0)[0].goodput_cost)
    assert costs[0][0, 0] < costs[1][0, 0]
    assert costs[0][0, 1] == costs[1][0, 1]
    assert costs[0][1].tolist() == costs[1][1].tolist()


def test_the_first_configuration_is_one_as_well():
    jobs = told(seen([(1, WAITS)]))[1]
    assert round_by_round._kinds(jobs, "sia", np.random.default_rng(0), 60.0).tolist() == [0]
