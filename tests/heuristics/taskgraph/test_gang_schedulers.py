"""Every rule on queues of gangs, by iterations: sound runs, nothing lost, and the same again from the same seed."""

from __future__ import annotations

import pytest
from draws import draws
from gang_examples import gang_workloads
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of, rows

from mlsched import api
from mlsched.core.registry import registry
from mlsched.simulation.taskgraph.strategies import options, wakes

pytestmark = pytest.mark.filterwarnings("ignore:the offered load")
#: Those of mlsched: that every job is served in the end is their promise, the problem does not ask for it.
RULES = [
    a.name
    for a in registry().available("taskgraph")
    if a.called == "online" and a.function.__module__.startswith("mlsched.")
]


@settings(max_examples=draws(12, 1500))
@given(load=gang_workloads(), rule=st.sampled_from(RULES), wake=wakes(), readings=st.none() | options())
def test_runs_are_sound_and_repeat_and_lose_no_job(load, rule, wake, readings):
    run = api.simulate(load, rule, scheduling_events=wake, options=readings or {}, record=1.0)
    assert run.violations() == []
    assert (run.jobs["completion"] > run.jobs["start"]).all()
    assert (run.jobs["start"] >= load.arrival).all()
    assert all(run.replay(decision) == decision.plan for decision in run.recorded)
    again = api.simulate(load, rule, scheduling_events=wake, options=readings or {})
    assert (again.log.rows, again.log.places) == (run.log.rows, run.log.places)


@pytest.mark.parametrize("rule", RULES)
def test_a_gang_that_needs_every_gpu_gets_them_when_nothing_else_is_left(rule):
    """Two nodes of 2 GPUs: a gang of four single GPUs, among singles that come before and after."""
    load = jobs_of(
        [[(3, 1)], [(2, 1)] * 4], [(0, 0, 2), (1, 1, 3), (2, 0, 1), (2, 0, 1)], nodes=[(2,), (2,)], tick_ms=1000
    )
    run = api.simulate(load, rule)
    assert run.violations() == []
    assert {len(set(row["nodes"])) for row in rows(run.log) if row["job"] == 1} == {2}
