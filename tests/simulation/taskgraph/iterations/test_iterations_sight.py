"""Snapshots of the iteration engine make a column when it is first read, and say the same whenever that is."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of

import mlsched
from mlsched.core import record
from mlsched.core.errors import InvalidInput, RuleFailure
from mlsched.core.record import specs
from mlsched.core.registry import registry
from mlsched.instances.taskgraph import Snapshot
from mlsched.simulation.clock import Rule, run
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options
from mlsched.simulation.taskgraph.iterations.sight import Sight
from mlsched.simulation.taskgraph.iterations.strategies import options, workloads
from mlsched.simulation.taskgraph.strategies import any_round, wakes
from mlsched.simulation.wake import Wake

#: A gang of two tasks and a single, twice each, on two nodes of two GPUs; they queue.
QUEUE = jobs_of([[(4, 1), (4, 1)], [(3, 2)]], [(0, 0, 3), (0, 1, 2), (1, 0, 1), (2, 1, 1)])


@contextlib.contextmanager
def unread():
    """Trusted records are not validated, which would read all they have: as outside of tests."""
    before, record.validate_trusted = record.validate_trusted, False
    try:
        yield
    finally:
        record.validate_trusted = before


def asked(load, call, scheduling_events="events", **readings):
    """The world after a run in which `call(world, snapshot, rng) -> round` answers."""
    world = IterationWorld(load, Options(**readings))
    rule = Rule("asked", lambda snapshot, memory, rng: (call(world, snapshot, rng), memory))
    with unread():
        run(world, rule, scheduling_events=Wake.parse(scheduling_events), seed=0)
    return world


@settings(max_examples=draws(25, 400))
@given(load=workloads(gpus=True), readings=options(), scheduling_events=wakes(), seed=st.integers(0, 99))
def test_a_column_is_the_same_whenever_it_is_read(load, readings, scheduling_events, seed):
    kept = []

    def call(world, snapshot, rng):
        made = Sight(world.view)
        columns = {name: made(name) for name in specs(Snapshot) if name not in vars(snapshot)}
        assert columns
        for name in np.random.default_rng([seed, len(kept)]).permutation(sorted(columns))[::3].tolist():
            getattr(snapshot, name)
        kept.append((snapshot, columns))
        return any_round(snapshot, None, rng)[0]

    asked(load, call, scheduling_events, **readings)
    for snapshot, columns in kept:
        for name, column in columns.items():
            np.testing.assert_array_equal(getattr(snapshot, name), column, err_msg=name)
            assert not getattr(snapshot, name).flags.writeable
        assert snapshot.replace() == snapshot, "it is a valid one"


def test_what_nobody_has_any_more_is_not_copied(monkeypatch):
    copies = []
    monkeypatch.setattr(Sight, "keep", lambda self: copies.append(self))
    fifo = registry().solvers["taskgraph", "fifo"].function
    asked(QUEUE, lambda world, snapshot, rng: fifo(snapshot, rng=rng))
    assert not copies
    seen = []
    asked(QUEUE, lambda world, snapshot, rng: (seen.append(snapshot), fifo(snapshot, rng=rng))[1])
    assert len(copies) == len(seen) == 3


def one(load=QUEUE):
    """A snapshot of which nothing has been read, in a world that has gone on."""
    seen = []
    fifo = registry().solvers["taskgraph", "fifo"].function
    asked(load, lambda world, snapshot, rng: (seen.append(snapshot.shown("observed")), fifo(snapshot, rng=rng))[1])
    return seen[1]


def test_it_is_sent_whole():
    sent = pickle.loads(pickle.dumps(one()))
    assert set(specs(Snapshot)) <= vars(sent).keys()
    assert "_unread" not in vars(sent)
    assert sent == one()


def test_it_is_copied_column_by_column():
    copied = one().private()
    assert "urgency" not in vars(copied)
    assert copied.urgency.tolist() == one().urgency.tolist()
    assert copied.same_as(one())
    assert one().same_as(copied)


def test_what_is_hidden_is_not_made():
    typed = one(QUEUE.replace(slowness=[[10**6, 10**6]], node_type=[0, 1]))
    assert "slowness" not in typed.visible()
    with pytest.raises(InvalidInput, match="slowness: is hidden from solvers of information='observed'"):
        typed.slowness  # noqa: B018
    assert typed.private().visible() == typed.visible()
    assert typed.private().same_as(typed)


def test_a_wrong_name_is_no_column():
    with pytest.raises(AttributeError, match="'Snapshot' object has no attribute 'arrivals'"):
        one().arrivals  # noqa: B018


def changes_the_answer(given):
    object.__setattr__(given, "arrival", given.arrival + 1)


def changes_before_it_reads(given):
    vars(given)["arrival"] = np.zeros_like(given.job_id) + 7


def changes_numbers(given):
    given.arrival.flags.writeable = True
    given.arrival[:] = 7


@pytest.mark.parametrize("change", [changes_the_answer, changes_before_it_reads, changes_numbers])
def test_a_foreign_rule_that_changes_what_it_was_asked_is_told_so(change):
    def cheats(given, *, rng):
        change(given)
        return mlsched.start_in_order(given, given.job_id)

    cheats.called = "online"
    with unread(), pytest.raises(RuleFailure, match="cheats changed the instance that it received"):
        mlsched.simulate(QUEUE, cheats)
