"""Entries that are seen stay as they were, whoever reads them, and whatever happens to the table."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from mlsched.simulation.taskgraph.iterations import table
from mlsched.simulation.taskgraph.iterations.table import Seen, Table


def of_thirty():
    """A table of 30 entries, behind 10 that are gone."""
    made = Table(("name",), ("amount",))
    made.add(40, {"name": np.arange(40), "amount": np.arange(40)})
    made.admit(40)
    made.remove(0, 10)
    return made


@pytest.mark.parametrize("short", [0, 1000])
def test_what_was_seen_stays(monkeypatch, short):
    monkeypatch.setattr(table, "SHORT", short)
    made = of_thirty()
    seen = Seen(made)
    seen.keep()
    made["amount"][:] = 7
    made.remove(10, 40)
    assert seen["amount"].tolist() == seen["name"].tolist() == list(range(10, 40))


def interrupted(read, other, at):
    """What `read` returns where `other` is called before its line number `at`, as another thread would; None: it has
    fewer lines.
    """
    lines, before = itertools.count(1), sys.gettrace()

    def trace(frame, event, arg):
        if event == "line" and frame.f_code.co_filename == table.__file__ and next(lines) == at:
            sys.settrace(before)
            other()
        return trace

    sys.settrace(trace)
    try:
        found = read()
    finally:
        sys.settrace(before)
    return found if next(lines) > at else None


@pytest.mark.parametrize("column", ["name", "amount"])
def test_a_thread_may_read_while_another_does(column):
    at, found = 0, []
    while found is not None:
        at, seen, others = at + 1, Seen(of_thirty()), []

        def read(seen=seen):
            return seen[column].tolist()

        found = interrupted(read, lambda read=read, others=others: others.append(read()), at)
        assert found is None or [found] == others == [list(range(10, 40))]
    assert at > 5
