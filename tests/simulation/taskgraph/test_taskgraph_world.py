"""The task-graph world: scenarios worked out by hand, and whatever is allowed under any option.

A row is (iteration, task, node, start, end, outcome): 1 finished, 0 paused, 2 moved on.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_examples import greedy, horizon, play, ready, rows, scripted

from mlsched import api
from mlsched.core import record
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.fields import UNLIMITED
from mlsched.core.registry import registry
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph import Options, TaskgraphWorld, Workload, outcome, replay
from mlsched.simulation.taskgraph.strategies import any_round, options, wakes, workloads
from mlsched.simulation.taskgraph.workload import never_start, overload
from mlsched.simulation.wake import Wake

#: Two tasks in a chain over two nodes; what the first sends takes 3 ticks to the other node.
CHAIN = horizon([(0, 1, [(4, 1), (2, 1)])], nodes=[(1,), (1,)], edges=[(0, 1, 0, 5, 3)])
#: Two iterations of a task of 4 ticks that costs 1 tick and 7 MB to move.
MOVER = horizon([(0, 2, [(4, 1)])], nodes=[(1,), (1,)], edges=[(0, 0, 1, 7, 1)], movement="between_iterations")


# -- runs, data and iterations ----------------------------------------------------------------------------------------


def test_a_task_starts_where_the_data_is_or_waits_until_it_has_arrived():
    _, near, asked = play(CHAIN, greedy())
    assert rows(near) == [(0, 0, 0, 0, 4, 1), (0, 1, 0, 4, 6, 1)]
    assert ready(asked[4]).tolist() == [[False, False], [True, False]]
    late = scripted({0: {"start": [(0, 0)]}, 7: {"start": [(1, 1)]}})
    load, far, asked = play(CHAIN, late)
    assert rows(far) == [(0, 0, 0, 0, 4, 1), (0, 1, 1, 7, 9, 1)]
    assert ready(asked[7]).tolist() == [[False, False], [True, True]]
    assert outcome.summary(load, far.log)["traffic"] == 5


def test_an_iteration_begins_when_the_one_before_is_complete():
    """Task 1 is done at 1, but its next run waits for task 0 although no edge says so."""
    _, world, _ = play(horizon([(0, 2, [(3, 1), (1, 1)])]), greedy())
    assert rows(world) == [(0, 0, 0, 0, 3, 1), (0, 1, 0, 0, 1, 1), (1, 0, 0, 3, 6, 1), (1, 1, 0, 3, 4, 1)]


def test_a_task_stays_at_home_unless_it_may_move_between_iterations():
    two = horizon([(0, 2, [(2, 1)]), (2, 1, [(3, 1)])], nodes=[(1,), (1,)])
    script = {0: {"start": [(0, 0)]}, 2: {"start": [(1, 0)]}, 5: {"start": [(0, 0)]}}
    _, world, asked = play(two, scripted(script))
    assert ready(asked[2]).tolist() == [[True, False], [True, True]]
    assert rows(world)[-1] == (1, 0, 0, 5, 7, 1)
    script = {0: {"start": [(0, 0)]}, 4: {"start": [(0, 0)]}}
    _, world, asked = play(MOVER, scripted({**script, 5: {"start": [(0, 1)]}} | {4: {}}))
    assert ready(asked[4]).tolist() == [[True, False]]
    assert ready(asked[5]).tolist() == [[True, True]]
    assert rows(world)[-1] == (1, 0, 1, 5, 9, 1)


def test_runs_that_take_no_time_end_at_once_and_what_follows_is_asked_for_at_the_same_tick():
    inst = horizon([(3, 2, [(0, 9), (0, 9), (2, 1)])], edges=[(0, 1, 0, 0, 0), (1, 2, 0, 0, 0)])
    _, world, _ = play(inst, greedy())
    assert [r[3:5] for r in rows(world)] == [(3, 3), (3, 3), (3, 5), (5, 5), (5, 5), (5, 7)]


def test_the_snapshot_says_what_has_been_seen():
    _, _, asked = play(
        horizon([(0, 2, [(4, 1), (2, 1)]), (1, 1, [(1, 1)])], edges=[(0, 1, 0, 0, 0)], nodes=[(1,)]),
        greedy(),
        true=[5, 2, 1],
    )
    seen = asked[5]
    assert seen.duration.tolist() == [5, 2, 1], "task 0 has run: its time is known now"
    assert asked[1].duration.tolist() == [4, 2, 1] if 1 in asked else True
    assert seen.state.tolist() == [3, 0, 0]
    assert seen.end.tolist() == [5, 0, 0]
    assert seen.service.tolist() == [[5], [0]]
    assert seen.executed.tolist() == [5, 0]
    assert seen.idle_since.tolist() == [5, 1]
    assert seen.first_start.tolist() == [0, -1]
    second = asked[7]
    assert second.finished.tolist() == [1, 0]
    assert second.home.tolist() == [0, 0, -1]
    assert second.last_end.tolist() == [5, 7, 0]
    assert second.accuracy_seen.tolist() == [200_000, 0]


def test_snapshots_are_whole_where_they_are_not_validated(monkeypatch):
    """Validation fills in fields that were left out; simulations run without it."""
    inst = horizon([(0, 2, [(2, 1)]), (1, 1, [(2, 2)])])
    found = play(inst, greedy())[2]
    monkeypatch.setattr(record, "validate_trusted", False)
    assert play(inst, greedy())[2] == found
    for rule in registry().available("taskgraph", "heuristic"):
        if rule.called == "online":
            assert api.simulate(Workload.of(inst), rule.name).violations() == []


def test_jobs_that_have_not_arrived_are_not_known_and_finished_ones_are_forgotten():
    inst = horizon([(0, 1, [(2, 1)]), (5, 1, [(2, 1)])])
    _, _, asked = play(inst, greedy())
    assert {time: seen.job_id.tolist() for time, seen in asked.items()} == {0: [0], 5: [1]}


def test_true_durations_are_only_seen_by_an_oracle():
    inst = horizon([(0, 1, [(4, 1)])])
    assert play(inst, greedy(), true=[9])[2][0].duration.tolist() == [4]
    assert play(inst, greedy(), true=[9], information="oracle")[2][0].duration.tolist() == [9]


# -- stopping, pausing, moving ----------------------------------------------------------------------------------------


def test_a_job_stops_when_told_and_may_be_told_otherwise():
    inst = horizon([(0, 3, [(2, 1)])], min_iterations=[1])
    starts = {t: {"start": [(0, 0)]} for t in (0, 2, 4)}
    stop = {0: {"start": [(0, 0)], "stop": [(0, 1)]}}
    assert len(rows(play(inst, scripted(starts))[1])) == 3
    assert len(rows(play(inst, scripted({**starts, **stop}))[1])) == 1
    back = {0: {"start": [(0, 0)], "stop": [(0, 2)]}, 2: {"start": [(0, 0)], "stop": [(0, 3)]}}
    load, world, _ = play(inst, scripted({**starts, **back}))
    assert world.log.stops == [(0, 2, 0), (0, 3, 2)]
    assert len(rows(world)) == 3
    assert replay.violations(load, Options(), Wake(True, 0), world.log) == []


def test_a_job_that_is_told_to_stop_where_it_stands_leaves_at_once():
    inst = horizon([(4, 3, [(2, 1)])], min_iterations=[0])
    load, world, _ = play(inst, scripted({4: {"stop": [(0, 0)]}}))
    assert rows(world) == []
    assert outcome.jobs(load, world.log)["completion"].tolist() == [4]


@pytest.mark.parametrize(("pausing", "end"), [("keep", 7), ("restart", 9)])
def test_a_paused_run_goes_on_or_starts_again(pausing, end):
    """4 ticks: two are done when it pauses at 2; it resumes at 5."""
    inst = horizon([(0, 1, [(4, 1)]), (2, 1, [(3, 1)])], nodes=[(1,)])
    script = {0: {"start": [(0, 0)]}, 2: {"pause": [0], "start": [(1, 0)]}, 5: {"start": [(0, 0)]}}
    load, world, asked = play(inst, scripted(script), pausing=pausing)
    assert rows(world) == [(0, 0, 0, 0, 2, 0), (0, 1, 0, 2, 5, 1), (0, 0, 0, 5, end, 1)]
    assert asked[5].state.tolist() == [2]
    assert asked[5].progress.tolist() == [2 if pausing == "keep" else 0]
    assert asked[5].preemptions.tolist() == [1]
    assert outcome.jobs(load, world.log)["waiting"].tolist() == [3, 0]


@pytest.mark.parametrize(("pausing", "end"), [("keep", 9), ("restart", 11)])
def test_a_run_that_goes_on_pays_for_it(pausing, end):
    """As above at 2 ticks a pause: it resumes at 5 and works from 7 on."""
    load = Workload.of(horizon([(0, 1, [(4, 1)]), (2, 1, [(3, 1)])], nodes=[(1,)])).replace(pause_cost=2)
    script = {0: {"start": [(0, 0)]}, 2: {"pause": [0], "start": [(1, 0)]}, 5: {"start": [(0, 0)]}}
    world = TaskgraphWorld.of(load, Options(pausing=pausing))
    trip = run(world, scripted(script), scheduling_events=Wake(True, 0), seed=0, record=1.0)
    assert rows(world) == [(0, 0, 0, 0, 2, 0), (0, 1, 0, 2, 5, 1), (0, 0, 0, 5, end, 1)]
    assert trip.recorded[0].instance.pause_cost.tolist() == [2]
    assert replay.violations(load, world.options, Wake(True, 0), world.log) == []
    free = load.replace(pause_cost=0)
    assert any("did" in sentence for sentence in replay.violations(free, world.options, Wake(True, 0), world.log))


def test_paused_again_before_it_works_it_has_done_nothing():
    """It resumes at 5 and is paused at 6, one tick short; it goes on at 8 and works from 10 to 12."""
    inst = horizon([(0, 1, [(4, 1)]), (2, 1, [(3, 1)]), (6, 1, [(2, 1)])], nodes=[(1,)])
    load = Workload.of(inst).replace(pause_cost=2)
    script = {
        0: {"start": [(0, 0)]},
        2: {"pause": [0], "start": [(1, 0)]},
        5: {"start": [(0, 0)]},
        6: {"pause": [0], "start": [(1, 0)]},
        8: {"start": [(0, 0)]},
    }
    world = TaskgraphWorld.of(load, Options(pausing="keep"))
    run(world, scripted(script), scheduling_events=Wake(True, 0), seed=0)
    assert [row[3:5] for row in rows(world) if row[1] == 0] == [(0, 2), (5, 6), (8, 12)]
    assert replay.violations(load, world.options, Wake(True, 0), world.log) == []


def test_a_run_says_what_it_assumed():
    load = api.workload("synthetic:mlfs", jobs=3, pause_cost=2)
    said = api.simulate(load, "fifo").assumed
    assert list(said) == ["shape", "pause cost", "movement", "tick"]
    assert said["pause cost"] == "tasks do not pause here"
    said = api.simulate(load, "fifo", options={"pausing": "keep"}).assumed
    assert (
        said["pause cost"] == "a task that resumes after a pause or a move occupies its node for 120 s without progress"
    )
    assert "pause_cost=2" in load.source
    free = api.workload("synthetic:mlfs", jobs=3)
    assert "none: tasks resume" in api.simulate(free, "fifo", options={"pausing": "restart"}).assumed["pause cost"]


def test_a_migration_keeps_the_work_and_costs_the_edge_to_itself():
    load, world, asked = play(
        MOVER.replace(max_iterations=[1], min_iterations=[1]),
        scripted({0: {"start": [(0, 0)], "wake_at": 3}, 3: {"migrate": [(0, 1)]}}),
        movement="anytime",
    )
    assert rows(world) == [(0, 0, 0, 0, 3, 2), (0, 0, 1, 3, 5, 1)]
    assert asked[3].state.tolist() == [1]
    assert outcome.summary(load, world.log)["traffic"] == 7


# -- cadence ----------------------------------------------------------------------------------------------------------


def test_starts_wait_for_ticks_while_runs_end_between_them():
    inst = horizon([(1, 2, [(4, 1)])])
    assert [r[3:5] for r in rows(play(inst, greedy(), scheduling_events="interval:3")[1])] == [(3, 7), (9, 13)]
    assert [r[3:5] for r in rows(play(inst, greedy())[1])] == [(1, 5), (5, 9)]


def test_a_rule_that_starts_nothing_is_stuck():
    with pytest.raises(SolverError, match=r"idle: at 2 s jobs wait, nothing runs.*stuck"):
        play(horizon([(2, 1, [(1, 1)])]), Rule("idle", lambda seen, memory, rng: (seen.round(), memory)))


def test_an_illegal_round_names_decision_and_time():
    with pytest.raises(SolverError, match="decision 0 at 0 s: infeasible plan: node 0: 3 gpu in use"):
        play(horizon([(0, 1, [(1, 3)])], nodes=[(2,), (3,)]), scripted({0: {"start": [(0, 0)]}}))


# -- workloads --------------------------------------------------------------------------------------------------------


def test_workloads_are_checked():
    inst = horizon([(0, 1, [(4, 1), (0, 1)])])
    with pytest.raises(InvalidInput, match=r"true_duration\[1\]: 2, expected 0 exactly where"):
        Workload(horizon=inst, true_duration=[1, 2])
    with pytest.raises(InvalidInput, match="true_duration: length is 1, expected 2"):
        Workload(horizon=inst, true_duration=[1])
    with pytest.raises(InvalidInput, match="horizon: has a past"):
        Workload.of(inst.replace(now=3))


def test_tasks_that_fit_nowhere_are_named_unless_their_job_may_leave():
    lost = horizon([(0, 1, [(1, 1)]), (0, 2, [(1, 1), (1, 3)])])
    assert never_start(Workload.of(lost)) == [
        "1 of 3 tasks fit no node that may run them; the first is task 2 of job 1 (3 gpu)"
    ]
    free = lost.replace(min_iterations=[1, 0])
    assert never_start(Workload.of(free)) == []
    load, world, _ = play(free, greedy())
    assert outcome.jobs(load, world.log)["iterations"].tolist() == [1, 0]
    assert replay.violations(load, Options(), Wake(True, 0), world.log) == []


def test_overload_is_announced_with_its_numbers():
    calm = Workload.of(horizon([(0, 1, [(4, 1)]), (50, 1, [(4, 1)])]))
    assert overload(calm) == []
    many = Workload.of(horizon([(t, 9, [(10, 2), (10, 2)]) for t in range(30)]))
    assert "the offered load on gpu is" in overload(many)[0]
    assert "times the cluster's capacity" in overload(many)[0]


@given(load=workloads(), readings=options(), scheduling_events=wakes(), seed=st.integers(0, 99))
def test_whatever_is_allowed_leaves_a_sound_log_and_is_repeatable(load, readings, scheduling_events, seed):
    cadence, rule = Wake.parse(scheduling_events), Rule("any", any_round)
    worlds = [TaskgraphWorld.of(load, Options(**readings)) for _ in range(2)]
    for world in worlds:
        run(world, rule, scheduling_events=cadence, seed=seed)
        assert not world.in_use.any()
    assert replay.violations(load, Options(**readings), cadence, worlds[0].log) == []
    assert worlds[0].log.rows == worlds[1].log.rows


@given(
    load=workloads(),
    movement=st.sampled_from(["none", "between_iterations"]),
    scheduling_events=wakes(),
    seed=st.integers(0, 99),
)
def test_without_pauses_a_run_is_a_timetable_and_the_judge_agrees_with_its_outcome(
    load, movement, scheduling_events, seed
):
    world = TaskgraphWorld.of(load, Options(movement=movement))
    run(world, Rule("any", any_round), scheduling_events=Wake.parse(scheduling_events), seed=seed)
    true = load.horizon.replace(duration=load.true_duration, movement=movement)
    columns = world.log.columns()
    plan = true.timetable(*(columns[name].tolist() for name in ("iteration", "task", "node", "start")))
    assert true.violations(plan) == []
    summary = outcome.summary(load, world.log)
    told = {name: value for name, value in true.evaluate(plan).items() if name in summary}
    assert {name: summary[name] for name in told} == told
    assert {"total_jct", "makespan"} <= set(told)


@settings(max_examples=15)
@given(load=workloads(), readings=options(), seed=st.integers(0, 99), data=st.data())
def test_what_has_not_happened_yet_is_not_asked_with(load, readings, seed, data):
    """Change what lies ahead - later arrivals, true durations of tasks that have not run - and nothing asked before
    changes."""
    readings = readings | {"information": "observed"}
    cut = data.draw(st.integers(0, 6))
    later = load.horizon.arrival > cut
    changed = load.horizon.replace(
        arrival=np.where(later, load.horizon.arrival + 5, load.horizon.arrival),
        deadline=np.where(later, UNLIMITED, load.horizon.deadline),
        urgency=np.where(later, 7, load.horizon.urgency),
    )
    asked = []
    for horizon_ in (load.horizon, changed):
        world = TaskgraphWorld(horizon_, load.true_duration, Options(**readings))
        trip = run(world, Rule("any", any_round), scheduling_events=Wake.parse("events"), seed=seed, record=1.0)
        asked.append([d.instance for d in trip.recorded if d.time <= cut])
    assert asked[0] == asked[1]
