"""How much a test draws: little by default and where $CI is set, everything in the thorough profile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

THOROUGH = settings().max_examples >= 1000


def draws(few: int, many: int) -> int:
    """`few` by default, `many` in the thorough profile."""
    return many if THOROUGH else few


SEARCH = settings(
    max_examples=2000, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def never_met(strategy: SearchStrategy[Any], cases: Callable[[Any], Mapping[str, bool]], names: set[str]) -> set[str]:
    """The names that are true of no draw; it stops drawing when all have been met, after 2,000 draws at most."""
    missing = set(names)

    def met(draw: Any) -> bool:
        missing.difference_update(name for name, holds in cases(draw).items() if holds)
        return not missing

    with contextlib.suppress(NoSuchExample):
        find(strategy, met, settings=SEARCH)
    return missing
