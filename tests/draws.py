"""How much a test draws: little by default and where $CI is set, everything in the thorough profile."""

from __future__ import annotations

from hypothesis import settings

THOROUGH = settings().max_examples >= 1000


def draws(few: int, many: int) -> int:
    """`few` by default, `many` in the thorough profile."""
    return many if THOROUGH else few
