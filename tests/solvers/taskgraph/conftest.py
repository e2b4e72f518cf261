"""Task graphs: what brute force found is kept, since many files ask for the optima of the same small instances."""

from __future__ import annotations

import functools

import pytest

from mlsched.solvers.taskgraph import brute_force


@pytest.fixture(scope="session", autouse=True)
def enumerations_are_kept():
    """Enumerations of all instances are remembered to the end, not of the last few only."""
    patch = pytest.MonkeyPatch()
    patch.setattr(brute_force, "_remembered", functools.lru_cache(maxsize=None)(brute_force._remembered.__wrapped__))
    yield
    patch.undo()
