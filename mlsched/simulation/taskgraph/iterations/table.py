"""Columns of what is in the system now, in order of arrival: what is gone or yet to come costs next to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlsched.core.fields import IntArray

#: With so many entries at most, columns are short.
SHORT = 1000
#: So many entries that are gone stay where they were, at least.
FEW = 64


class Table:
    """Integer columns by name, one entry a job or task, at the same position in each.

    `fixed` columns never change while their entry is there; `moving` ones do. Entries are added before they are there,
    and admitted one after another. One that is gone stays where it is until more are gone than there: then those that
    are there move up, into fresh memory, so that what was read out of the old stays as it was.
    """

    def __init__(self, fixed: Sequence[str], moving: Sequence[str]) -> None:
        self.rows = {name: (side, row) for side, names in enumerate((fixed, moving)) for row, name in enumerate(names)}
        self.blocks = [np.zeros((len(names), FEW), dtype=np.int64) for names in (fixed, moving)]
        self._there = np.zeros(FEW, dtype=np.bool_)
        self._added = 0  # entries, with those that are gone or not admitted yet
        self._end = 0  # of these, before the first one that is not admitted yet
        self._here: IntArray | slice | None = None
        self.count = 0  # entries that are there

    def __getitem__(self, name: str) -> IntArray:
        """A column by position."""
        side, row = self.rows[name]
        column: IntArray = self.blocks[side][row]
        return column

    def find(self, name: str, values: IntArray) -> IntArray:
        """The first position at which a rising fixed column is at least each of the values."""
        return np.asarray(self[name][: self._added].searchsorted(values))

    def positions(self, first: int = 0) -> IntArray:
        """Where the entries are that are there or were added for later, from a position on."""
        there = np.flatnonzero(self._there[first : self._end]) + first
        return np.concatenate([there, np.arange(max(first, self._end), self._added)])

    @property
    def waits(self) -> int:
        """How many entries have been added and are not admitted yet."""
        return self._added - self._end

    def add(self, count: int, entries: Mapping[str, IntArray | int]) -> int:
        """Add entries at the end, and return the position of the first; columns that are not named are 0."""
        first, end = self._added, self._added + count
        if end > len(self._there):
            self._move(slice(0, first), 2 * end)
        for name, values in entries.items():
            side, row = self.rows[name]
            self.blocks[side][row, first:end] = values
        self._added = end
        return first

    def admit(self, count: int) -> None:
        """The next so many of those that were added are there from now on."""
        self._there[self._end : self._end + count] = True
        self._end += count
        self.count += count
        self._here = None

    def remove(self, first: int, end: int) -> bool:
        """The entries from a position to before another are gone. True: others have changed their position."""
        self._there[first:end] = False
        self.count -= end - first
        self._here = None
        if self._end - self.count <= max(FEW, self.count):
            return False
        kept, waits = self.positions(), self.waits
        self._move(kept, max(FEW, 2 * len(kept)))
        self._added, self._end = len(kept), len(kept) - waits
        return True

    def _move(self, kept: IntArray | slice, room: int) -> None:
        """To fresh memory with so much room; the rest of it is 0."""
        there, blocks = self._there[kept], [block[:, kept] for block in self.blocks]
        self._there = np.zeros(room, dtype=np.bool_)
        self._there[: len(there)] = there
        for side, block in enumerate(blocks):
            self.blocks[side] = np.zeros((len(block), room), dtype=np.int64)
            self.blocks[side][:, : len(there)] = block

    def here(self) -> IntArray | slice:
        """The positions of the entries that are there, in order of arrival."""
        if self._here is None:
            whole = self.count == self._end
            self._here = slice(0, self._end) if whole else np.flatnonzero(self._there[: self._end])
        return self._here


class Seen:
    """The entries of a table that are there now. Their columns may be read later, if `keep` is called before a change.

    Where there are few entries, all columns are taken at once, which is as quick as to take two of them. Threads may
    read at the same time: a block is replaced together with where the entries are in it.
    """

    def __init__(self, table: Table) -> None:
        self.count, self._rows = table.count, table.rows
        #: Of each side: the block, and where these entries are in it; None: it is theirs alone.
        self._sides: list[tuple[IntArray, IntArray | slice | None]] = [(block, table.here()) for block in table.blocks]

    def keep(self) -> None:
        """The table is about to change."""
        self._take(1)

    def _take(self, side: int) -> IntArray:
        """The block of these entries alone."""
        block, here = self._sides[side]
        if here is not None:
            block = block[:, here].copy() if isinstance(here, slice) else block.take(here, axis=1)
            self._sides[side] = block, None
        return block

    def __getitem__(self, name: str) -> IntArray:
        """A column of the entries, which nobody else writes to."""
        side, row = self._rows[name]
        return self.columns(side, row)

    def columns(self, side: int, rows: int | slice) -> IntArray:
        """A column, or several of one block, columns x entries."""
        block, here = self._sides[side]
        if here is None or self.count <= SHORT:
            return np.asarray(self._take(side)[rows])
        found = block[rows]
        return np.asarray(found[..., here].copy() if isinstance(here, slice) else found.take(here, axis=-1))
