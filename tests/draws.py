"""How much a test draws: little by default and where $CI is set, everything in the thorough profile."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import settings

Number = TypeVar("Number", int, float)
THOROUGH = settings().max_examples >= 1000


def draws(few: Number, many: Number) -> Number:
    """`few` by default, `many` in the thorough profile."""
    return many if THOROUGH else few
