"""Hypothesis strategies of single values, each made once: a new one is checked anew in every draw that uses it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@functools.lru_cache(maxsize=None, typed=True)
def one_of(*values: Any) -> SearchStrategy[Any]:
    """One of these values; what stands there twice is twice as likely."""
    from hypothesis import strategies as st

    return st.sampled_from(values)
