"""The task engine where the GPUs of a node are told apart: rules and planners on it, its log, and its replay check."""

from __future__ import annotations

import numpy as np
import pytest
from contended_examples import sharing
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from snapshot_examples import play
from taskgraph_examples import small

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched.instances.taskgraph import Instance
from mlsched.simulation.clock import Rule
from mlsched.simulation.taskgraph import Options, TaskgraphWorld, Workload, outcome
from mlsched.simulation.taskgraph.adapters import receding, residual
from mlsched.simulation.taskgraph.log import Log
from mlsched.simulation.taskgraph.replay import violations
from mlsched.simulation.taskgraph.strategies import PAST
from mlsched.simulation.taskgraph.workload import impossible
from mlsched.simulation.wake import Wake

EVENTS = Wake.parse("events")
RULES = [a.name for a in registry().available(problem="taskgraph", kind="heuristic")]


@settings(max_examples=draws(12, 500))
@given(instance=strategies.taskgraph(tasks=4, runs=8, apart=True), rule=st.sampled_from(("fifo", "srpt", "graphene")))
def test_rules_have_a_plan_exactly_if_there_is_one(instance, rule):
    """Residual instances included: runs under way keep their GPUs. The judge sees every plan and every round."""
    found = mlsched.solve(instance, rule)
    assert (found.plan is None) == (mlsched.solve(instance, "brute-force").status == "infeasible")


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_shares_gpus(rule):
    inst = mlsched.generate("taskgraph", "sharing", seed=1, runs=24, jobs=6)
    plan = mlsched.solve(inst, rule).plan
    assert (plan.gpu >= 0).any()


@settings(max_examples=draws(6, 200))
@given(instance=strategies.taskgraph(jobs=4, tasks=5, runs=9, apart=True), off=st.sampled_from([-1, 0, 2]))
def test_runs_that_pause_replay_without_a_fault(instance, off):
    """Least attained service takes GPUs from those that have attained more, and gives them back their own or none."""
    horizon = instance.replace(now=0, **dict.fromkeys(PAST, ()))
    assume(not impossible(horizon))
    true = np.where(horizon.duration == 0, 0, np.maximum(horizon.duration + off, 1))
    workload = Workload(horizon=horizon, true_duration=true)
    for name in ("las", "tiresias"):
        done = mlsched.simulate(workload, name, options={"pausing": "keep"})
        assert done.violations() == []


def test_a_planner_on_the_clock_keeps_the_value_of_its_first_plan():
    """The labels of a plan become the GPUs where they are, and what runs keeps its own when planning anew."""

    def planned(seen, memory, rng):
        return receding(seen, lambda rest: mlsched.solve(rest, "cp-sat", hint="none").plan), memory

    for number in range(draws(4, 60)):
        inst = sharing(number)
        once = np.ones_like(inst.arrival)
        fields = {"arrival": 0 * once, "min_iterations": once, "max_iterations": once, "now": 0}
        inst = inst.replace(**fields, **dict.fromkeys(PAST, ()))
        load, world, _ = play(inst, Rule("planned", planned))
        assert violations(load, Options(), EVENTS, world.log) == []
        assert outcome.summary(load, world.log)["total_jct"] == mlsched.solve(inst, "cp-sat").sort_key
        assert any(len(held) == 1 for held in world.log.gpus)


def two_parts(**changes) -> Instance:
    """Tasks 0 and 2 of `small()` alone, 60 and 80 hundredths of a GPU on node 1, which has two."""
    fields = {
        "resources": ["gpu_percent"],
        "node_capacity": [[0], [200]],
        "demand": [[60], [80]],
        "gpu_unit": 100,
        "task_job": [0, 1],
        "duration": [2, 4],
        "eligible": [[0, 1], [0, 1]],
        "parameters": [0, 0],
        "min_iterations": [1, 1],
        "max_iterations": [1, 1],
        "arrival": [0, 0],
        **{f"edge_{name}": [] for name in ("from", "to", "lag", "volume", "delay")},
    }
    return small(**{**fields, **changes})


@pytest.mark.parametrize(
    ("gpus", "fault"),
    [
        ([[0], [1]], ""),
        ([[1], [1]], "node 1, GPU 1 at 0: 140 in use, it has 100"),
        ([[0], []], "task 1, iteration 0: needs 80 and holds the GPUs [] of node 1"),
        ([[0], [2]], "task 1, iteration 0: needs 80 and holds the GPUs [2] of node 1"),
        ([[0], [0, 1]], "task 1, iteration 0: needs 80 and holds the GPUs [0, 1] of node 1"),
        ([], "0 of 2 rows say which GPUs they hold, and gpu_unit = 100"),
    ],
)
def test_the_replay_names_what_is_wrong(gpus, fault):
    rows = [(0, 0, 0, 1, 0, 2, 1), (1, 0, 1, 1, 0, 4, 1)]
    found = violations(Workload.of(two_parts()), Options(), EVENTS, Log(rows, gpus=gpus))
    assert [fault in sentence for sentence in found[:1]] == [True] * bool(fault)


@pytest.mark.parametrize(
    "row", [(0, 0, 2, 1, 0, 2, 1), (0, 0, -1, 1, 0, 2, 1), (0, 0, 0, 2, 0, 2, 1), (0, 0, 0, -1, 0, 2, 1)]
)
def test_what_names_no_task_or_node_holds_no_gpu(row):
    rows = [(0, 0, 0, 1, 0, 2, 1), (1, 0, 1, 1, 0, 4, 1), row]
    found = violations(Workload.of(two_parts()), Options(), EVENTS, Log(rows, gpus=[[0], [1], [5]]))
    assert found == [f"log: the row {row} names no job, task or node, or ends before it starts"]


def test_the_first_node_has_its_gpus_and_no_others():
    found = violations(Workload.of(two_parts()), Options(), EVENTS, Log([(0, 0, 0, 0, 0, 2, 1)], gpus=[[1]]))
    assert "gpu: task 0, iteration 0: needs 60 and holds the GPUs [1] of node 0" in found


def test_a_segment_of_no_length_holds_no_gpu():
    rows = [(0, 0, 0, 1, 0, 0, 0), (0, 0, 0, 1, 0, 2, 1), (1, 0, 1, 1, 0, 4, 1)]
    log = Log(rows, gpus=[[], [0], [1]])
    assert violations(Workload.of(two_parts()), Options(pausing="keep"), EVENTS, log) == []


@pytest.mark.parametrize("named", [[0, 0, 0], [0, 1, -1], [0, -1, 2]])
def test_runs_under_way_hold_whole_gpus_whatever_they_name(named):
    """Part of GPU 0, a whole one, and two: only the part's name counts."""
    state = {"now": 1, "fixed_task": [0, 1, 2], "fixed_node": [0] * 3, "fixed_start": [0] * 3, "fixed_gpu": named}
    tasks = {"task_job": [0, 1, 1], "duration": [2, 4, 4], "parameters": [0] * 3, "eligible": [[1, 0]] * 3}
    inst = two_parts(demand=[[60], [100], [200]], node_capacity=[[400], [0]], **tasks, **state)
    world = TaskgraphWorld(inst, inst.duration, Options())
    world.advance(1)
    assert world.board.holder[0].tolist() == [-1, 1, 2, 2]
    assert world.board.gpu.tolist() == [0, 1, -1]
    assert mlsched.solve(inst, "fifo").plan is not None


def test_snapshots_say_who_holds_what_and_residual_instances_keep_it():
    world = TaskgraphWorld.of(Workload.of(two_parts(demand=[[60], [100]])), Options())
    world.advance(0)
    first = world.ask()
    assert first.gpu_free.tolist() == [[0, 0], [100, 100]]
    assert first.violations(first.round(start=[(0, 1)])) != []
    world.apply(first.round(start=[(0, 1, 1)]))
    world.advance(1)
    seen = world.ask()
    assert seen.gpu.tolist() == [1, -1]
    assert seen.gpu_in_use.tolist() == [[0, 0], [0, 60]]
    rest, _ = residual(seen)
    assert (rest.fixed_gpu.tolist(), rest.gpu_unit) == ([1], 100)
    world.apply(seen.round(start=[(1, 1)]))
    assert world.board.holder.tolist() == [[-1, -1], [1, -1]]
    foreign = seen.replace(in_use=[[0], [100]], gpu_in_use=[[0, 0], [40, 60]])
    with pytest.raises(InvalidInput, match="used GPUs without a running task"):
        residual(foreign)
