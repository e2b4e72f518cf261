"""Runs of MLF-H and MLFS-H by iterations, with GPUs told apart, use apart from demand, moves and pauses: all sound."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of

from mlsched import api
from mlsched.simulation.taskgraph.iterations.strategies import options, workloads
from mlsched.simulation.taskgraph.strategies import wakes


@settings(max_examples=draws(9, 200))
@given(
    work=workloads(jobs=4, gpus=True),
    gang=st.integers(0, 1),
    readings=options(),
    wake=wakes(),
    rule=st.sampled_from(["mlf-h", "mlfs-h:options=evaluation"]),
)
def test_every_run_is_sound_and_repeatable(work, gang, readings, wake, rule):
    """Reserved is never more than there is, gangs are whole, nothing is lost; decisions replay; one seed, one run."""
    work = work.replace(gang=np.full(len(work.gang), gang))
    run = api.simulate(work, rule, options=readings, scheduling_events=wake, record=1.0)
    assert run.violations() == []
    assert all(run.replay(d) == d.plan for d in run.recorded)
    again = api.simulate(work, rule, options=readings, scheduling_events=wake)
    assert (again.log.rows, again.log.places) == (run.log.rows, run.log.places)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mlf-h", ("anytime", "keep")),
        ("mlf-h:migration=false", ("given", "none")),
        ("mlfs-h", ("anytime", "keep")),
        ("mlf-c", ("given", "none")),
        ("mlf-c:rule=las", ("given", "keep")),
        ("mlf-c:rule=gandiva", ("anytime", "none")),
    ],
)
def test_a_rule_asks_for_the_moves_and_pauses_it_needs_and_the_user_has_the_last_word(rule, expected):
    load = jobs_of([[(1, 1)]], [(0, 0, 2)], tick_ms=1000)
    chosen = api.simulate(load, rule).options
    assert (chosen.movement, chosen.pausing) == expected
    chosen = api.simulate(load, rule, options={"movement": "given", "pausing": "restart"}).options
    assert (chosen.movement, chosen.pausing) == ("given", "restart")
