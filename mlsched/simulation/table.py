"""Rows of numbers as columns: what the logs of the worlds are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray

Row = tuple[int, ...]


def columns(rows: Sequence[Row], names: Sequence[str], order: Sequence[str]) -> dict[str, IntArray]:
    """Column name -> values, the rows sorted by the columns `order`, the most important first."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    ranks = np.lexsort([table[:, names.index(name)] for name in reversed(order)])
    return {name: table[ranks, c] for c, name in enumerate(names)}
