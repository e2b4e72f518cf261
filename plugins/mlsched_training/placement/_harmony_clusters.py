"""Clusters side by side for Harmony's training: jobs arrive, are placed by actions, run at given speeds, and leave.

This is the simulator of placement with departures at the end of an interval, for many clusters at once. The reward
model predicts the speeds; on live clusters they are measured. While more than
`MOST_WAITING` jobs wait, arriving jobs are rejected. Otherwise, the queue of a poor policy would grow without limit,
and the policy would never meet the states of a good policy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import IntArray
from mlsched.instances.placement.generate import EPOCHS, isolated_speed, worker_demand
from mlsched.instances.placement.models import PS, SERVER, WORKER
from mlsched.simulation.placement.board import NOBODY, Board, Shape
from mlsched.simulation.placement.synthetic import mean_length, variants

#: A job that waits: type, workers, PSs, K in jobs per interval.
Job = tuple[int, int, int, float]
#: Longest queue, in N'.
MOST_WAITING = 2
#: speeds(rows) -> relative speeds of all slots of these clusters (rows x N).
Speeds = Callable[[IntArray], Any]


class Clusters:
    """`rows` clusters. rate: jobs per interval, drawn uniformly from 0 to twice that; load: see `synthetic`.

    relative: speeds of all jobs so far, relative to their isolated speed; the owner empties it. speeds: set by the
    owner. Every row is at a decision (some action is valid) after `begin` and after `finish`.
    """

    def __init__(self, shape: Shape, rows: int, rate: float, load: float) -> None:
        self.board, self.rate = Board(shape, rows), rate
        self.board.capacity[:] = self.board.free[:] = SERVER
        self.mean = mean_length(load, shape.servers * SERVER[0], rate, 2 * (WORKER[0] + PS[0]))
        self.waiting: list[deque[Job]] = [deque() for _ in range(rows)]
        self.taken: list[list[Job]] = [[] for _ in range(rows)]
        self.pace = np.zeros((rows, shape.slots))
        self.done = np.zeros((rows, shape.slots))
        self.demand = np.zeros((rows, shape.slots, 2, shape.resources), dtype=np.int64)
        self.speeds: Speeds | None = None
        self.relative: list[float] = []

    def begin(self, rng: np.random.Generator) -> None:
        """Let jobs arrive until there is something to decide everywhere."""
        every = np.arange(self.board.rows)
        for row in every.tolist():
            self._add_arrivals(row, rng)
            self._show_waiting(row)
        self._until_decisions(every, rng)

    def finish(self, rows: IntArray, rng: np.random.Generator) -> Any:
        """End the decisions of `rows`: completely placed jobs start, all train, and the next interval begins.

        Returns the sum of normalised speeds in the interval (Eq. 1).
        """
        reward = self._run_interval(rows, rng)
        self._until_decisions(rows, rng)
        return reward

    def _until_decisions(self, rows: IntArray, rng: np.random.Generator) -> None:
        """Advance past intervals without a decision."""
        while (rows := rows[~self.board.valid(rows).any(axis=1)]).size:
            self._run_interval(rows, rng)

    def _run_interval(self, rows: IntArray, rng: np.random.Generator) -> Any:
        """Run one interval of some rows, up to the waiting jobs of the next."""
        whole = self.board.fully_placed(rows)
        for row, placed in zip(rows.tolist(), whole, strict=True):
            self._start_placed_jobs(row, placed)
        assert self.speeds is not None
        relative = self.speeds(rows)
        self.relative += relative[relative > 0].tolist()
        speed = self.pace[rows] * relative
        self.done[rows] += speed
        for row in rows.tolist():
            self._remove_finished(row)
            self._add_arrivals(row, rng)
            self._show_waiting(row)
        return speed.sum(axis=1)

    def _start_placed_jobs(self, row: int, placed: Array) -> None:
        """Move placed jobs to slots of running jobs; the others wait, in their order."""
        board, new = self.board, self.board.shape.new
        for job in range(new):
            if board.kind[row, job] == NOBODY:
                continue
            if not placed[job]:
                continue
            slot = new + int(np.flatnonzero(board.kind[row, new:] == NOBODY)[0])
            board.kind[row, slot], board.asked[row, slot] = board.kind[row, job], board.asked[row, job]
            board.on[row, :, slot] = board.on[row, :, job]
            self.demand[row, slot], self.done[row, slot] = board.need[row, job], 0.0
            self.pace[row, slot] = self.taken[row][job][3]
        waiting = [job for k, job in enumerate(self.taken[row]) if not placed[k]]
        self.waiting[row].extendleft(reversed(waiting))
        self.taken[row] = []
        board.kind[row, :new], board.on[row, :, :new], board.asked[row, :new] = NOBODY, 0, 0

    def _remove_finished(self, row: int) -> None:
        """Remove finished jobs."""
        board, new = self.board, self.board.shape.new
        for slot in np.flatnonzero((self.done[row, new:] >= 1) & (board.kind[row, new:] != NOBODY)) + new:
            board.free[row] += np.einsum("mk,kr->mr", board.on[row, :, slot], self.demand[row, slot])
            board.kind[row, slot], board.on[row, :, slot], board.asked[row, slot] = NOBODY, 0, 0
            self.pace[row, slot] = self.done[row, slot] = 0.0

    def _add_arrivals(self, row: int, rng: np.random.Generator) -> None:
        """Add the jobs that arrive in one interval."""
        count = int(rng.integers(0, round(2 * self.rate) + 1))
        kind, workers, ps, length = (column.tolist() for column in variants(rng, count))
        room = MOST_WAITING * self.board.shape.new - len(self.waiting[row])
        for k, w, p, x in list(zip(kind, workers, ps, length, strict=True))[: max(0, room)]:
            self.waiting[row].append((k, w, p, isolated_speed(EPOCHS * w, x * self.mean) / 1e6))

    def _show_waiting(self, row: int) -> None:
        """Put the first N' waiting jobs into their slots."""
        board, new = self.board, self.board.shape.new
        board.closed[row], board.need[row] = False, 0
        for slot in range(min(new, len(self.waiting[row]))):
            job = self.waiting[row].popleft()
            self.taken[row].append(job)
            board.kind[row, slot], board.asked[row, slot] = job[0], job[1:3]
            board.need[row, slot] = worker_demand(job[0]), PS
        running = int((board.kind[row, new:] != NOBODY).sum())
        board.room[row] = min(new, board.shape.running - running)
