"""Brute force against the judge alone: every node and every start up to a horizon that no active schedule exceeds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from front_data import nondominated
from hypothesis import assume, given
from taskgraph_examples import running, small

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.instances import strategies
from mlsched.solvers.taskgraph.brute_force import OBJECTIVES, examined, front

SIGNS = np.array([1 if o.sense == "min" else -1 for o in small().objectives])
#: Plans that the enumeration below may examine.
MOST = 6_000


def feasible(instance):
    """The values of every feasible plan that starts within the horizon, by the judge; assumes that they are few."""
    jobs = instance.task_job.tolist()
    work = int((instance.duration * instance.max_iterations[jobs]).sum())
    work += int((instance.edge_delay * instance.max_iterations[instance.task_job[instance.edge_from]]).sum())
    begun = [int(e) for e in instance.fixed_start + instance.duration[instance.fixed_task]]
    last = max([instance.now, *instance.arrival.tolist(), *begun]) + work
    counts = [range(d, m + 1) for d, m in zip(instance.finished, instance.max_iterations, strict=True)]
    choices = []
    for total in itertools.product(*counts):
        runs = [(k, i) for k, j in enumerate(jobs) for i in range(instance.finished[j], total[j])]
        slots = []
        for k, i in runs:
            columns = (instance.fixed_task, instance.fixed_node, instance.fixed_start, instance.fixed_gpu)
            fixed = [
                (n, s, g) for t, n, s, g in zip(*columns, strict=True) if t == k and i == instance.finished[jobs[k]]
            ]
            nodes = np.flatnonzero(instance.eligible[k]).tolist()
            labels = range(3) if 0 < instance.demand[k, 0] < instance.gpu_unit else [-1]
            slots.append(fixed or list(itertools.product(nodes, range(instance.now, last + 1), labels)))
        choices.append((runs, slots))
    assume(sum(int(np.prod([len(s) for s in slots])) for _, slots in choices) <= MOST)
    found = set()
    for runs, slots in choices:
        for placed in itertools.product(*slots):
            columns = [[p[column] for p in placed] for column in range(3)]
            plan = instance.timetable([i for _, i in runs], [k for k, _ in runs], *columns)
            if not instance.violations(plan):
                found.add(tuple(instance.evaluate(plan)[name] for name in OBJECTIVES))
    return found


def pareto(values, columns):
    values = np.array(sorted(values), dtype=np.int64).reshape(-1, len(OBJECTIVES))
    return (nondominated(np.unique((values * SIGNS)[:, columns], axis=0)) * SIGNS[columns]).tolist()


@given(instance=strategies.taskgraph(tasks=3, runs=3) | strategies.taskgraph(tasks=3, runs=3, apart=True))
def test_every_objective_and_front_is_that_of_all_plans(instance):
    found = feasible(instance)
    for column, objective in enumerate(instance.objectives):
        result = mlsched.solve(instance, "brute-force", objective=objective.name)
        assert (result.status == "infeasible") == (not found)
        if found:
            best = (min if objective.sense == "min" else max)(v[column] for v in found)
            assert result.sort_key == result.sort_bound == best
    for columns in ([0, 2], [0, 2, 4], [1, 3, 5], [0, 1, 2, 3, 4, 5]):
        names = [OBJECTIVES[c] for c in columns]
        assert [list(v) for v in front(instance, names)] == (pareto(found, columns) if found else [])


@given(instance=strategies.taskgraph())
def test_the_judge_agrees_with_every_plan(instance):
    for values, plan in itertools.islice(examined(instance)[0].items(), 50):
        assert instance.violations(plan) == []
        assert tuple(instance.evaluate(plan)[name] for name in OBJECTIVES) == values


def test_optima_by_hand():
    best = {o: mlsched.solve(small(), "brute-force", objective=o).sort_key for o in OBJECTIVES}
    assert best == {
        "total_jct": 5,
        "deadlines_met": 2,
        "traffic": 0,
        "accuracy_met": 2,
        "total_accuracy": 1_100_000,
        "makespan": 5,
    }
    assert mlsched.solve(small(min_iterations=[2, 1]), "brute-force").sort_key == 10 + 4
    assert front(small(), ["total_jct", "total_accuracy"]) == [(5, 400_000), (9, 900_000), (14, 1_100_000)]


def test_a_residual_problem_by_hand():
    best = mlsched.solve(running(min_iterations=[2, 1]), "brute-force")
    assert best.sort_key == 10 + 9


def test_movement_pays_when_a_better_node_comes_free():
    """Node 1 is twice as wide: task 0 must begin on node 0, which task 1 then needs for long."""
    one = {
        "task_job": [0, 1],
        "duration": [2, 9],
        "demand": [[1], [1]],
        "eligible": [[1, 1], [1, 0]],
        "parameters": [0, 0],
        "edge_from": [],
        "edge_to": [],
        "edge_lag": [],
        "edge_volume": [],
        "edge_delay": [],
        "node_capacity": [[1], [1]],
        "min_iterations": [2, 1],
        "now": 1,
        "finished": [1, 0],
        "on_time": [1, 0],
        "home": [0, -1],
        "last_end": [1, 0],
        "arrival": [0, 0],
    }
    assert mlsched.solve(small(**one), "brute-force", objective="makespan").sort_key == 12
    assert (
        mlsched.solve(small(**one, movement="between_iterations"), "brute-force", objective="makespan").sort_key == 10
    )


@pytest.mark.parametrize(
    "changes", [{"eligible": [[1, 1], [0, 0], [0, 1]]}, {"demand": [[1], [3], [1]]}, {"node_capacity": [[0], [0]]}]
)
def test_infeasible(changes):
    result = mlsched.solve(small(**changes), "brute-force")
    assert (result.status, result.plan) == ("infeasible", None)
    assert front(small(**changes), ["total_jct", "traffic"]) == []


def test_runs_that_exceed_a_node_already_are_infeasible():
    both = {"fixed_task": [0, 1], "fixed_node": [0, 0], "fixed_start": [5, 6]}
    assert mlsched.solve(running(**both), "brute-force").status == "infeasible"
    assert mlsched.solve(running(**{**both, "node_capacity": [[2], [2]]}), "brute-force").status == "optimal"


def test_large_instances_are_refused_at_once():
    with pytest.raises(InvalidInput, match="more than 400000 steps: use cp-sat"):
        mlsched.solve(mlsched.generate("taskgraph", "ten-loose", seed=0), "brute-force")
