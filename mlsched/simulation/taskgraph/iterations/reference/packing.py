"""Nodes of each job, and moves of smaller jobs that make room for another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray

#: Nodes that are tried for a task without a node.
MOST_TRIED = 12

Nodes = tuple[int, ...]


class Packing:
    """Current placement of jobs.

    Attributes:
        free: Free amounts, shape (nodes, resources).
        places: Nodes of the tasks of each placed job (of its kind, the largest first).
        tasks, nodes: Of each kind of job, as in `Question`.
        kind: Kind of each job.
    """

    def __init__(self, capacity: IntArray, tasks: list[IntArray], nodes: list[IntArray], kind: IntArray) -> None:
        self.capacity, self.free = capacity, capacity.copy()
        self.places: dict[int, Nodes] = {}
        self._tasks, self._kind = tasks, kind.tolist()
        self._may: list[npt.NDArray[np.bool_]] = [row.astype(bool) for row in nodes]
        self._open = np.ones(len(capacity), dtype=bool)  # nodes on which jobs are placed
        self._of_node: list[set[int]] = [set() for _ in capacity]  # jobs of one task
        self._changes: list[tuple[int, Nodes]] = []  # who left, and from where; () for a new placement

    def begin(self) -> None:
        """Record changes from now on."""
        self._changes = []

    @property
    def before(self) -> dict[int, Nodes]:
        """Return the former places of each job changed since `begin`; () for unplaced ones."""
        return dict(reversed(self._changes))

    def leave(self, job: int) -> None:
        """Remove a job from its nodes."""
        nodes = self.places.pop(job)
        self._changes.append((job, nodes))
        for node, row in zip(nodes, self._tasks[self._kind[job]], strict=True):
            self.free[node] += row
        if len(nodes) == 1:
            self._of_node[nodes[0]].discard(job)

    def put(self, job: int, nodes: Nodes) -> bool:
        """Place a job on these nodes, if they have room."""
        rows = self._tasks[self._kind[job]]
        for node, row in zip(nodes, rows, strict=True):
            self.free[node] -= row
        if (self.free[list(nodes)] < 0).any():
            for node, row in zip(nodes, rows, strict=True):
                self.free[node] += row
            return False
        self._changes.append((job, ()))
        self.places[job] = nodes
        if len(nodes) == 1:
            self._of_node[nodes[0]].add(job)
        return True

    def place(self, job: int, *, moving: bool = False) -> bool:
        """Place each task of a job on the fitting node with least room, if possible.

        With `moving`, smaller jobs may move to make room, and for these still smaller ones. If that fails, the
        placement is unchanged.
        """
        kind, since = self._kind[job], len(self._changes)
        rows, may = self._tasks[kind], self._may[kind]
        nodes_chosen = list[int]()
        for row in rows:
            node = self._fitting_node(row, may)
            if node < 0 and moving:
                node = self._emptied_node(row, may)
            if node < 0:
                break
            self.free[node] -= row
            nodes_chosen.append(node)
        for node, row in zip(nodes_chosen, rows, strict=False):
            self.free[node] += row
        if len(nodes_chosen) == len(rows):
            return self.put(job, tuple(nodes_chosen))
        self._undo_changes(since)
        return False

    def _undo_changes(self, since: int) -> None:
        """Undo all changes after the first `since`."""
        while len(self._changes) > since:
            job, nodes = self._changes.pop()
            if nodes:
                self.put(job, nodes)
            else:
                self.leave(job)
            self._changes.pop()

    def _fitting_node(self, row: IntArray, may: npt.NDArray[np.bool_]) -> int:
        """Return the node with least room among those that have enough, or -1."""
        able = np.flatnonzero((self.free >= row).all(axis=1) & may & self._open)
        return int(able[self.free[able].sum(axis=1).argmin()]) if able.size else -1

    def _emptied_node(self, row: IntArray, may: npt.NDArray[np.bool_]) -> int:
        """Return a node with room for a task after moves of a few smaller jobs; -1 without moves if it fails."""
        tries: list[tuple[int, int, list[int]]] = []
        room = self.free[self._open].sum(axis=0)
        for node in np.flatnonzero(may & self._open & (self.capacity >= row).all(axis=1)).tolist():
            lacking = row - self.free[node]
            leaving = self._jobs_to_move(node, lacking, int(row.sum()))
            if leaving and (room - self.free[node] >= lacking).all():
                tries.append((len(leaving), node, leaving))
        for _, node, leaving in sorted(tries)[:MOST_TRIED]:
            since = len(self._changes)
            self._open[node] = False
            for job in leaving:
                self.leave(job)
            all_placed = all(self.place(job, moving=True) for job in leaving)
            self._open[node] = True
            if all_placed:
                return node
            self._undo_changes(since)
        return -1

    def _jobs_to_move(self, node: int, lacking: IntArray, below: int) -> list[int]:
        """Return few jobs on a node, each smaller than `below`, that cover the lacking amounts, the largest first.

        The result is empty if all of them do not suffice.
        """
        there = [(int((row := self._tasks[self._kind[job]][0]).sum()), job, row) for job in self._of_node[node]]
        there = sorted((entry for entry in there if entry[0] < below), key=lambda entry: entry[:2])
        all_placed: list[tuple[int, int]] = []
        while (lacking > 0).any():
            if not there:
                return []
            # The smallest that covers the lacking amounts, or the largest.
            at = next((k for k, (_, _, row) in enumerate(there) if (row >= lacking).all()), len(there) - 1)
            size, job, row = there.pop(at)
            all_placed.append((-size, job))
            lacking = lacking - row
        return [job for _, job in sorted(all_placed)]
