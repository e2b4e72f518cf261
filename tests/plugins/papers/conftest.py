"""Two worker processes for all tests of experiments: what differs between these is what a worker is sent."""

from __future__ import annotations

import contextlib

import pytest

from mlsched.benchmark.pool import processes
from mlsched_papers import runs
from mlsched_papers.fitgpp import measure


@pytest.fixture(scope="session")
def pool():
    with processes(2) as both:
        yield both


@pytest.fixture
def two_workers(pool, monkeypatch):
    """Experiments with `workers=2` use the two processes that are there."""

    def there(workers):
        assert workers == 2
        return contextlib.nullcontext(pool)

    for module in (runs, measure):
        monkeypatch.setattr(module, "processes", there)
