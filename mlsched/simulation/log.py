"""Logs: the events of a run, as read by the replay check and the metrics, and read from files.

The log of each world is a `Log` that names its columns; a world with more than one table extends it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, IntArray, field_error

Row = tuple[int, ...]


@dataclasses.dataclass(eq=False)
class Log:
    """Table with one row of integers per time segment; `names` lists its columns."""

    names: ClassVar[tuple[str, ...]] = ()
    #: Sort columns of the rows, most important first; empty for the order of writing.
    order: ClassVar[tuple[str, ...]] = ("start", "job")
    #: Defaults of columns; a column equal to its default in every row is left out of files, as in a `Record`.
    fill: ClassVar[Mapping[str, int]] = {}

    rows: list[Row] = dataclasses.field(default_factory=list)

    def columns(self) -> dict[str, IntArray]:
        """Return column name -> values, sorted by `order`."""
        return columns(self.rows, self.names, self.order)

    def to_json(self) -> Data:
        """Return the columns as lists."""
        entries = self.columns().items()
        return {name: values.tolist() for name, values in entries if (values != self.fill.get(name)).any()}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Build a log from the output of `to_json`."""
        return cls(rows_of(data, cls.names, fill=cls.fill))


def columns(rows: Sequence[Row], names: Sequence[str], order: Sequence[str]) -> dict[str, IntArray]:
    """Return column name -> values, with the rows sorted by the columns `order`, most important first."""
    table = _integer_table(rows, names)
    by = _sorted_rows(table, names, order)
    return {name: table[by, c] for c, name in enumerate(names)}


def ranks(rows: Sequence[Row], names: Sequence[str], order: Sequence[str]) -> IntArray:
    """Return the row numbers sorted by the columns `order`; in the given order if `order` is empty."""
    return _sorted_rows(_integer_table(rows, names), names, order)


def _integer_table(rows: Sequence[Row], names: Sequence[str]) -> IntArray:
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(names))


def _sorted_rows(table: IntArray, names: Sequence[str], order: Sequence[str]) -> IntArray:
    return np.lexsort([table[:, names.index(name)] for name in reversed(order)]) if order else np.arange(len(table))


def rows_of(
    data: Any,
    names: Sequence[str],
    where: str = "log",
    others: Sequence[str] = (),
    fill: Mapping[str, int] = MappingProxyType({}),
) -> list[Row]:
    """Return the rows of a JSON object of columns (the inverse of `columns`).

    Args:
        data: JSON object.
        names: Names of the columns.
        where: Place for error messages.
        others: Further names that the object may have.
        fill: Defaults of missing columns, see `Log`.

    Raises:
        InvalidInput: The object is not a table of integers.
    """
    if not isinstance(data, dict):
        raise field_error(where, data, "expected an object of columns")
    for name in data:
        if name not in names and name not in others:
            raise InvalidInput(f"{where}: {name}: unknown column; there are {', '.join(names)}")
    count = len(lists(data.get(names[0]), f"{where}: {names[0]}"))
    left_out = {name: [default] * count for name, default in fill.items() if name not in data}
    columns = [integers((data | left_out).get(name), f"{where}: {name}") for name in names]
    if len({len(column) for column in columns}) > 1:
        raise InvalidInput(f"{where}: the columns {', '.join(names)} have different lengths")
    return list(zip(*columns, strict=True))


def integers(value: Any, where: str, width: int | None = None) -> Row:
    """Return a JSON list as a tuple of integers, of length `width` if given."""
    if not isinstance(value, list) or not all(type(v) is int and abs(v) <= EXACT for v in value):
        raise field_error(where, value, "expected a list of integers of at most 2^53")
    if width is not None and len(value) != width:
        raise field_error(where, value, f"expected {width} entries")
    return tuple(value)


def lists(value: Any, where: str) -> list[Any]:
    """Return a JSON list; None becomes an empty list."""
    if value is not None and not isinstance(value, list):
        raise field_error(where, value, "expected a list")
    return value or []
