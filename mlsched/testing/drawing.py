"""Draws with Hypothesis for all checks: reproducible, and without a database on disk."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlsched.core.record import Record
from mlsched.testing.checks import failure

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ONCE = "an instance fails once and not when it is asked again: calls depend on earlier ones"


@functools.lru_cache(maxsize=32)
def _cached_draws(strategy: SearchStrategy[Record], count: int) -> list[Record]:
    """Return the cached draws of a strategy in this process; initially empty."""
    return []


def examine_draws(examine: Callable[[Any], None], strategy: SearchStrategy[Record], count: int) -> None:
    """Examine `count` draws of records; raise the exception of the minimal failing one.

    All schedulers in a process get the same cached draws, because drawing takes longer than most schedulers. Each
    examination gets its own copies, so that a scheduler cannot affect later ones.
    """
    cache = _cached_draws(strategy, count)
    if not cache:
        records: list[Record] = []

        def record_and_examine(record: Record) -> None:
            records.append(record)
            examine(record.replace())

        _search_failure(record_and_examine, strategy, count)
        cache[:] = records
        return
    for record in tuple(cache):
        try:
            examine(record.replace())
        except Exception as error:
            _search_failure(examine, strategy, count)
            # Hypothesis also draws constants of imported modules, so it may miss the failure in a second search.
            examine(record.replace())
            raise failure("reproducible", ONCE) from error


def _search_failure(examine: Callable[[Any], None], strategy: SearchStrategy[Record], count: int) -> None:
    """Examine draws; for a failure, search for the smallest draw with the same exception."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import Flaky

    @settings(
        max_examples=int(count),
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(strategy)
    def draw(value: Any) -> None:
        examine(value)

    try:
        with warnings.catch_warnings():
            # On Python 3.14, Hypothesis can warn about its own generator. As an error, that would hide the failure.
            warnings.filterwarnings("ignore", message="It looks like `register_random`")
            draw()
    except Flaky as flaky:
        raise failure("reproducible", ONCE) from flaky
