"""Columns of what is in the system now, in order of arrival: what is gone or yet to come costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlsched.core.fields import IntArray


class Table:
    """Integer columns by name, one entry a job or task. `fixed` ones never change while their entry is there, so that
    what was handed out of them stays as it was; of `moving` ones copies are handed out.
    """

    def __init__(self, fixed: Sequence[str], moving: Sequence[str]) -> None:
        self._fixed = {name: row for row, name in enumerate(fixed)}
        self._moving = {name: row for row, name in enumerate(moving)}
        self._data = [np.zeros((len(names), 64), dtype=np.int64) for names in (fixed, moving)]
        self._columns: dict[str, IntArray] = {}  # those that were asked for since entries last came or went
        self.count = 0

    def __getitem__(self, name: str) -> IntArray:
        """A column as it is now; moving ones may be written to."""
        try:
            return self._columns[name]
        except KeyError:
            moves = name in self._moving
            row = self._moving[name] if moves else self._fixed[name]
            column = self._columns[name] = self._data[moves][row, : self.count]
            column.flags.writeable = moves
            return column

    def append(self, count: int, entries: Mapping[str, IntArray | int]) -> None:
        """Add entries at the end; columns that are not named are 0."""
        end = self.count + count
        for side, names in enumerate((self._fixed, self._moving)):
            if end > self._data[side].shape[1]:
                larger = np.zeros((len(names), 2 * end), dtype=np.int64)
                larger[:, : self.count] = self._data[side][:, : self.count]
                self._data[side] = larger
            self._data[side][:, self.count : end] = 0
            for name, values in entries.items():
                if name in names:
                    self._data[side][names[name], self.count : end] = values
        self._columns.clear()
        self.count = end

    def remove(self, first: int, end: int) -> None:
        """Take entries out. Fixed columns move to fresh memory: those handed out stay as they are."""
        remaining = self.count - (end - first)
        for side, data in enumerate(self._data):
            fresh = np.empty_like(data)
            fresh[:, :first] = data[:, :first]
            fresh[:, first:remaining] = data[:, end : self.count]
            self._data[side] = fresh
        self._columns.clear()
        self.count = remaining

    def seen(self, names: Sequence[str]) -> dict[str, IntArray]:
        """Fixed columns to hand out, read-only."""
        return {name: self[name] for name in names}

    def block(self, first: str, count: int) -> IntArray:
        """So many fixed columns from the first on as one array, columns x entries, to hand out, read-only."""
        row = self._fixed.get(first, 0)
        block = self._data[0][row : row + count, : self.count]
        block.flags.writeable = False
        return block
