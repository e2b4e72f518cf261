"""Drawing with Hypothesis, as every check here does it: the same draws each time, and nothing kept on disk."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from mlsched.core.record import Record
from mlsched.testing.checks import fail

ONCE = "an instance fails once and not when it is asked again: calls depend on earlier ones"


@functools.lru_cache(maxsize=32)
def _kept(strategy: Any, count: int) -> list[Record]:
    """What was drawn in this process, of the latest few strategies; empty where nothing was yet."""
    return []


def drawn(examine: Callable[[Any], None], strategy: Any, count: int) -> None:
    """Examine `count` draws of records; raises what the minimal failing one raises.

    All schedulers of a process are given the same draws, which are kept: Hypothesis takes longer to make them than most
    schedulers to answer. Each examination has records of its own, whatever an earlier one did to them.
    """
    known = _kept(strategy, count)
    if not known:
        made: list[Record] = []

        def noted(record: Record) -> None:
            made.append(record)
            examine(record.replace())

        _search(noted, strategy, count)
        known[:] = made
        return
    for record in tuple(known):
        try:
            examine(record.replace())
        except Exception as found:
            _search(examine, strategy, count)
            # Hypothesis also draws constants of the modules that are imported by now, and may not meet it again.
            examine(record.replace())
            raise fail("reproducible", ONCE) from found


def _search(examine: Callable[[Any], None], strategy: Any, count: int) -> None:
    """Examine draws, and where one fails, smaller ones until one raises what is raised."""
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
            # On Python 3.14, Hypothesis can warn of its own generator. As an error, that would hide the failure.
            warnings.filterwarnings("ignore", message="It looks like `register_random`")
            draw()
    except Flaky as flaky:
        raise fail("reproducible", ONCE) from flaky
