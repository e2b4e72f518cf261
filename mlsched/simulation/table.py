"""Rows of numbers as columns: what the logs of the worlds are made of, and how they are read from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, IntArray, fail

Row = tuple[int, ...]


def columns(rows: Sequence[Row], names: Sequence[str], order: Sequence[str]) -> dict[str, IntArray]:
    """Column name -> values, the rows sorted by the columns `order`, the most important first."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    ranks = np.lexsort([table[:, names.index(name)] for name in reversed(order)])
    return {name: table[ranks, c] for c, name in enumerate(names)}


def rows_of(data: Any, names: Sequence[str], where: str = "log", others: Sequence[str] = ()) -> list[Row]:
    """The rows of a JSON object of columns, the inverse of `columns`; refuses what is no table of integers.

    others: names that the object may have beside those of the columns.
    """
    if not isinstance(data, dict):
        raise fail(where, data, "must be an object of columns")
    for name in data:
        if name not in names and name not in others:
            raise InvalidInput(f"{where}: {name}: unknown column; there are {', '.join(names)}")
    found = [integers(data.get(name), f"{where}: {name}") for name in names]
    if len({len(column) for column in found}) > 1:
        raise InvalidInput(f"{where}: the columns {', '.join(names)} have different lengths")
    return list(zip(*found, strict=True))


def integers(value: Any, where: str, width: int | None = None) -> Row:
    """A tuple of integers of a JSON list, `width` of them where that is given."""
    if not isinstance(value, list) or not all(type(v) is int and abs(v) <= EXACT for v in value):
        raise fail(where, value, "must be a list of integers")
    if width is not None and len(value) != width:
        raise fail(where, value, f"must have {width} entries")
    return tuple(value)


def lists(value: Any, where: str) -> list[Any]:
    """A JSON list; nothing (None) is an empty one."""
    if value is not None and not isinstance(value, list):
        raise fail(where, value, "must be a list")
    return value or []
