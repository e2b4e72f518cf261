"""The workers world: scenarios worked out by hand, and any rule under any interpretation.

The cluster has 4 slots; a worker takes one, a PS none. An iteration takes 12 s / w, or as the test says.
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
from mlsched.core.registry import registry
from mlsched.instances.workers import NEVER, Instance, Plan
from mlsched.simulation.workers import Options, WorkersWorld, Workload
from mlsched.simulation.workers.strategies import options, workloads

S = 10**9
#: Rules that answer at once and always let somebody train.
RULES = ["optimus", "fair", "drf", "srpt", "marginal-gain"]


def workload(jobs, iteration=((12 * S,), (6 * S,), (4 * S,), (3 * S,)), capacity=4, **changes) -> Workload:
    """jobs: (submit [s], iterations)."""
    submit, iterations = map(list, zip(*jobs, strict=True))
    fields = {
        "resources": ("slots",),
        "models": ("m",),
        "capacity": [capacity],
        "worker_demand": [[1]],
        "ps_demand": [[0]],
        "iteration": [[list(row) for row in iteration]],
        "submit": [1000 * s for s in submit],
        "model": [0] * len(jobs),
        "iterations": iterations,
    }
    return Workload(**{**fields, **changes})


def share(instance, *, rng):
    """The slots in equal parts; the earlier jobs get what is over."""
    each, more = divmod(int(instance.capacity[0]), len(instance.waiting))
    workers = [each + (j < more) for j in range(len(instance.waiting))]
    return Plan(workers=workers, ps=[min(1, w) for w in workers])


def simulate(load: Workload, rule=share, scheduling_events=None, **readings):
    run = api.simulate(load, rule, scheduling_events=scheduling_events, record=1.0, options=readings)
    assert run.violations() == []
    return run


def rows(*args, **kwargs) -> list[tuple[int, ...]]:
    """(job, start, end [s], workers, left [thousandths])."""
    return [(r[0], r[1] / 1000, r[2] / 1000, r[3], r[5]) for r in _by_start(simulate(*args, **kwargs))]


def _by_start(run):
    return [tuple(map(int, row)) for row in zip(*run.log.columns().values(), strict=True)]


def given_workers(*plans):
    """A rule that gives these workers (and a PS to each that has some), decision after decision."""
    left = list(plans)

    def rule(instance, *, rng):
        workers = left.pop(0)
        return Plan(workers=list(workers), ps=[min(1, w) for w in workers])

    return rule


# -- training phases --------------------------------------------------------------------------------------------------


def test_a_job_alone_trains_to_its_end_in_one_phase():
    assert rows(workload([(5, 2)])) == [(0, 5, 11, 4, 0)]


def test_an_arrival_ends_the_phase_and_costs_the_iteration_that_was_started():
    """Alone 3 s per iteration; at 7 s two are done and the third is lost. Then 6 s per iteration for both."""
    load = workload([(0, 4), (7, 1)])
    assert rows(load) == [(0, 0, 7, 4, 2000), (0, 7, 13, 2, 1000), (1, 7, 13, 2, 0), (0, 13, 16, 4, 0)]
    assert simulate(load).jobs["lost"].tolist() == pytest.approx([1 / 3, 0])


def test_without_the_floor_it_is_not_lost():
    load = workload([(0, 4), (7, 1)])
    assert rows(load, floor="never") == [
        (0, 0, 7, 4, 1667),
        (0, 7, 13, 2, 667),
        (1, 7, 13, 2, 0),
        (0, 13, 15.001, 4, 0),
    ]


def test_a_job_that_keeps_what_it_has_loses_nothing_where_only_changes_cost():
    load = workload([(0, 4), (7, 1)])
    plans = [(2,), (2, 2), (2,)]
    assert rows(load, given_workers(*plans), floor="changed") == [(0, 0, 24, 2, 0), (1, 7, 13, 2, 0)]
    assert rows(load, given_workers(*plans, (2,))) == [
        (0, 0, 7, 2, 3000),
        (0, 7, 13, 2, 2000),
        (1, 7, 13, 2, 0),
        (0, 13, 25, 2, 0),
    ]
    assert rows(load, given_workers((4,), (2, 2), (2,)), floor="changed") == [
        (0, 0, 7, 4, 2000),
        (0, 7, 19, 2, 0),
        (1, 7, 13, 2, 0),
    ]


def test_optimus_waits_for_its_tick_and_leaves_workers_idle_until_it():
    """The job comes at 5 s, starts at 10, and is re-scheduled at every tick."""
    load = workload([(5, 6)])
    assert rows(load, "optimus", scheduling_events="interval:10") == [(0, 10, 20, 4, 3000), (0, 20, 29, 4, 0)]
    late = workload([(5, 6), (21, 1)])
    assert rows(late, "optimus", scheduling_events="interval:10")[-1] == (1, 30, 33, 4, 0)
    assert rows(late, "optimus", scheduling_events="events+interval:10")[:3] == [
        (0, 5, 10, 4, 5000),
        (0, 10, 20, 4, 2000),
        (0, 20, 21, 4, 2000),
    ]


def test_milliseconds_round_a_completion_up_once():
    """3 iterations of 1/3 s and a little: one millisecond more than a second."""
    load = workload([(0, 3)], iteration=((333_333_334,),), capacity=1)
    assert rows(load) == [(0, 0, 1.001, 1, 0)]
    assert rows(load.replace(iteration=[[[333_333_333]]])) == [(0, 0, 1.0, 1, 0)]


# -- window and backlog -----------------------------------------------------------------------------------------------


def test_jobs_beyond_the_window_wait_and_wake_nobody():
    load = workload([(0, 2), (1, 2), (2, 2), (3, 2)])
    run = simulate(load, window=2)
    assert [d.time for d in run.recorded] == [0, 1000, 13000]
    assert [(len(d.instance.waiting), d.instance.backlog) for d in run.recorded] == [(1, 0), (2, 0), (2, 0)]
    assert [(r[0], r[1], r[2]) for r in run.log.rows if r[5] == 0] == [
        (0, 1000, 13000),
        (1, 1000, 13000),
        (2, 13000, 25000),
        (3, 13000, 25000),
    ]


def test_the_backlog_is_told():
    load = workload([(0, 2), (0, 9), (0, 2), (0, 2)])
    run = simulate(load, window=2)
    assert [(len(d.instance.waiting), d.instance.backlog) for d in run.recorded] == [(2, 2), (2, 1), (2, 0), (1, 0)]


def test_an_arrival_wakes_after_all_when_nobody_trains():
    load = workload([(0, 1), (9, 1)])
    assert rows(load, given_workers((0,), (4,), (4,)), window=1) == [(0, 9, 12, 4, 0), (1, 12, 15, 4, 0)]


def test_ticks_shorter_than_an_iteration_never_finish_one():
    """An iteration takes 3 s, and every tick loses it."""
    with pytest.raises(SolverError, match=r"at 2000 s: the last 1000 re-schedules .*\(floor=always\)"):
        api.simulate(workload([(0, 1)]), share, scheduling_events="interval:2")
    assert rows(workload([(0, 2)]), scheduling_events="interval:2", floor="changed") == [(0, 0, 6, 4, 0)]
    assert rows(workload([(0, 2)]), scheduling_events="interval:2", floor="never")[-1] == (0, 6, 6.006, 4, 0)


def test_a_run_in_which_everybody_waits_for_ever_is_an_error():
    with pytest.raises(SolverError, match=r"at 9 s jobs wait, nothing runs"):
        api.simulate(workload([(9, 1)]), given_workers((0,)))


# -- the question -----------------------------------------------------------------------------------------------------


def test_what_is_asked_is_what_will_happen():
    load = workload([(0, 4), (7, 1)], iteration=((12 * S, NEVER), (6 * S, 5 * S)))
    first, second, _ = (d.instance for d in simulate(load, given_workers((2,), (2, 2), (2,))).recorded)
    assert first.cost.tolist() == [[[48_000, NEVER], [24_000, 20_000]]]
    assert second.remaining.tolist() == [3, 1]
    assert second.cost[:, 1, 1].tolist() == [15_000, 5_000]
    assert (second.current_workers.tolist(), second.current_ps.tolist()) == ([2, 0], [1, 0])
    assert second.waited.tolist() == [7000, 0]


def test_parts_of_iterations_are_asked_for_where_nothing_is_lost():
    instance = simulate(workload([(0, 4), (7, 1)]), floor="never").recorded[1].instance
    assert instance.remaining.tolist() == [2, 1]
    assert instance.cost[0, :, 0].tolist() == [20_004, 10_002, 6_668, 5_001]


# -- workloads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"submit": [5, 4]}, r"submit\[1\]: 4, expected at least submit\[0\] = 5"),
        ({"model": [0, 1]}, r"model\[1\]: 1, expected below 1"),
        ({"iterations": [1, 10**9]}, r"iterations\[1\] = 1000000000: take up to"),
        ({"iterations": [1, 0]}, r"iterations\[1\]: 0, expected >= 1"),
    ],
)
def test_workloads_are_checked(changes, message):
    with pytest.raises(InvalidInput, match=message):
        workload([(0, 1), (0, 1)], **changes)


def test_a_workload_that_can_never_end_is_refused():
    with pytest.raises(
        InvalidInput, match=r"1 of 1 jobs cannot train on 4 slots, whatever .* the first is job 0 \(m\)"
    ):
        api.simulate(workload([(0, 1)], worker_demand=[[5]]), "fair")
    with pytest.raises(InvalidInput, match="cannot train"):
        api.simulate(workload([(0, 1)], iteration=((NEVER,),)), "fair")


def test_overload_is_told_by_the_least_that_the_jobs_can_ask_for():
    """100 jobs of 12 slot-seconds, one per second, on 4 slots: three times what there is, with one worker each."""
    with pytest.warns(UserWarning, match=r"the offered load on slots is at least 3\.0\d times the cluster's capacity"):
        api.simulate(workload([(s, 1) for s in range(100)]), "fair")


@pytest.mark.parametrize("changes", [{"floor": "sometimes"}, {"window": -1}])
def test_unknown_readings_are_refused(changes):
    with pytest.raises(InvalidInput, match=f"{next(iter(changes))}: "):
        Options(**changes)


# -- any rule, any interpretation
# --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=draws(9, 60))
@given(
    load=workloads(),
    readings=options(),
    name=st.sampled_from(RULES),
    scheduling_events=st.sampled_from(["events", "events", "interval:8", "interval:9", "events+interval:8"]),
)
def test_every_run_is_sound_repeatable_and_can_be_replayed(load, readings, name, scheduling_events):
    run = api.simulate(load, name, options=readings, scheduling_events=scheduling_events, record=1.0, seed=3)
    assert run.violations() == []
    again = api.simulate(load, name, options=readings, scheduling_events=scheduling_events, seed=3)
    assert again.log.rows == run.log.rows
    assert len(run.recorded) == run.decisions
    for decision in run.recorded[:5]:
        assert run.replay(decision) == decision.plan
        assert Instance.from_json(decision.instance.to_json()) == decision.instance
    json.dumps(run.to_json(), allow_nan=False)
    table = run.jobs
    assert (table["completion_s"] >= table["training_s"] - 1e-9).all()
    assert all(0 <= share <= 1 for share in run.summary()["utilisation"].values())


@pytest.mark.filterwarnings("ignore:the offered load")
@pytest.mark.parametrize("name", [a.name for a in registry().available("workers") if a.called == "online"])
def test_every_registered_solver_runs(name):
    load = api.workload("synthetic:chic", jobs=3, rate=6.0, most_workers=3, most_ps=3, scale=0.4, least=3, most=6)
    if registry().solver("workers", name)[0].information == "oracle":
        pytest.skip("reads what a world does not tell")
    assert api.simulate(load, name, seed=1).violations() == []


@given(load=workloads())
def test_a_workload_survives_its_file(load, tmp_path_factory):
    path = tmp_path_factory.mktemp("workers") / "w.json"
    api.save(load, path)
    assert api.load(path) == load


def test_a_question_is_built_in_microseconds_not_validated():
    world = WorkersWorld(workload([(0, 1)]), Options())
    world.advance(0)
    assert world.ask().capacity is world.workload.capacity or np.array_equal(world.ask().capacity, [4])
