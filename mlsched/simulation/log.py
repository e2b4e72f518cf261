"""Logs: what happened in a run, as the replay check and the metrics read it, and how it is read from files.

Each world's log is a `Log` that names its columns; a world that writes down more than one table adds to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, IntArray, field_error

Row = tuple[int, ...]


@dataclasses.dataclass(eq=False)
class Log:
    """One row of integers for every segment of time; `names` says what they are."""

    names: ClassVar[tuple[str, ...]] = ()
    #: By which columns readers find the rows sorted, the most important first; by none: as they were written.
    order: ClassVar[tuple[str, ...]] = ("start", "job")
    #: Defaults of columns: one that has its default in every row is left out of files, as in a `Record`.
    fill: ClassVar[Mapping[str, int]] = {}

    rows: list[Row] = dataclasses.field(default_factory=list)

    def columns(self) -> dict[str, IntArray]:
        """Column name -> values, sorted by `order`."""
        return columns(self.rows, self.names, self.order)

    def to_json(self) -> dict[str, Any]:
        """The columns as lists."""
        found = self.columns().items()
        return {name: values.tolist() for name, values in found if (values != self.fill.get(name)).any()}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The inverse of `to_json`."""
        return cls(rows_of(data, cls.names, fill=cls.fill))


def columns(rows: Sequence[Row], names: Sequence[str], order: Sequence[str]) -> dict[str, IntArray]:
    """Column name -> values, the rows sorted by the columns `order`, the most important first."""
    table = _table(rows, names)
    by = _sorted(table, names, order)
    return {name: table[by, c] for c, name in enumerate(names)}


def ranks(rows: Sequence[Row], names: Sequence[str], order: Sequence[str]) -> IntArray:
    """The numbers of the rows, sorted by the columns `order`; without these as they are."""
    return _sorted(_table(rows, names), names, order)


def _table(rows: Sequence[Row], names: Sequence[str]) -> IntArray:
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(names))


def _sorted(table: IntArray, names: Sequence[str], order: Sequence[str]) -> IntArray:
    return np.lexsort([table[:, names.index(name)] for name in reversed(order)]) if order else np.arange(len(table))


def rows_of(
    data: Any,
    names: Sequence[str],
    where: str = "log",
    others: Sequence[str] = (),
    fill: Mapping[str, int] = MappingProxyType({}),
) -> list[Row]:
    """The rows of a JSON object of columns, the inverse of `columns`; refuses what is no table of integers.

    others: names that the object may have beside those of the columns. fill: see `Log`.
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
    """A tuple of integers of a JSON list, `width` of them where that is given."""
    if not isinstance(value, list) or not all(type(v) is int and abs(v) <= EXACT for v in value):
        raise field_error(where, value, "expected a list of integers, none beyond 2^53")
    if width is not None and len(value) != width:
        raise field_error(where, value, f"expected {width} entries")
    return tuple(value)


def lists(value: Any, where: str) -> list[Any]:
    """A JSON list; nothing (None) is an empty one."""
    if value is not None and not isinstance(value, list):
        raise field_error(where, value, "expected a list")
    return value or []
