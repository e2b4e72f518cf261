"""The quality world: scenarios worked out by hand, and any registered solver under any interpretation.

A job is (submit, work [core-ms per iteration], losses after 0, 1, ... iterations); a row of the log (job, start, end,
cores, core-ms done, loss [10^-9]).
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.fields import UNLIMITED
from mlsched.core.registry import registry
from mlsched.instances.quality import Instance
from mlsched.simulation.quality import Options, QualityWorld, Workload
from mlsched.simulation.quality.strategies import options, workloads
from mlsched.simulation.quality.workload import NO_TARGET

N = 10**9
NAMES = [a.name for a in registry().available("quality") if a.called == "online"]


def workload(cores: int, jobs: list[tuple[int, int, list[int]]], others=(), **changes) -> Workload:
    submit, work, losses = map(list, zip(*jobs, strict=True))
    longest = max(map(len, losses))
    fields = {
        "cores": cores,
        "submit": submit,
        "work": work,
        "iterations": [len(one) - 1 for one in losses],
        "loss": [[v * N for v in one] + [0] * (longest - len(one)) for one in losses],
        "family": [0] * len(jobs),
        "weight": [1] * len(jobs),
        "most": [UNLIMITED] * len(jobs),
        "other_submit": [o[0] for o in others],
        "other_seconds": [o[1] for o in others],
        "other_cores": [o[2] for o in others],
    }
    return Workload(**{**fields, **changes})


def simulate(load: Workload, rule="fair", scheduling_events=None, **readings):
    run = api.simulate(load, rule, scheduling_events=scheduling_events, record=1.0, options=readings)
    assert run.violations() == []
    return run


def rows(*args, **kwargs) -> list[tuple[int, ...]]:
    return [tuple(map(int, row)) for row in simulate(*args, **kwargs).log.rows]


pytestmark = pytest.mark.filterwarnings("ignore:the offered load")

# -- work and losses --------------------------------------------------------------------------------------------------

#: Two iterations of 12 core-s: alone on 4 cores one takes 3 s.
ONE = workload(4, [(0, 12000, [10, 4, 2])])


def test_a_job_alone_gets_all_cores_without_a_question():
    run = simulate(ONE)
    assert [tuple(map(int, r)) for r in run.log.rows] == [(0, 0, 3, 4, 12000, 4 * N), (0, 3, 6, 4, 24000, 2 * N)]
    assert run.decisions == 0


def test_it_waits_for_the_tick_unless_the_clock_wakes_at_events():
    late = ONE.replace(submit=[1])
    assert [r[1:3] for r in rows(late)] == [(3, 6), (6, 9)]
    assert [r[1:3] for r in rows(late, scheduling_events="events")] == [(1, 7)]
    assert [r[1:3] for r in rows(late, scheduling_events="events+interval:3")] == [(1, 3), (3, 6), (6, 7)]


def test_parts_of_iterations_by_reading():
    load = ONE.replace(most=[2])
    fluid, carry = rows(load), rows(load, progress="carry")
    assert [r[4:] for r in fluid] == [(6000, 7 * N), (12000, 4 * N), (18000, 3 * N), (24000, 2 * N)]
    assert [r[4:] for r in carry] == [(6000, 10 * N), (12000, 4 * N), (18000, 4 * N), (24000, 2 * N)]


def test_a_job_that_ends_between_ticks_leaves_its_cores_idle_until_the_next():
    load = workload(4, [(0, 6000, [1, 0]), (0, 24000, [1, 0])])
    run = simulate(load, "fair")
    assert [tuple(map(int, r)) for r in run.log.rows] == [
        (0, 0, 3, 2, 6000, 0),
        (1, 0, 3, 2, 6000, 75 * N // 100),
        (1, 3, 6, 4, 18000, 25 * N // 100),
        (1, 6, 9, 4, 24000, 0),
    ]
    assert run.jobs["completion_s"].tolist() == [3.0, 7.5]
    assert run.summary()["makespan_s"] == 7.5


def test_one_core_each_leaves_nothing_to_ask():
    load = workload(2, [(0, 3000, [1, 0]), (0, 3000, [1, 0]), (0, 3000, [1, 0])])
    run = simulate(load, "slaq")
    assert run.decisions == 0
    assert [tuple(map(int, r))[:4] for r in run.log.rows] == [(0, 0, 3, 1), (1, 0, 3, 1), (2, 3, 6, 2)]
    assert run.jobs["start"].tolist() == [0, 0, 3]


def test_jobs_beyond_the_cores_wait_in_arrival_order_and_are_asked_for_as_waiting():
    load = workload(5, [(0, 3000, [1, 0])] * 3)
    run = simulate(load, "fair", least=2)
    first = run.recorded[0].instance
    assert first.waiting.tolist() == [0, 0, 1]
    assert [tuple(map(int, r))[:4] for r in run.log.rows] == [(0, 0, 3, 3), (1, 0, 3, 2), (2, 3, 6, 5)]


# -- target losses ----------------------------------------------------------------------------------------------------

#: Four iterations of 12 core-s, 3 s each on all cores; the target of 3 is passed by the second, which reports 2.
HINTED = workload(4, [(0, 12000, [10, 4, 2, 1, 0])], target=[3 * N])


def test_a_job_leaves_at_the_first_reported_loss_at_or_below_its_target():
    assert HINTED.last.tolist() == [2]
    assert rows(HINTED) == rows(HINTED, progress="carry") == [(0, 0, 3, 4, 12000, 4 * N), (0, 3, 6, 4, 24000, 2 * N)]
    assert rows(HINTED.replace(target=[2 * N])) == rows(HINTED)
    assert len(rows(HINTED.replace(target=[2 * N - 1]))) == 3
    assert len(rows(HINTED.replace(target=[-1]))) == 4  # never reached: all iterations
    assert simulate(HINTED).jobs["time_to_90_s"].tolist() == [6.0]  # of the reduction until it leaves, 10 to 2


def test_a_loss_that_passes_the_target_between_two_reports_does_not_count():
    """At 3 s half of the first iteration is done, and the loss between 10 and 4 is 7."""
    slow = HINTED.replace(target=[7 * N], most=[2])
    assert [r[4:] for r in rows(slow)] == [(6000, 7 * N), (12000, 4 * N)]


def test_its_cores_are_shared_among_the_others():
    load = workload(4, [(0, 6000, [8, 4, 2, 1]), (0, 6000, [8, 4, 2, 1])], target=[4 * N, 0])
    assert [r[:4] for r in rows(load)] == [(0, 0, 3, 2), (1, 0, 3, 2), (1, 3, 6, 4)]
    assert [r[:4] for r in rows(load.replace(target=[-N, -N]))][2:4] == [(0, 3, 6, 2), (1, 3, 6, 2)]


def test_what_the_scheduler_makes_of_a_target():
    """Job 0 has gone from 8 to 4 in one iteration when job 1 comes; 3 cores do 3/4 of the next one."""
    load = TWO.replace(target=[3 * N, 0])
    oracle = simulate(load, "slaq", information="oracle").recorded[0].instance
    assert oracle.gain[0].tolist() == [0, 125_000, 250_000, 375_000]  # the second iteration goes on to 2
    seen = {hints: simulate(load, "slaq", hints=hints).recorded[0].instance for hints in ("stop", "fit", "unknown")}
    assert seen["unknown"] == simulate(TWO.replace(target=[-N, -N]), "slaq").recorded[0].instance
    assert seen["unknown"].loss[0, 0] == 500_000  # two losses: as much again is expected, down to 0
    assert seen["stop"].loss[0, 0] == 200_000  # (4 - 3) / (8 - 3)
    assert seen["fit"].loss[0, 0] == 200_000
    assert (seen["stop"].gain[0] <= 250_000).all()  # what is above the target, of a largest change of 4
    assert (seen["fit"].gain[0] < seen["unknown"].gain[0]).tolist() == [False, True, True, True]


@settings(max_examples=draws(9, 60))
@given(load=workloads(), readings=options(), name=st.sampled_from(["slaq", "slaq-max-min", "fair"]))
def test_every_job_leaves_with_the_report_that_its_target_asks_for(load, readings, name):
    run = simulate(load, name, **readings)
    for job, (target, iterations) in enumerate(zip(load.target.tolist(), load.iterations.tolist(), strict=True)):
        served = max(row[4] for row in run.log.rows if row[0] == job)
        done, rest = divmod(served, int(load.work[job]))
        before = load.loss[job, :done].tolist()
        assert rest == 0
        assert target == NO_TARGET or all(loss > target for loss in before)
        assert done == iterations or load.loss[job, done] <= target


# -- non-ML jobs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("others", "held"), [("reservation", [2, 2, 8]), ("fair", [4, 4, 8])])
def test_other_jobs_shrink_the_cluster(others, held):
    """8 cores; a non-ML job asks for 6 of them from 0 to 6 s, an equal share would be 4."""
    load = workload(8, [(0, 36000, [1, 0])], others=[(0, 6, 6)])
    assert [r[3] for r in rows(load, others=others)] == held


def test_a_full_reservation_stops_everything_until_it_ends():
    load = workload(2, [(0, 6000, [1, 0])], others=[(0, 5, 9)])
    assert rows(load) == [(0, 6, 9, 2, 6000, 0)]
    assert rows(load, scheduling_events="events") == [(0, 5, 8, 2, 6000, 0)]


# -- what the scheduler is told ---------------------------------------------------------------------------------------

#: Job 0 has halved its loss once when job 1 comes at 3 s.
TWO = workload(4, [(0, 12000, [8, 4, 2, 1, 0]), (3, 12000, [8, 4, 2, 1, 0])], family=[1, 1])


def test_a_newcomers_first_iteration_is_worth_one_by_definition():
    instance = simulate(TWO, "slaq").recorded[0].instance
    assert instance.gain[1].tolist() == [0, 250_000, 500_000, 750_000]
    assert instance.loss[1].tolist() == [1_000_000, 875_000, 750_000, 625_000]
    flat = simulate(TWO, "slaq", newcomer="flat").recorded[0].instance
    assert flat.gain[1].tolist() == [0, 0, 0, 0]


def test_gains_are_predicted_from_what_was_reported_not_from_the_truth():
    seen = simulate(TWO, "slaq").recorded[0].instance
    changed = TWO.replace(loss=[[8 * N, 4 * N, 4 * N, 4 * N, 4 * N], TWO.loss[1].tolist()])
    other = simulate(changed, "slaq").recorded[0].instance
    assert seen == other
    assert simulate(changed, "slaq", information="oracle").recorded[0].instance.gain[0].tolist() == [0, 0, 0, 0]


def test_an_oracle_reads_the_curve():
    """Job 0 at iteration 1: the next one takes it from 4 to 2, half of its largest change; 3 cores do 3/4 of it."""
    instance = simulate(TWO, "slaq", information="oracle").recorded[0].instance
    assert instance.gain[0].tolist() == [0, 125_000, 250_000, 375_000]
    assert instance.loss[0].tolist() == [500_000, 437_500, 375_000, 312_500]
    by_range = simulate(TWO, "slaq", information="oracle", normalise="range").recorded[0].instance
    assert by_range.gain[0].tolist() == [0, 62_500, 125_000, 187_500]


def test_whole_iterations_count_the_work_carried_over():
    """Alone until 3 s, job 0 has done 18 of the 24 core-s of its first iteration: 2 of 6 cores complete it."""
    load = workload(6, [(0, 24000, [8, 4, 2, 1]), (3, 9000, [8, 4, 2, 1])])
    instance = simulate(load, "slaq", progress="carry").recorded[0].instance
    assert instance.gain.tolist() == [[0, 0, *[1_000_000] * 4], [0, 0, 0, *[1_000_000] * 3]]
    oracle = simulate(load, "slaq", progress="carry", information="oracle").recorded[0].instance
    assert (oracle.gain == instance.gain).all()
    fluid = simulate(load, "slaq").recorded[0].instance
    assert fluid.gain[0].tolist() == [0, 125_000, *[250_000] * 4]  # the last quarter of the first iteration


def test_spare_cores_are_shared_if_the_reading_says_so():
    def least_each(instance, *, rng):
        return instance.plan(np.full(len(instance.running), instance.least))

    load = workload(7, [(0, 30000, [1, 0])] * 3, most=[2, 9, 9])
    assert [r[3] for r in rows(load, least_each)[:3]] == [1, 1, 1]
    assert [r[3] for r in rows(load, least_each, spare="share")[:3]] == [2, 3, 2]


def test_a_plan_that_starves_everybody_ends_the_run_with_an_error():
    def nobody(instance, *, rng):
        return instance.plan(np.zeros(len(instance.running), dtype=np.int64))

    with pytest.raises(SolverError, match="stuck"):
        api.simulate(workload(4, [(0, 3000, [1, 0])] * 2), nobody, options={"least": 0})


def test_a_least_that_cannot_be_kept_is_refused():
    with pytest.raises(InvalidInput, match="least: 3"):
        QualityWorld(workload(8, [(0, 1, [1, 0])], most=[2]), Options(least=3))
    with pytest.raises(InvalidInput, match="least: 9"):
        QualityWorld(workload(8, [(0, 1, [1, 0])]), Options(least=9))


def test_the_clock_refuses_readings_it_does_not_know():
    with pytest.raises(InvalidInput, match="progress: 'lost'"):
        api.simulate(ONE, "fair", options={"progress": "lost"})
    with pytest.raises(InvalidInput, match="epoch: 0"):
        Options(epoch=0)


# -- any rule, any interpretation
# --------------------------------------------------------------------------------------------


@settings(max_examples=draws(9, 60))
@given(
    load=workloads(),
    readings=options(),
    name=st.sampled_from(NAMES),
    scheduling_events=st.sampled_from(["interval:3", "interval:1", "events", "events+interval:3"]),
)
def test_every_run_is_sound_repeatable_and_can_be_replayed(load, readings, name, scheduling_events):
    run = api.simulate(load, name, options=readings, scheduling_events=scheduling_events, record=1.0, seed=3)
    assert run.violations() == []
    again = api.simulate(load, name, options=readings, scheduling_events=scheduling_events, seed=3)
    assert again.log.rows == run.log.rows
    assert again.summary() == run.summary()
    assert len(run.recorded) == run.decisions
    for decision in run.recorded[:5]:
        assert run.replay(decision) == decision.plan
        assert Instance.from_json(decision.instance.to_json()) == decision.instance
        assert decision.instance.violations(decision.plan) == []
    json.dumps(run.to_json(), allow_nan=False)


@given(load=workloads())
def test_a_workload_survives_its_file(load, tmp_path_factory):
    path = tmp_path_factory.mktemp("quality") / "w.json"
    api.save(load, path)
    assert api.load(path) == load


@given(load=workloads(), readings=options(), cut=st.integers(1, 4))
def test_what_has_not_been_reported_is_not_asked_with(load, readings, cut):
    """The future of the losses may be rewritten: up to a job's iteration `cut` every question stays the same."""
    seen: list[Instance] = []

    def spy(instance, *, rng):
        seen.append(instance)
        return instance.plan(np.full(len(instance.running), instance.least))

    readings = {**readings, "information": "observed", "progress": "carry"}

    def asked(workload):
        """The run, and (time, question) of each decision."""
        seen.clear()
        run = api.simulate(workload, spy, options=readings, record=1.0)
        return run, [(d.time, instance) for d, instance in zip(run.recorded, seen, strict=True)]

    run, first = asked(load)
    future = load.loss.copy()
    future[:, cut + 1 :] -= 7 * N
    _, second = asked(load.replace(loss=future))  # jobs may reach their targets sooner: fewer questions later on
    reached = run.log.columns()
    beyond = reached["served"] > cut * load.work[reached["job"]]
    safe = int(reached["end"][beyond].min(initial=10**9))
    assert [one for one in first if one[0] < safe] == [one for one in second if one[0] < safe]
