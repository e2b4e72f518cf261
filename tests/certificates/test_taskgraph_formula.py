"""Pieces of the formulas of task graphs: a schedule is a solution exactly where the judge accepts it."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from draws import draws
from taskgraph_formulas import drawn

from mlsched import api
from mlsched.certificates.formula import Formula
from mlsched.certificates.taskgraph._schedule import Places, Schedule, earliest_starts, remaining_paths
from mlsched.instances.taskgraph import Instance, Timetable

COUNT = draws(24, 1000)
ACTIVE = re.compile(r"task (\d+), iteration (\d+), is under way on node (\d+) at (\d+)")


def best(instance: Instance) -> dict[tuple[int, int], tuple[int, int]]:
    """(task, iteration) -> node and start of the best plan."""
    plan = api.solve(instance, "brute-force").plan
    columns = (plan.task, plan.iteration, plan.node, plan.start)
    return {(k, i): (n, s) for k, i, n, s in zip(*(c.tolist() for c in columns), strict=True)}


def changed(instance: Instance, runs, dice: np.random.Generator):
    """The runs with up to two starts or nodes changed."""
    made = dict(runs)
    for _ in range(int(dice.integers(0, 3))):
        key = list(made)[int(dice.integers(len(made)))]
        node, start = made[key]
        match int(dice.integers(3)):
            case 0:
                made[key] = (node, max(0, start + int(dice.integers(-2, 3))))
            case 1:
                made[key] = (1 - node, start)
            case _:
                made |= {k: (1 - node, s) for k, (_, s) in made.items() if k[0] == key[0]}
    return made


def timetable(instance: Instance, runs) -> Timetable:
    rows = [(int(instance.task_job[k]), i, k, n, s) for (k, i), (n, s) in runs.items()]
    return Timetable(**dict(zip(("job", "iteration", "task", "node", "start"), np.array(rows).T, strict=True)))


def solution(schedule: Schedule, runs) -> dict[int, int]:
    """What the formula's variables are where the runs are as given: variable -> 0 or 1."""
    duration, places = schedule.instance.duration.tolist(), schedule.places
    found = {x: int(runs[key][0] == n) for key, nodes in places._nodes.items() for n, x in nodes.items()}
    found |= {
        x: int(runs[run][1] <= schedule.first[run] + t)
        for run, ticks in schedule.ticks.items()
        for t, x in enumerate(ticks)
    }
    found |= {x: int(runs[one][0] != runs[other][0]) for (one, other), x in places._away.items()}
    for x, meaning in enumerate(schedule.formula.meanings, 1):
        if named := ACTIVE.fullmatch(meaning):
            k, i, node, tick = map(int, named.groups())
            n, start = runs[k, i]
            found[x] = int(n == node and start <= tick < start + duration[k])
    assert set(found) == set(range(1, len(schedule.formula.meanings) + 1))  # no variable is there for nothing
    return found


def violated(formula: Formula, found: dict[int, int]) -> set[str]:
    """The families of constraints that do not hold."""
    return {c.family for c in formula.constraints if sum(a * found[x] for a, x in c.terms) < c.degree}


@pytest.mark.parametrize("number", range(COUNT))
def test_a_schedule_is_a_solution_exactly_where_the_judge_accepts_it(number):
    instance, dice = drawn(number), np.random.default_rng(number)
    start = best(instance)
    counts, jobs = instance.max_iterations.tolist(), instance.task_job.tolist()
    ends = [max(s + int(instance.duration[k]) for (k, _), (_, s) in start.items() if jobs[k] == j) for j in (0, 1)]
    done_by = [end + int(dice.integers(0, 3)) for end in ends]
    schedule = Schedule(Formula("a schedule"), instance, counts, done_by)
    for _ in range(15):
        runs = changed(instance, start, dice)
        late = [run for run, (_, s) in runs.items() if s + int(instance.duration[run[0]]) > done_by[jobs[run[0]]]]
        found = solution(schedule, runs)
        whole = all(found.get(schedule.places.nodes_of(run).get(n, 0), 0) for run, (n, _) in runs.items())
        whole &= all(schedule.first[run] <= s < schedule.first[run] + len(schedule.ticks[run])
                     for run, (_, s) in runs.items())  # fmt: skip
        accepted = whole and not violated(schedule.formula, found)
        assert accepted == (not late and not instance.violations(timetable(instance, runs))), runs
        for x, meaning in enumerate(schedule.formula.meanings, 1):
            if accepted and found[x] and ACTIVE.fullmatch(meaning):
                assert "what is under way" in violated(schedule.formula, {**found, x: 0})


@pytest.mark.parametrize("long", [12, 3])
@pytest.mark.parametrize("number", range(COUNT))
def test_what_must_come_before_and_after_a_run(number, long):
    """Earliest starts by following every edge until nothing changes; what must come after, likewise."""
    instance = drawn(number)
    counts, jobs, duration = instance.max_iterations.tolist(), instance.task_job.tolist(), instance.duration.tolist()
    runs = [(k, i) for k, j in enumerate(jobs) for i in range(counts[j])]
    edges = [(u, v, lag) for u, v, lag in zip(instance.edge_from, instance.edge_to, instance.edge_lag, strict=True)]
    before = [((u, i - lag), (v, i)) for u, v, lag in edges for i in range(lag, counts[jobs[v]])]
    before += [((k, i - 1), (k, i)) for k, i in runs if i]
    first = {run: int(instance.arrival[jobs[run[0]]]) for run in runs}
    rest = [0] * len(jobs)
    for _ in runs:
        for one, other in before:
            first[other] = max(first[other], first[one] + duration[one[0]])
        for u, v, lag in edges:
            rest[u] = max(rest[u], duration[v] + rest[v]) if not lag else rest[u]
    assert earliest_starts(instance, counts) == first
    assert remaining_paths(instance) == rest
    done_by = [int(instance.arrival[j]) + long + j for j in (0, 1)]
    schedule = Schedule(Formula("a schedule"), instance, counts, done_by)
    ticks = {run: max(0, done_by[jobs[run[0]]] - duration[run[0]] - rest[run[0]] - first[run] + 1) for run in runs}
    assert {run: len(found) for run, found in schedule.ticks.items()} == ticks
    alone = instance.movement == "none"
    runs_on = {run: (run[0], 0) if alone else run for run in runs}
    sent = {
        (runs_on[u, i - lag], runs_on[v, i]) for u, v, lag, delay in
        zip(instance.edge_from, instance.edge_to, instance.edge_lag, instance.edge_delay, strict=True) if delay
        for i in range(lag, counts[jobs[v]]) if runs_on[u, i - lag] != runs_on[v, i]
    }  # fmt: skip
    assert set(schedule.places._away) == sent
    possible = {
        (n, t): [(k, i) for k, i in runs if instance.eligible[k, n] and duration[k] and ticks[k, i]
                 and first[k, i] <= t < first[k, i] + ticks[k, i] - 1 + duration[k]]
        for n in (0, 1) for t in range(20)
    }  # fmt: skip
    expected = {
        (k, i, n, t) for (n, t), here in possible.items() for k, i in here
        if (sum((instance.demand[task] for task, _ in here), start=0) > instance.node_capacity[n]).any()
    }  # fmt: skip
    named = filter(None, map(ACTIVE.fullmatch, schedule.formula.meanings))
    assert {tuple(map(int, found.groups())) for found in named} == expected


def test_where_tasks_are_has_a_variable_a_task_or_where_they_may_move_a_run():
    for number in range(COUNT):
        instance = drawn(number)
        counts, jobs = instance.max_iterations.tolist(), instance.task_job.tolist()
        runs = [(k, i) for k, j in enumerate(jobs) for i in range(counts[j])]
        formula = Formula("places")
        places = Places(formula, instance, runs)
        chosen = runs if instance.movement == "between_iterations" else [(k, 0) for k in range(len(jobs))]
        named = [f", iteration {i}," if instance.movement == "between_iterations" else "" for _, i in chosen]
        assert sorted(formula.meanings) == sorted(
            f"task {k}{name} is on node {n}"
            for (k, _), name in zip(chosen, named, strict=True)
            for n in (0, 1)
            if instance.eligible[k, n]
        )
        for one, other in itertools.combinations(runs, 2):
            made = len(formula.constraints)
            away = places.on_different_nodes(one, other)
            assert (away is None) == (places.nodes_of(one) is places.nodes_of(other))
            assert away == places.on_different_nodes(one, other)
            rows = formula.constraints[made:]
            assert len(rows) in (0, len(places.nodes_of(one)))
            for (m, x), (n, y) in itertools.product(places.nodes_of(one).items(), places.nodes_of(other).items()):
                for is_away in (0, 1) if rows else ():
                    found = {**dict.fromkeys(range(1, len(formula.meanings) + 1), 0), x: 1, y: 1, away: is_away}
                    holds = all(sum(a * found[v] for a, v in row.terms) >= row.degree for row in rows)
                    assert holds == (bool(is_away) or m == n)
