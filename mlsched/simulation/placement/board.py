"""Harmony's states side by side (Bao, Peng and Wu, INFOCOM 2019, Section IV-A), with their features and actions.

A board has `rows` states of one shape. The N slots for concurrent jobs are N' for waiting jobs, in arrival order,
followed by R for running jobs. An action (n, k, m) puts one worker (k = 0) or one PS (k = 1) of the waiting job n on
server m. Its number is (2 n + k) M + m, of 2 M N' in all. The board does not model interference.

The paper gives neither the order of the tasks of several jobs nor the treatment of jobs that do not fit completely.
Here a job that is begun is finished before the next is begun. If its next task has no room on any server, it is taken
back and waits for another interval. Every placement can be reached in this way, jobs are never left partly placed, and
on empty servers some job is placed.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import numpy as np

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.instances.placement import Instance, Plan

#: Type of an empty slot.
NOBODY = -1
#: Unit of task counts in the features.
TASKS_UNIT = 3.0
Size = Annotated[int, Range(1, 10**4)]


@dataclasses.dataclass(frozen=True)
class Shape(ValidatedFields):
    """Sizes of a state: types L, servers M, resources K, new N' and running R slots, which together are N."""

    types: Size
    servers: Size
    resources: Size
    new: Size
    running: Size

    @property
    def slots(self) -> int:
        """Return N."""
        return self.new + self.running

    @property
    def actions(self) -> int:
        """Return 2 M N'."""
        return 2 * self.servers * self.new

    @property
    def of_job(self) -> int:
        """Return the features of a slot: its row of x (L) and of r (2 + 2 K), and its entries of w and p."""
        return self.types + 2 * (1 + self.resources) + 2

    @property
    def of_server(self) -> int:
        """Return the features of a server: its rows of v (K) and of d (2 N)."""
        return self.resources + 2 * self.slots

    @property
    def features(self) -> int:
        """Return the features of a state: all slots, then all servers."""
        return self.slots * self.of_job + self.servers * self.of_server


class Board:
    """Arrays of `rows` states, with one row each.

    Attributes:
        kind: Type of each slot, shape (N,); NOBODY: empty.
        asked: All workers and all PSs of each job, shape (N, 2).
        need: Demand of a worker and of a PS, shape (N', 2, K).
        capacity, free: Resources of each server, shape (M, K).
        on: Workers and PSs of each slot on each server, shape (M, N, 2).
        room: Most waiting jobs that may be begun.
        closed: Jobs that were taken back, shape (N',).
    """

    def __init__(self, shape: Shape, rows: int, apart: IntArray | None = None) -> None:
        self.shape, self.rows = shape, rows
        s = shape
        self.kind = np.full((rows, s.slots), NOBODY, dtype=np.int64)
        self.asked = np.zeros((rows, s.slots, 2), dtype=np.int64)
        self.need = np.zeros((rows, s.new, 2, s.resources), dtype=np.int64)
        self.capacity = np.ones((rows, s.servers, s.resources), dtype=np.int64)
        self.free = np.zeros((rows, s.servers, s.resources), dtype=np.int64)
        self.on = np.zeros((rows, s.servers, s.slots, 2), dtype=np.int64)
        self.room = np.full(rows, s.new, dtype=np.int64)
        self.closed = np.zeros((rows, s.new), dtype=bool)
        self.apart = apart if apart is not None and apart.any() else None

    def valid(self, chosen: IntArray) -> Any:
        """Return which actions are valid in some rows, shape (rows, actions).

        Jobs that cannot be finished are taken back.
        """
        valid = self._valid_mask(chosen)
        while (stuck := chosen[~valid.any(axis=1) & self._partly_placed(chosen).any(axis=1)]).size:
            self._remove_partial(stuck)
            valid = self._valid_mask(chosen)
        return valid

    def _valid_mask(self, rows: IntArray) -> Any:
        """Return the valid actions, shape (rows, actions).

        An action is valid if the job lacks such a task, other jobs are not partly placed, and the server has room.
        """
        new = self.shape.new
        lacks = self.on[rows, :, :new].sum(axis=1) < self.asked[rows, :new]
        lacks &= self._jobs_in_turn(rows)[..., None]
        fits = (self.need[rows][:, :, :, None] <= self.free[rows][:, None, None]).all(axis=-1)
        mask = lacks[..., None] & fits
        if self.apart is not None:
            mask &= ~self._banned_servers(rows)[:, :, None]
        return mask.reshape(len(mask), self.shape.actions)

    def _jobs_in_turn(self, rows: IntArray) -> Any:
        """Return the jobs whose tasks may come next, shape (rows, N').

        They are the partly placed job, else all while there is room.
        """
        parts = self._partly_placed(rows)
        full = self.fully_placed(rows).sum(axis=1) >= self.room[rows]
        return np.where(parts.any(axis=1)[:, None], parts, ~self.closed[rows] & ~full[:, None])

    def _partly_placed(self, rows: IntArray) -> Any:
        """Return which jobs have some of their tasks placed, but not all, shape (rows, N')."""
        return self.on[rows, :, : self.shape.new].any(axis=(1, 3)) & ~self.fully_placed(rows)

    def _remove_partial(self, rows: IntArray) -> None:
        """Remove the partly placed job; it waits."""
        row, job = np.nonzero(self._partly_placed(rows))
        row, new = rows[row], slice(self.shape.new)
        there = self.on[row, :, new][np.arange(len(row)), :, job]  # shape (jobs, M, 2)
        self.free[row] += np.einsum("jmk,jkr->jmr", there, self.need[row, job])
        self.on[row, :, job] = 0
        self.closed[row, job] = True

    def _banned_servers(self, rows: IntArray) -> Any:
        """Return the servers with a type from which the job must stay apart, shape (rows, N', M)."""
        assert self.apart is not None
        new, kind = self.shape.new, self.kind[rows]
        foreign = self.apart[kind[:, :new, None], kind[:, None, :]] > 0
        foreign &= (kind[:, :new, None] != NOBODY) & (kind[:, None, :] != NOBODY)
        foreign[:, range(new), range(new)] = False
        there: Any = self.on[rows].any(axis=-1)
        return (foreign[:, :, None] & there[:, None]).any(axis=-1)

    def act(self, rows: IntArray, actions: IntArray) -> None:
        """Put one task on a server in each of `rows`, by its action; the actions must be valid."""
        job, kind, server = np.unravel_index(actions, (self.shape.new, 2, self.shape.servers))
        self.on[rows, server, job, kind] += 1
        self.free[rows, server] -= self.need[rows, job, kind]

    def fully_placed(self, chosen: IntArray) -> Any:
        """Return which waiting jobs have all their tasks placed, shape (rows, N')."""
        new = self.shape.new
        placed = self.on[chosen, :, :new].sum(axis=1)
        return (placed == self.asked[chosen, :new]).all(axis=-1) & (self.kind[chosen, :new] != NOBODY)

    def features(self, chosen: IntArray) -> Any:
        """Return the features of the states (float32), slot by slot, then server by server; see `Shape`.

        The shape is (rows, features). Tasks are in units of TASKS_UNIT, demands and free resources in shares of a
        server.
        """
        s = self.shape
        kind, on, rows = self.kind[chosen], self.on[chosen], len(self.kind[chosen])
        jobs = np.zeros((rows, s.slots, s.of_job), dtype=np.float32)
        jobs[..., : s.types] = kind[..., None] == np.arange(s.types)
        # Of workers and of PSs: the number of tasks, then the demand of one.
        demand = np.zeros((rows, s.slots, 2, 1 + s.resources), dtype=np.float32)
        demand[..., 0] = self.asked[chosen] / TASKS_UNIT
        demand[:, : s.new, :, 1:] = self.need[chosen] / np.maximum(self.capacity[chosen].max(axis=1), 1)[:, None, None]
        jobs[..., s.types : s.types + 2 * (1 + s.resources)] = demand.reshape(rows, s.slots, -1)
        jobs[..., -2:] = on.sum(axis=1) / TASKS_UNIT
        servers = np.zeros((rows, s.servers, s.of_server), dtype=np.float32)
        servers[..., : s.resources] = self.free[chosen] / np.maximum(self.capacity[chosen], 1)
        servers[..., s.resources :] = on.reshape(rows, s.servers, -1) / TASKS_UNIT
        return np.concatenate([jobs.reshape(rows, -1), servers.reshape(rows, -1)], axis=1)

    # -- single question ----------------------------------------------------------------------------------------------

    def read(self, instance: Instance, kinds: IntArray, row: int = 0) -> None:
        """Load a question: its first N' waiting jobs and all its running ones; `kinds` has the number of each type."""
        s, waits = self.shape, min(self.shape.new, len(instance.job_type))
        runs = len(instance.run_type)
        self.kind[row], self.asked[row], self.need[row], self.on[row], self.closed[row] = NOBODY, 0, 0, 0, False
        self.kind[row, :waits] = kinds[instance.job_type[:waits]]
        self.asked[row, :waits] = np.stack([instance.job_workers, instance.job_ps], axis=1)[:waits]
        self.need[row, :waits] = np.stack([instance.worker_demand, instance.ps_demand], axis=1)[:waits]
        behind = slice(s.new, s.new + runs)
        self.kind[row, behind] = kinds[instance.run_type]
        running = np.stack([instance.run_workers, instance.run_ps], axis=-1)
        self.asked[row, behind] = running.sum(axis=1)
        self.on[row, :, behind] = np.moveaxis(running, 0, 1)
        self.capacity[row], self.free[row] = instance.server_capacity, instance.server_free
        self.room[row] = max(0, min(s.new, instance.most_new, instance.most_jobs - runs, s.slots - runs))

    def plan(self, instance: Instance, row: int = 0) -> Plan:
        """Return the completely placed jobs of the loaded question; partly placed jobs wait."""
        tables = np.zeros((2, len(instance.job_type), self.shape.servers), dtype=np.int64)
        waits = min(self.shape.new, len(instance.job_type))
        placed = self.on[row, :, :waits] * self.fully_placed(np.array([row]))[0, :waits, None]
        tables[:, :waits] = np.moveaxis(placed, (2, 1), (0, 1))
        return Plan(workers=tables[0], ps=tables[1])
