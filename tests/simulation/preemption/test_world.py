"""The preemption world: every option on scenarios worked out by hand, and any rule under any interpretation.

A job is (submit, kind, execution, demand, grace); a row of the log (job, node, start, end, signal, finished).
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.errors import SolverError
from mlsched.core.registry import registry
from mlsched.instances.preemption import Instance, Plan
from mlsched.simulation.preemption import Workload
from mlsched.simulation.preemption.outcome import resumptions
from mlsched.simulation.preemption.strategies import any_plan, options, workloads

BE, TE = 0, 1


def workload(capacity: list[int], jobs: list[tuple[int, int, int, int, int]]) -> Workload:
    """One resource."""
    submit, te, execution, demand, grace = map(list, zip(*jobs, strict=True))
    return Workload(
        resources=["gpu"],
        node_capacity=[[c] for c in capacity],
        submit=submit,
        te=te,
        execution=execution,
        demand=[[d] for d in demand],
        grace=grace,
    )


def simulate(capacity, jobs, rule="fitgpp", scheduling_events=None, **readings):
    run = api.simulate(
        workload(capacity, jobs), rule, scheduling_events=scheduling_events, record=1.0, options=readings
    )
    assert run.violations() == []
    return run


def rows(*args, **kwargs) -> set[tuple[int, ...]]:
    return {tuple(map(int, row)) for row in simulate(*args, **kwargs).log.rows}


def wait(instance, *, rng):
    """Every TE job waits."""
    return Plan(te_node=[-1] * len(instance.te_demand), victims=[])


# -- one victim -------------------------------------------------------------------------------------------------------

ONE = ([4], [(0, BE, 600, 4, 120), (60, TE, 60, 4, 0)])


def test_a_victim_works_on_in_its_grace_period_and_comes_back():
    assert rows(*ONE) == {(0, 0, 0, 180, 60, 0), (1, 0, 180, 240, -1, 1), (0, 0, 240, 660, -1, 1)}


def test_or_it_pauses():
    assert rows(*ONE, during_grace="paused") == {
        (0, 0, 0, 180, 60, 0),
        (1, 0, 180, 240, -1, 1),
        (0, 0, 240, 780, -1, 1),
    }


def test_the_rescheduling_interval_counts_from_the_signal():
    run = simulate(*ONE)
    assert [column.tolist() for column in resumptions(run.log)] == [[60], [180]]
    assert run.summary()["rescheduling_interval_min"]["p50"] == 3.0
    assert run.summary()["preempted_share"] == 0.5
    assert run.summary()["preempted_share_of_be"] == 1.0
    assert run.jobs["slowdown"].tolist() == [1 + 60 / 600, 1 + 120 / 60]
    assert run.jobs["start"].tolist() == [0, 180]
    assert run.jobs["finish"].tolist() == [660, 240]


SHORT = ([4], [(0, BE, 150, 4, 120), (60, TE, 60, 4, 0)])


def test_a_victim_may_finish_within_its_grace_period():
    assert rows(*SHORT) == {(0, 0, 0, 150, 60, 1), (1, 0, 180, 240, -1, 1)}
    assert rows(*SHORT, scheduling_events="events") == {(0, 0, 0, 150, 60, 1), (1, 0, 150, 210, -1, 1)}
    assert simulate(*SHORT).summary()["rescheduling_interval_min"] is None


def test_but_not_when_it_pauses():
    assert rows(*SHORT, during_grace="paused") == {
        (0, 0, 0, 180, 60, 0),
        (1, 0, 180, 240, -1, 1),
        (0, 0, 240, 330, -1, 1),
    }


@pytest.mark.parametrize("during_grace", ["work", "paused"])
@pytest.mark.parametrize(("snapshot", "end"), [(180, 720), (1, 660), (421, 1080)])
def test_without_grace_period_it_rewinds_to_its_last_snapshot(during_grace, snapshot, end):
    jobs = [(0, BE, 600, 4, 0), (400, TE, 60, 4, 0)]
    assert rows([4], jobs, snapshot=snapshot, during_grace=during_grace) == {
        (0, 0, 0, 420, 420, 0),
        (1, 0, 420, 480, -1, 1),
        (0, 0, 480, end, -1, 1),
    }


# -- the queue --------------------------------------------------------------------------------------------------------


def test_first_fit_and_head_of_line_blocking():
    assert rows([2, 4, 4], [(0, BE, 60, 3, 0)]) == {(0, 1, 0, 60, -1, 1)}
    jobs = [(0, BE, 120, 3, 0), (0, BE, 60, 2, 0), (0, BE, 60, 1, 0)]
    assert rows([4], jobs) == {(0, 0, 0, 120, -1, 1), (1, 0, 120, 180, -1, 1), (2, 0, 120, 180, -1, 1)}


LATE = ([4], [(0, BE, 600, 4, 60), (30, BE, 60, 4, 60), (40, TE, 60, 4, 0)])


def test_te_jobs_go_to_the_top_and_victims_before_the_rest():
    assert rows(*LATE) == {
        (0, 0, 0, 120, 60, 0),
        (2, 0, 120, 180, -1, 1),
        (0, 0, 180, 660, -1, 1),
        (1, 0, 660, 720, -1, 1),
    }


def test_priority_alone_when_the_rule_suspends_nobody():
    assert rows(*LATE, rule=wait) == {(0, 0, 0, 600, -1, 1), (2, 0, 600, 660, -1, 1), (1, 0, 660, 720, -1, 1)}
    assert rows(*LATE, rule="fifo", te_first=True) == rows(*LATE, rule=wait)


def test_fifo_is_one_queue_without_priority():
    assert rows(*LATE, rule="fifo") == {(0, 0, 0, 600, -1, 1), (1, 0, 600, 660, -1, 1), (2, 0, 660, 720, -1, 1)}


def test_without_priority_a_te_job_asks_when_it_is_its_turn():
    # At 600 s job 1 starts and TE job 2 is next: job 1 gets its signal and finishes within its grace period.
    assert rows(*LATE, te_first=False) == {(0, 0, 0, 600, -1, 1), (1, 0, 600, 660, 600, 1), (2, 0, 660, 720, -1, 1)}


def test_a_job_may_be_suspended_in_the_instant_it_starts():
    jobs = [(0, BE, 60, 4, 0), (0, BE, 60, 4, 0), (0, TE, 60, 4, 0)]
    assert rows([4], jobs, te_first=False, preemption_limit=1) == {
        # Job 0 starts, job 1 blocks; at 60 s job 1 starts, the TE job takes its place at once, job 1 comes back.
        (0, 0, 0, 60, -1, 1),
        (1, 0, 60, 60, 60, 0),
        (2, 0, 60, 120, -1, 1),
        (1, 0, 120, 180, -1, 1),
    }


def test_victims_come_back_in_order_of_submission_not_of_release():
    jobs = [(0, BE, 600, 2, 120), (0, BE, 600, 2, 60), (30, BE, 60, 2, 0), (60, TE, 60, 4, 0), (60, TE, 60, 2, 0)]
    assert rows([4], jobs) == {
        (0, 0, 0, 180, 60, 0),
        (1, 0, 0, 120, 60, 0),  # job 1 releases first
        (3, 0, 180, 240, -1, 1),
        (4, 0, 240, 300, -1, 1),
        (0, 0, 240, 660, -1, 1),
        (1, 0, 300, 780, -1, 1),  # job 0 starts first
        (2, 0, 660, 720, -1, 1),
    }


TWICE = ([4], [(0, BE, 600, 4, 60), (60, TE, 60, 4, 0), (300, TE, 60, 4, 0)])


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0, {(0, 0, 0, 600, -1, 1), (1, 0, 600, 660, -1, 1), (2, 0, 660, 720, -1, 1)}),
        (1, {(0, 0, 0, 120, 60, 0), (1, 0, 120, 180, -1, 1), (0, 0, 180, 660, -1, 1), (2, 0, 660, 720, -1, 1)}),
        (
            2,
            {
                (0, 0, 0, 120, 60, 0),
                (1, 0, 120, 180, -1, 1),
                (0, 0, 180, 360, 300, 0),
                (2, 0, 360, 420, -1, 1),
                (0, 0, 420, 720, -1, 1),
            },
        ),
    ],
)
def test_a_job_is_preempted_at_most_so_often(limit, expected):
    assert rows(*TWICE, preemption_limit=limit) == expected
    if limit:
        assert rows(*TWICE, rule=f"fitgpp:P={limit}") == expected  # the rule's own P becomes the world's
    assert rows(*TWICE, preemption_limit="inf") == rows(*TWICE, preemption_limit=2)


# -- a TE job that waits for its victims ------------------------------------------------------------------------------

WAITING = ([4, 1], [(0, BE, 600, 3, 120), (60, TE, 60, 4, 0), (60, TE, 60, 1, 0), (60, BE, 60, 1, 0)])
FIRST = {(0, 0, 0, 180, 60, 0), (1, 0, 180, 240, -1, 1), (0, 0, 240, 660, -1, 1)}


@pytest.mark.parametrize(
    ("blocking", "others"),
    [
        ("all", {(2, 1, 180, 240, -1, 1), (3, 0, 240, 300, -1, 1)}),
        ("be", {(2, 1, 60, 120, -1, 1), (3, 0, 240, 300, -1, 1)}),
        ("none", {(2, 1, 60, 120, -1, 1), (3, 1, 120, 180, -1, 1)}),  # never the reserved unit of node 0
    ],
)
def test_what_it_holds_up(blocking, others):
    assert rows(*WAITING, blocking=blocking) == FIRST | others


ROOM = ([4, 4], [(0, BE, 600, 4, 300), (0, BE, 120, 4, 600), (60, TE, 60, 4, 0)])


def test_it_may_start_elsewhere():
    assert rows(*ROOM) == {
        (1, 1, 0, 120, -1, 1),
        (2, 1, 120, 180, -1, 1),
        (0, 0, 0, 360, 60, 0),
        (0, 0, 360, 600, -1, 1),
    }


def test_or_only_where_its_victims_are():
    assert rows(*ROOM, elsewhere=False) == {
        (1, 1, 0, 120, -1, 1),
        (0, 0, 0, 360, 60, 0),
        (2, 0, 360, 420, -1, 1),
        (0, 1, 360, 600, -1, 1),
    }


# -- the questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "demands"), [("head", [[[2]]]), ("all", [[[2], [2]]])])
def test_te_jobs_are_asked_for_one_by_one_or_jointly(asked, demands):
    jobs = [(0, BE, 600, 4, 60), (60, TE, 60, 2, 0), (60, TE, 60, 2, 0)]
    run = simulate([4], jobs, asked=asked)
    assert [d.instance.te_demand.tolist() for d in run.recorded] == demands
    assert {(int(r[0]), int(r[2])) for r in run.log.rows} == {(0, 0), (1, 120), (2, 120), (0, 180)}


def test_asked_jointly_the_first_may_wait_while_the_second_starts():
    def second_first(instance, *, rng):
        if len(instance.te_demand) == 2:
            return Plan(te_node=[-1, 0], victims=[0])
        return wait(instance, rng=rng)

    jobs = [(0, BE, 600, 4, 0), (60, TE, 60, 3, 0), (60, TE, 60, 2, 0)]
    assert rows([4], jobs, rule=second_first, asked="all") == {
        (0, 0, 0, 60, 60, 0),
        (2, 0, 60, 120, -1, 1),
        (1, 0, 120, 180, -1, 1),
        (0, 0, 180, 780, -1, 1),
    }


@pytest.mark.parametrize(("ask_again", "times"), [("change", [60, 180]), ("tick", [60, 120, 180, 240])])
def test_a_te_job_that_waits_is_asked_for_again(ask_again, times):
    # Job 1 leaves at 180 s, job 0 at 300 s; the arrival at 120 s changes nothing.
    jobs = [(0, BE, 300, 4, 0), (0, BE, 180, 1, 0), (60, TE, 60, 5, 0), (120, BE, 60, 5, 0)]
    run = simulate([5], jobs, rule=wait, ask_again=ask_again)
    assert [d.time for d in run.recorded] == times


@pytest.mark.parametrize(
    ("scheduling_events", "expected"),
    [
        ("events", {(0, 0, 0, 160, 70, 0), (1, 0, 160, 220, -1, 1), (0, 0, 220, 660, -1, 1)}),
        ("interval:60", {(0, 0, 0, 210, 120, 0), (1, 0, 240, 300, -1, 1), (0, 0, 300, 690, -1, 1)}),
    ],
)
def test_the_cadence_decides_when_signals_and_starts_happen(scheduling_events, expected):
    assert rows([4], [(0, BE, 600, 4, 90), (70, TE, 60, 4, 0)], scheduling_events=scheduling_events) == expected


def test_a_question_says_what_is_free_draining_and_running():
    jobs = [(0, BE, 600, 4, 60), (0, BE, 700, 4, 300), (60, TE, 60, 3, 0), (120, TE, 60, 1, 0)]
    run = simulate([4, 4], jobs, rule="lrtp", blocking="be", elsewhere=False, preemption_limit=7, grace_weight=1500)
    first, second = (d.instance for d in run.recorded)
    assert first == Instance(
        resources=["gpu"],
        node_capacity=[[4], [4]],
        node_free=[[0], [0]],
        node_draining=[[0], [0]],
        job_node=[0, 1],
        job_demand=[[4], [4]],
        job_grace=[60, 300],
        job_preemptions=[0, 0],
        job_remaining=[540, 640],
        te_demand=[[3]],
        preemption_limit=7,
        grace_weight=1500,
    )
    # Job 1 drains: no candidate, yet among the maxima; of its 4 units 3 are promised to TE job 2.
    assert second == Instance(
        resources=["gpu"],
        node_capacity=[[4], [4]],
        node_free=[[0], [0]],
        node_draining=[[0], [1]],
        job_node=[0],
        job_demand=[[4]],
        job_grace=[60],
        job_preemptions=[0],
        job_remaining=[480],
        te_demand=[[1]],
        preemption_limit=7,
        grace_weight=1500,
        max_size=10**9,
        max_grace=300,
    )
    assert (run.recorded[1].plan.te_node.tolist(), run.recorded[1].plan.victims.tolist()) == ([1], [])


def test_an_infeasible_plan_stops_the_run():
    def squeeze(instance, *, rng):
        return Plan(te_node=[0], victims=[])

    with pytest.raises(SolverError, match=r"squeeze: decision 0 at 60 s: infeasible plan: node 0"):
        simulate(*ONE, rule=squeeze)


def test_an_empty_workload_is_over_at_once():
    nothing = Workload(resources=["gpu"], node_capacity=[[1]], submit=[], te=[], execution=[], demand=[], grace=[])
    run = api.simulate(nothing, "fitgpp")
    assert run.violations() == []
    assert json.loads(json.dumps(run.to_json(), allow_nan=False))["summary"]["jobs"] == 0


# -- any workload, any interpretation, any rule
# ------------------------------------------------------------------------------


WAKES = st.sampled_from(["interval:60", "interval:7", "events", "events+interval:60"])


def check_run(load, rule, readings, scheduling_events, seed):
    """Sound, complete, replayable and reproducible."""
    run = api.simulate(load, rule, seed=seed, scheduling_events=scheduling_events, record=1.0, options=readings)
    assert run.violations() == []
    assert sorted(row[0] for row in run.log.rows if row[5]) == list(range(len(load.submit)))
    assert len(run.recorded) == run.decisions
    for decision in run.recorded:
        assert Instance.from_json(decision.instance.to_json()) == decision.instance  # passes every check
        assert run.replay(decision) == decision.plan
    again = api.simulate(load, rule, seed=seed, scheduling_events=scheduling_events, options=readings)
    assert again.log.rows == run.log.rows
    json.dumps(run.to_json(), allow_nan=False)


@pytest.mark.parametrize("rule", [a.name for a in registry().available("preemption") if a.kind != "exact"] + [any_plan])
@pytest.mark.filterwarnings("ignore:the offered load")
@given(load=workloads(), readings=options(), scheduling_events=WAKES, seed=st.integers(0, 9))
def test_every_run_of_every_rule_is_sound(rule, load, readings, scheduling_events, seed):
    check_run(load, rule, readings, scheduling_events, seed)


@pytest.mark.parametrize("rule", [a.name for a in registry().available("preemption", "exact") if a.called == "online"])
@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=8)
@given(load=workloads(nodes=2, jobs=7), readings=options(), scheduling_events=WAKES, seed=st.integers(0, 9))
def test_every_run_of_every_exact_solver_is_sound(rule, load, readings, scheduling_events, seed):
    check_run(load, rule, readings, scheduling_events, seed)
