"""Gangs: their columns and list schedules against plain enumeration, written apart."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlsched
from mlsched import api, solvers
from mlsched.core.formulation import NO_LIMITS
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.formulations.taskgraph import _columns, highs
from mlsched.formulations.taskgraph._columns import Column, Mode, Moulded, columns
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances import strategies
from mlsched.instances.taskgraph import Instance
from mlsched.solvers.backends.highs import minimise

OBJECTIVES = tuple(o.name for o in Instance.objectives)


def every_column(layout: Layout, j: int) -> list[Column]:
    """The columns of all placements of a job, one by one."""
    tasks = layout.tasks_of[j]
    placements = itertools.product(*(layout.allowed[k] for k in tasks))
    return [_columns._column(layout, j, dict(zip(tasks, nodes, strict=True))) for nodes in placements]


def begun(instance: Instance) -> bool:
    """Gangs start as a whole: jobs under way are refused."""
    return bool(len(instance.fixed_task))


@given(instance=strategies.taskgraph(), ends_at=st.sampled_from([(1,), (1, 3), (2, 4)]), traffic=st.booleans())
def test_columns_are_those_that_no_other_dominates(instance, ends_at, traffic):
    layout = Layout.of(instance)
    if begun(instance):
        return
    for j in range(layout.jobs):
        if layout.maximum[j] == layout.finished[j]:
            continue
        made = every_column(layout, j)
        found = columns(layout, j, ends_at, ends_at if traffic else ())

        def key(c: Column) -> np.ndarray:
            held = [amount for row in c.hold for amount in row]
            return np.array([c.release, *map(c.end, ends_at), *map(c.traffic, ends_at if traffic else ()), *held])

        kept = []
        for number, column in enumerate(made):
            better = [
                other
                for at, other in enumerate(made)
                if (key(other) <= key(column)).all() and (at < number or (key(other) < key(column)).any())
            ]
            kept += [] if better else [column]
        assert found == kept


def every_plan(instance: Instance) -> Iterator[list[tuple[Mode, int]]]:
    """Gangs in every mode and order, each at the first tick at which all that it holds is free."""
    layout = Layout.of(instance)
    moulded = Moulded(instance, OBJECTIVES)
    modes: list[list[Mode]] = []
    for j in range(layout.jobs):
        done, mandatory, maximum = layout.finished[j], layout.mandatory[j], layout.maximum[j]
        modes.append([Mode(j, None, 0)] if mandatory <= done else [])
        if maximum > done:
            numbers = range(max(1, mandatory - done), maximum - done + 1)
            modes[-1] += [Mode(j, c, n) for c in every_column(layout, j) for n in numbers]
    capacity = np.array(layout.capacity)
    for choice in itertools.product(*modes):
        for order in itertools.permutations(choice):
            plan: list[tuple[Mode, int]] = []
            for mode in order:
                start = moulded.release(mode)
                while mode.column is not None and not all(
                    (
                        np.array(mode.column.hold)
                        + sum(
                            np.array(other.column.hold)
                            for other, begin in plan
                            if other.column is not None and begin <= tick < begin + other.duration
                        )
                        <= capacity
                    ).all()
                    for tick in range(start, start + mode.duration)
                ):
                    start += 1
                plan.append((mode, start))
            yield plan


@given(instance=strategies.taskgraph(tasks=2, runs=4), objective=st.sampled_from(OBJECTIVES))
def test_the_best_gangs_are_those_of_plain_enumeration(instance, objective):
    """Windows, late jobs, fewer modes and shared intervals lose nothing."""
    if begun(instance) or Layout.of(instance).reason is not None:
        return
    moulded = Moulded(instance, (objective,))
    best = min if instance.objective(objective).sense == "min" else max
    timetables = [moulded.timetable(plan) for plan in every_plan(instance)]
    value = best((instance.evaluate(t)[objective] for t in timetables), default=None)
    for solver in ("moulded", "moulded-highs"):
        assert api.solve(instance, solver, objective=objective).sort_key == value


@given(instance=strategies.taskgraph(), objective=st.sampled_from(["total_jct", "makespan"]), spare=st.integers(-2, 3))
def test_a_model_of_good_plans_has_the_best_one_and_no_better(instance, objective, spare):
    """`at_worst`: what is asked of second opinions, and of a solve that knows a plan."""
    best = api.solve(instance, "brute-force", objective=objective)
    if best.plan is None:
        return
    made = highs.build(instance, objectives=(objective,), at_worst=best.sort_key + spare)
    found = minimise(made, objective, "min", NO_LIMITS, None, None if spare >= 0 else best.sort_key)
    assert found.status == ("optimal" if spare >= 0 else "infeasible")
    assert found.bound == (best.sort_key if spare >= 0 else None)


def test_a_hint_that_is_no_plan_leaves_out_nothing():
    """All at once, it looks better than any plan; `solve` refuses it, but a backend may be given it."""
    instance = mlsched.generate("taskgraph", "small", seed=0)
    best = api.solve(instance, "highs", objective="total_jct")
    assert best.plan is not None
    hint = dataclasses.replace(best.plan, start=np.zeros_like(best.plan.start))
    assert instance.violations(hint)
    assert instance.evaluate(hint)["total_jct"] < best.sort_key
    solver, _ = registry().solver("taskgraph", "highs")
    found = solvers.run(Request(solver, "total_jct", instance=instance, start=hint))
    assert (found.status, found.bound) == ("optimal", best.sort_key)


def test_many_alike_nodes_are_few_shapes():
    """A job of seven tasks on three equal nodes: 2,187 placements, of which the 365 partitions are looked at."""
    instance = mlsched.generate("taskgraph", "six-replicas", seed=0)
    layout = Layout.of(instance)
    largest = max(range(layout.jobs), key=lambda j: len(layout.tasks_of[j]))
    tasks = layout.tasks_of[largest]
    nodes = np.array(list(itertools.product(range(3), repeat=len(tasks))))
    shapes, shape_of = _columns._shapes(layout, tasks, nodes)
    assert (len(tasks), len(shapes)) == (7, 365)
    assert len(shape_of) == 3**7


@pytest.mark.parametrize("objective", ["total_jct", "makespan", "deadlines_met"])
def test_a_search_for_gangs_has_a_plan_from_the_first_moment(objective):
    """Its own list schedule is where it starts, whatever the limit."""
    instance = mlsched.generate("taskgraph", "six-loose", seed=2)
    found = api.solve(instance, "moulded", objective=objective, work_limit=0.001)
    assert found.plan is not None
