"""The bound of a task-graph run: never above the optimum of the horizon, nor above any run, in either engine."""

from __future__ import annotations

import numpy as np
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core import record
from mlsched.core.errors import TooLarge
from mlsched.core.fields import ArraySpec
from mlsched.instances.taskgraph import Snapshot
from mlsched.simulation.taskgraph import bound
from mlsched.simulation.taskgraph.iterations import bound as jobs_bound
from mlsched.simulation.taskgraph.iterations import from_tasks
from mlsched.simulation.taskgraph.iterations.strategies import workloads as jobs
from mlsched.simulation.taskgraph.strategies import any_rule, options, wakes, workloads


@settings(max_examples=draws(9, 2000))
@given(load=workloads())
def test_it_never_exceeds_the_optimum_of_the_horizon(load):
    horizon = load.horizon.replace(duration=load.true_duration)
    found = bound.bound(load)
    for objective in ("total_jct", "makespan"):
        try:
            best = api.solve(horizon, "brute-force", objective=objective)
        except TooLarge:
            assume(False)
        assert best.sort_key is None or found[objective] <= best.sort_key


@settings(max_examples=draws(9, 2000))
@given(load=st.one_of(workloads(), jobs()), readings=options(), scheduling_events=wakes(), seed=st.integers(0, 99))
def test_it_never_exceeds_a_run_whatever_that_does(load, readings, scheduling_events, seed):
    run = api.simulate(load, any_answer, options=readings, scheduling_events=scheduling_events, seed=seed)
    value = run.summary()
    assert all(lower <= value[name] for name, lower in run.bound.items())
    assert set(run.bound) == {"total_jct", "makespan"}


def any_answer(snapshot, *, rng):
    """A random legal round."""
    return any_rule().call(snapshot, None, rng)[0]


@settings(max_examples=draws(6, 300))
@given(load=workloads())
def test_by_iterations_jobs_take_no_less(load):
    """Iterations that wait for the one before take no less than those that need not."""
    by_tasks, by_iterations = bound.pieces(load), jobs_bound.pieces(from_tasks(load))
    order = by_tasks.arrival.argsort(kind="stable")
    assert (by_tasks.running[order] <= by_iterations.running).all()


def test_rules_of_ones_own_run_where_snapshots_are_not_validated(monkeypatch):
    """As outside of tests: then a snapshot holds what its world fills in, and nothing by default."""
    monkeypatch.setattr(record, "validate_trusted", False)
    for simulator in ("tasks", "iterations"):
        load = api.workload("synthetic:dags:jobs=3,runs=6,nodes=2", simulator=simulator)
        run = api.simulate(load, any_answer, record=1.0)
        arrays = [name for name, spec in record.specs(Snapshot).items() if isinstance(spec, ArraySpec)]
        assert all(type(getattr(d.instance, name)) is np.ndarray for d in run.recorded for name in arrays)
        assert run.gaps["total_jct"] >= 0
