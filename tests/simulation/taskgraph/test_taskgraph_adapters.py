"""Rules answer horizons by rolling out, planners answer snapshots by receding: both ways, over whole instances."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_examples import greedy, horizon, play, scripted

from mlsched import api
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.fields import UNLIMITED
from mlsched.instances import strategies
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph import Options, TaskgraphWorld, Workload, outcome, replay
from mlsched.simulation.taskgraph.adapters import receding, residual, rollout
from mlsched.simulation.taskgraph.strategies import any_round, snapshots, workloads
from mlsched.simulation.wake import Wake

ANY = Rule("any", any_round)


# -- rollout ----------------------------------------------------------------------------------------------------------


@settings(max_examples=draws(24, 1000))
@given(instance=strategies.taskgraph(), seed=st.integers(0, 99))
def test_a_rolled_out_rule_is_feasible_whenever_anything_is(instance, seed):
    """Residual instances, movement and infeasible ones included: a plan exactly if brute force has one."""
    plan = rollout(instance, ANY, seed)
    best = api.solve(instance, "brute-force")
    if best.status == "infeasible":
        assert plan is None
        return
    assert instance.violations(plan) == []
    assert instance.evaluate(plan)["total_jct"] >= best.sort_key
    assert rollout(instance, ANY, seed) == plan


def test_a_stuck_rule_is_named():
    inst = horizon([(0, 1, [(4, 1)])])
    with pytest.raises(SolverError, match=r"idle: at 0 s jobs wait.*the run is stuck"):
        rollout(inst, Rule("idle", lambda seen, memory, rng: (seen.round(), memory)))


def test_jobs_are_revealed_at_their_arrival():
    inst = horizon([(0, 1, [(2, 1)]), (5, 1, [(2, 1)])])
    known = []

    def spy(seen, memory, rng):
        known.append((seen.now, seen.job_id.tolist()))
        return greedy().call(seen, memory, rng)

    rollout(inst, Rule("spy", spy))
    assert known == [(0, [0]), (5, [1])]


def test_a_residual_horizon_goes_on_where_it_stands():
    """Task 0 has run since 3 and task 1 waits for it; task 2 is at home on node 1, and its data arrives there at 6."""
    inst = horizon(
        [(0, 2, [(4, 1), (1, 1)]), (0, 2, [(1, 1)])],
        nodes=[(1,), (1,)],
        edges=[(0, 1, 0, 5, 2), (2, 2, 1, 1, 1)],
        now=5,
        finished=[0, 1],
        on_time=[0, 1],
        home=[-1, -1, 1],
        last_end=[0, 0, 5],
        fixed_task=[0],
        fixed_node=[0],
        fixed_start=[3],
        movement="between_iterations",
    )
    plan = rollout(inst, greedy())
    assert inst.violations(plan) == []
    rows = sorted(
        zip(plan.task.tolist(), plan.iteration.tolist(), plan.node.tolist(), plan.start.tolist(), strict=True)
    )
    assert rows == [(0, 0, 0, 3), (0, 1, 0, 8), (1, 0, 0, 7), (1, 1, 0, 12), (2, 1, 1, 5)]


# -- receding ---------------------------------------------------------------------------------------------------------


def brute(instance, objective="total_jct"):
    return api.solve(instance, "brute-force", objective=objective).plan


def test_the_residual_says_what_is_known_and_what_has_happened():
    inst = horizon(
        [(0, 2, [(4, 1), (2, 1)]), (1, 1, [(9, 1)]), (99, 1, [(1, 1)])],
        edges=[(0, 1, 0, 5, 2)],
        deadline=[20, UNLIMITED, 200],
    )
    _, _, asked = play(inst, greedy(), true=[4, 6, 9, 1])
    rest, shift = residual(asked[4])
    assert shift == 0
    assert rest.now == 4
    assert len(rest.arrival) == 2, "the third job has not arrived"
    fixed = zip(rest.fixed_task.tolist(), rest.fixed_node.tolist(), rest.fixed_start.tolist(), strict=True)
    assert list(fixed) == [(0, 0, 0), (2, 0, 1)]
    late, shift = residual(asked[10])
    assert late.finished.tolist() == [1]
    assert late.duration.tolist() == [4, 6], "seen once, no longer estimated"
    assert late.home.tolist() == [0, 0]


def test_a_run_beyond_its_estimate_ends_at_the_next_tick_and_one_that_was_short_is_moved_back():
    inst = horizon([(0, 1, [(3, 1), (9, 1)]), (5, 1, [(1, 1)])], nodes=[(2,)])
    _, _, asked = play(inst, greedy(), true=[8, 2, 1])
    rest, shift = residual(asked[5])
    assert shift == 0
    ends = dict(
        zip(rest.fixed_task.tolist(), (rest.fixed_start + rest.duration[rest.fixed_task]).tolist(), strict=True)
    )
    assert ends == {0: 6, 1: 2}


def test_what_others_hold_is_not_there():
    _, _, asked = play(horizon([(0, 1, [(3, 1)])], nodes=[(2,)]), greedy())
    crowded = asked[0].replace(in_use=[[1]])
    assert residual(crowded)[0].node_capacity.tolist() == [[1]]


def test_interrupted_runs_cannot_be_expressed():
    script = {0: {"start": [(0, 0)], "wake_at": 1}, 1: {"pause": [0], "wake_at": 2}, 2: {"start": [(0, 0)]}}
    _, _, asked = play(horizon([(0, 1, [(4, 1)])]), scripted(script), pausing="keep")
    with pytest.raises(InvalidInput, match="paused runs"):
        residual(asked[2])


@settings(max_examples=draws(15, 600))
@given(snapshot=snapshots(pausing="none", movement="given"))
def test_the_residual_is_feasible_and_what_is_kept_is_legal(snapshot):
    """As long as nothing pauses; the plan's starts of now that are kept are the plan's, later ones set the alarm."""
    rest, shift = residual(snapshot)
    seen = []

    def planner(question):
        seen.append(question)
        return rollout(question, ANY)

    plan = receding(snapshot, planner)
    assert seen == [rest]
    assert snapshot.violations(plan) == []
    timetable = planner(rest)
    rows = set(zip(timetable.task.tolist(), timetable.node.tolist(), (timetable.start - shift).tolist(), strict=True))
    starts = zip(plan.start_task.tolist(), plan.start_node.tolist(), strict=True)
    assert all((task, node, snapshot.now) in rows for task, node in starts)
    later = [start for _, _, start in rows if start > snapshot.now]
    assert plan.wake_at == min(later, default=0)


@settings(max_examples=draws(12, 400))
@given(
    load=workloads(jobs=2, nodes=2, tasks=3, runs=5), objective=st.sampled_from(["total_jct", "makespan", "traffic"])
)
def test_a_planner_on_the_clock_is_sound_and_optimal_where_everything_is_known(load, objective):
    """All jobs there from the start, true estimates, single iterations: re-planning keeps the first plan's value."""
    known = load.horizon.replace(
        arrival=np.zeros_like(load.horizon.arrival),
        max_iterations=np.ones_like(load.horizon.arrival),
        min_iterations=np.minimum(load.horizon.min_iterations, 1),
    )
    rule = Rule("brute", lambda seen, memory, rng: (receding(seen, lambda q: brute(q, objective)), memory))
    world = TaskgraphWorld.of(Workload.of(known), Options())
    run(world, rule, scheduling_events=Wake.parse("events"), seed=0)
    assert replay.violations(Workload.of(known), Options(), Wake.parse("events"), world.log) == []
    best = api.solve(known, "brute-force", objective=objective).sort_key
    # Traffic is left out of a summary where no edge has a volume; it is 0 then.
    assert outcome.summary(Workload.of(known), world.log).get(objective, 0) == best


@settings(max_examples=15)
@given(load=workloads(jobs=2, nodes=2, tasks=3, runs=5))
def test_a_planner_copes_with_wrong_estimates_and_late_arrivals(load):
    rule = Rule("brute", lambda seen, memory, rng: (receding(seen, brute), memory))
    world = TaskgraphWorld.of(load, Options())
    run(world, rule, scheduling_events=Wake.parse("events"), seed=0)
    assert replay.violations(load, Options(), Wake.parse("events"), world.log) == []


def test_no_plan_in_time_is_no_round():
    _, _, asked = play(horizon([(0, 1, [(3, 1)])]), greedy())
    assert receding(asked[0], lambda question: None) is None
    with pytest.raises(SolverError, match="infeasible: job 0 runs 0 iterations"):
        receding(asked[0], lambda question: question.timetable([], [], [], []))


# -- through the library ----------------------------------------------------------------------------------------------


def test_solve_and_simulate():
    inst = api.generate("taskgraph", seed=3)
    result = api.solve(inst, "srpt")
    assert result.status == "feasible"
    assert inst.violations(result.plan) == []
    assert result.sort_bound is None
    snapshot = play(inst, greedy())[2][int(inst.arrival.min())]
    for name in ("fifo", "brute-force", "cp-sat"):
        answer = api.solve(snapshot, name)
        assert answer.status == "feasible"
        assert answer.sort_keys == {}
        assert answer.sort_key is None
    for name in ("drf", "cp-sat", "brute-force"):
        finished = api.simulate(Workload.of(inst), name, record=1.0)
        assert finished.violations() == []
        assert all(finished.replay(d) == d.plan for d in finished.recorded)
    brute_jct = finished.summary()["total_jct"]
    assert brute_jct >= api.solve(inst, "brute-force").sort_key


def test_an_infeasible_horizon_has_no_rolled_out_plan():
    inst = horizon([(0, 1, [(1, 9)])])
    result = api.solve(inst, "fifo")
    assert result.status == "unknown"
    assert result.plan is None
