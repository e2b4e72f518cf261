"""Hypothesis strategies of single values, each built once: a new strategy is validated in every draw that uses it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@functools.lru_cache(maxsize=None, typed=True)
def one_of(*values: Any) -> SearchStrategy[Any]:
    """Choose one of these values; a repeated value is more likely."""
    from hypothesis import strategies as st

    return st.sampled_from(values)
