"""Columns of the current jobs or tasks, in order of arrival; past and future ones are almost free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlsched.core.fields import IntArray

#: Columns up to this number of entries are short.
SHORT = 1000
#: Least number of removed entries before the others are moved.
FEW = 64


class Table:
    """Integer columns by name, one entry per job or task, at the same position in each.

    `fixed` columns never change while their entry is present; `moving` ones do. Entries are added before they are
    present, and admitted one after another. A removed entry keeps its position until removed entries outnumber the
    present ones. Then the present ones move up, into new memory, so that earlier views of the old memory stay valid.
    """

    def __init__(self, fixed: Sequence[str], moving: Sequence[str]) -> None:
        self.rows = {name: (side, row) for side, names in enumerate((fixed, moving)) for row, name in enumerate(names)}
        self.blocks = [np.zeros((len(names), FEW), dtype=np.int64) for names in (fixed, moving)]
        self._is_present = np.zeros(FEW, dtype=np.bool_)
        self._added = 0  # entries, including removed and future ones
        self._end = 0  # position of the first future entry
        self._positions_or_none: IntArray | slice | None = None
        self.count = 0  # present entries

    def __getitem__(self, name: str) -> IntArray:
        """Return a column by position."""
        side, row = self.rows[name]
        column: IntArray = self.blocks[side][row]
        return column

    def find(self, name: str, values: IntArray) -> IntArray:
        """Return for each value the first position at which a fixed, rising column reaches it."""
        return np.asarray(self[name][: self._added].searchsorted(values))

    def positions(self, first: int = 0) -> IntArray:
        """Return the positions of present and future entries, from a position on."""
        there = np.flatnonzero(self._is_present[first : self._end]) + first
        return np.concatenate([there, np.arange(max(first, self._end), self._added)])

    @property
    def waits(self) -> int:
        """Return the number of added entries that are not admitted yet."""
        return self._added - self._end

    def add(self, count: int, entries: Mapping[str, IntArray | int]) -> int:
        """Add entries at the end, and return the position of the first; missing columns are 0."""
        first, end = self._added, self._added + count
        if end > len(self._is_present):
            self._move_entries(slice(0, first), 2 * end)
        for name, values in entries.items():
            side, row = self.rows[name]
            self.blocks[side][row, first:end] = values
        self._added = end
        return first

    def admit(self, count: int) -> None:
        """Admit the next `count` added entries."""
        self._is_present[self._end : self._end + count] = True
        self._end += count
        self.count += count
        self._positions_or_none = None

    def remove(self, first: int, end: int) -> bool:
        """Remove the entries in a range of positions; return True if others have changed their position."""
        self._is_present[first:end] = False
        self.count -= end - first
        self._positions_or_none = None
        if self._end - self.count <= max(FEW, self.count):
            return False
        positions, waits = self.positions(), self.waits
        self._move_entries(positions, max(FEW, 2 * len(positions)))
        self._added, self._end = len(positions), len(positions) - waits
        return True

    def _move_entries(self, positions: IntArray | slice, room: int) -> None:
        """Move the entries to new memory of `room` entries; the rest of it is 0."""
        there, blocks = self._is_present[positions], [block[:, positions] for block in self.blocks]
        self._is_present = np.zeros(room, dtype=np.bool_)
        self._is_present[: len(there)] = there
        for side, block in enumerate(blocks):
            self.blocks[side] = np.zeros((len(block), room), dtype=np.int64)
            self.blocks[side][:, : len(there)] = block

    def present_positions(self) -> IntArray | slice:
        """Return the positions of the present entries, in order of arrival."""
        if self._positions_or_none is None:
            whole = self.count == self._end
            self._positions_or_none = slice(0, self._end) if whole else np.flatnonzero(self._is_present[: self._end])
        return self._positions_or_none


class Seen:
    """Present entries of a table. Their columns may be read later, if `keep` is called before a change.

    With few entries, all columns are copied at once, which is as fast as copying two of them. Threads may read at the
    same time: a block is replaced together with the entries' positions in it.
    """

    def __init__(self, table: Table) -> None:
        self.count, self._rows = table.count, table.rows
        #: Block of each side, and these entries' positions in it; None: the block has only these entries.
        self._sides: list[tuple[IntArray, IntArray | slice | None]] = [
            (block, table.present_positions()) for block in table.blocks
        ]

    def keep(self) -> None:
        """Copy all columns, before the table changes."""
        self._take_entries(1)

    def _take_entries(self, side: int) -> IntArray:
        """Copy the present entries of a block, unless they are copied already; return the copy."""
        block, here = self._sides[side]
        if here is not None:
            block = block[:, here].copy() if isinstance(here, slice) else block.take(here, axis=1)
            self._sides[side] = block, None
        return block

    def __getitem__(self, name: str) -> IntArray:
        """Return a column of the entries, which is not written to elsewhere."""
        side, row = self._rows[name]
        return self.columns(side, row)

    def columns(self, side: int, rows: int | slice) -> IntArray:
        """Return a column, or several of one block, shape (columns, entries)."""
        block, here = self._sides[side]
        if here is None or self.count <= SHORT:
            return np.asarray(self._take_entries(side)[rows])
        column = block[rows]
        return np.asarray(column[..., here].copy() if isinstance(here, slice) else column.take(here, axis=-1))
