"""Free amounts of each node at each tick, and the earliest time from which on a job fits some nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.simulation.taskgraph.iterations.reference.question import Question

#: Most entries (resources x nodes x ticks) of a board: about 800 MB.
MOST_ENTRIES = 4 * 10**8


class Board:
    """Free amounts of nodes over time; the board grows as jobs end later.

    Attributes:
        free: Free amounts, shape (resources, nodes, ticks), from the first release on.
        first: Tick of the first release.
    """

    def __init__(self, asked: Question, ticks: int) -> None:
        self.asked, self.first, self.ticks = asked, int(asked.release.min(initial=0)), 0
        self.free: npt.NDArray[np.signedinteger] = np.empty((asked.capacity.shape[1], len(asked.capacity), 0), np.int64)
        if asked.capacity.max(initial=0) < 2**15:
            self.free = self.free.astype(np.int16)
        self.length = asked.length.tolist()
        self.kind = asked.kind.tolist()
        self.may = [row.astype(bool) for row in asked.nodes]
        self.reach(ticks + 1)

    def reach(self, ticks: int) -> None:
        """Extend the board to at least `ticks` ticks."""
        if ticks <= self.ticks:
            return
        ticks = max(ticks, self.ticks + self.ticks // 4)
        if self.asked.capacity.size * ticks > MOST_ENTRIES:
            raise InvalidInput(
                f"reference: {len(self.asked.capacity)} nodes x {ticks} ticks are more than a schedule is looked for "
                "on; use longer ticks (tick=SECONDS)"
            )
        more = np.empty((*self.free.shape[:2], ticks - self.ticks), dtype=self.free.dtype)
        more[:] = self.asked.capacity.T[:, :, None]
        self.free, self.ticks = np.concatenate([self.free, more], axis=2), ticks

    def take(self, job: int, start: int, places: list[int], sign: int = -1) -> None:
        """Take a job's demand from a start on; with sign 1, release it."""
        begin = start - self.first
        self.reach(begin + self.length[job])
        for node, row in zip(places, self.asked.tasks[self.kind[job]].tolist(), strict=True):
            for r, amount in enumerate(row):
                if amount:
                    self.free[r, node, begin : begin + self.length[job]] += sign * amount

    def fitting(self, job: int, start: int, end_of: IntArray | None = None) -> list[int] | None:
        """Return nodes for the tasks of a job with this start; None if they do not fit.

        `end_of` is the last end of each node's jobs, which is to grow little; without it, the nodes with least room are
        taken.
        """
        begin, length, kind = start - self.first, self.length[job], self.kind[job]
        self.reach(begin + length)
        room = self.free[:, :, begin : begin + length].min(axis=2).T.astype(np.int64)  # shape (nodes, resources)
        places: list[int] = []
        for row in self.asked.tasks[kind]:
            able = np.flatnonzero((room >= row).all(axis=1) & self.may[kind])
            if not able.size:
                return None
            rest = (room[able] - row).sum(axis=1)
            if end_of is not None:
                later = start + length - end_of[able]
                node = int(able[np.lexsort((np.maximum(-later, 0), rest, np.maximum(later, 0)))[0]])
            else:
                node = int(able[rest.argmin()])
            room[node] -= row
            places.append(node)
        return places

    def soonest(self, job: int, after: int, until: int) -> int:
        """Return the first start in [after, until) at which each task has a node of its own; else `until`.

        For a job with tasks of several sizes, each needs a node of its own.
        """
        kind, length = self.kind[job], self.length[job]
        begin = after - self.first
        while begin < until - self.first:
            width = min(until - self.first - begin, max(4 * length, 256))
            end = min(begin + width + length - 1, self.ticks)
            fits = np.ones(max(end - begin - length + 1, 0), dtype=bool)
            if not fits.size:
                return until
            rows = self.asked.tasks[kind]
            if (rows == rows[0]).all():
                several = range(1, min(len(rows), self._most_on_node(rows[0])) + 1)
                fits &= sum(
                    self._count_free_nodes(m * rows[0], begin, end, length, self.may[kind]) for m in several
                ) >= len(rows)
            else:
                for count, row in enumerate(rows, 1):  # large tasks first: where they fit, smaller ones fit
                    fits &= self._count_free_nodes(row, begin, end, length, self.may[kind]) >= count
            first_fit = int(fits.argmax())
            if fits[first_fit]:
                return self.first + begin + first_fit
            begin += width
        return until

    def _most_on_node(self, row: IntArray) -> int:
        """Return the largest number of tasks of a demand on one node."""
        needs = row > 0
        return int((self.asked.capacity[:, needs] // row[needs]).min(axis=1).max()) if needs.any() else len(row)

    def _count_free_nodes(
        self, row: IntArray, begin: int, end: int, length: int, may: npt.NDArray[np.bool_]
    ) -> IntArray:
        """Return for each start in a window the number of nodes with room for a task for its full length.

        Args:
            row: Demand of the task.
            begin, end: Window of starts.
            length: Length of the task.
            may: Eligible nodes.
        """
        blocked = np.zeros((self.free.shape[1], end - begin), dtype=bool)
        for r, amount in enumerate(row.tolist()):
            if amount:
                blocked |= self.free[r, :, begin:end] < amount
        blocked[~may] = True
        sums = np.zeros((len(blocked), end - begin + 1), dtype=np.int32)
        np.cumsum(blocked, axis=1, out=sums[:, 1:])
        return np.asarray((sums[:, length:] == sums[:, :-length]).sum(axis=0))
