"""How much a test draws: little by default and where $CI is set, everything in the thorough profile."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Item = TypeVar("Item")
THOROUGH = settings().max_examples >= 1000


def draws(few: Item, many: Item) -> Item:
    """`few` by default, `many` in the thorough profile."""
    return many if THOROUGH else few


def share(items: Sequence[Item], of: int) -> Sequence[Item]:
    """Every `of`-th item, from one of the first on: another one each time, and the first where $CI is set.

    All in the thorough profile. For the body of a test; what pytest is to list must be the same in every process.
    """
    if THOROUGH:
        return items
    return items[0 if os.environ.get("CI") else random.SystemRandom().randrange(of) :: of]
