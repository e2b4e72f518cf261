"""Task graphs: what brute force found is kept, since many files ask for the optima of the same small instances.

So are processes for cutting planes, where a test would start one for each of many small searches.
"""

from __future__ import annotations

import functools

import pytest

from mlsched.solvers.backends.process import Helpers
from mlsched.solvers.taskgraph import brute_force


@pytest.fixture(scope="session", autouse=True)
def enumerations_are_kept():
    """Enumerations of all instances are remembered to the end, not of the last few only."""
    patch = pytest.MonkeyPatch()
    patch.setattr(brute_force, "_remembered", functools.lru_cache(maxsize=None)(brute_force._remembered.__wrapped__))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def pool():
    """Processes for cutting planes that wait for the next search, whatever test it is in."""
    pool = Helpers()
    yield pool
    pool.close()


@pytest.fixture
def processes_are_kept(monkeypatch, pool):
    """All searches of the test share the processes of `pool`."""
    take, give_back = Helpers.take, Helpers.give_back
    monkeypatch.setattr(Helpers, "take", lambda self: take(pool))
    monkeypatch.setattr(Helpers, "give_back", lambda self, helper: give_back(pool, helper))
