"""Snapshots of the world for schedulers, built by the trusted path (fresh arrays, unvalidated)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import DONE, PAUSED, RUNNING, WAITING
from mlsched.simulation.taskgraph.losses import error_rates, learning, samples

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.world import TaskgraphWorld

#: Fields that are the same in every snapshot with the same active jobs.
_OF_JOBS = ("arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations")
_OF_TASKS = ("demand", "parameters", "role", "replica")
_OF_EDGES = ("edge_lag", "edge_volume", "edge_delay")
#: Columns of jobs that a horizon lacks.
_NOT_OF_JOBS = ("user", "option", "permits", "payment", "time_limit", "priority")
#: Columns of the world's own state.
_STATE_OF_JOBS = ("stop_after", "finished", "on_time", "first_start", "preemptions")
_STATE_OF_TASKS = ("state", "node", "start", "end", "progress", "home", "last_end")


class View:
    """Builder of a world's snapshots. `jobs` and `tasks` are those of the last one, by their numbers in the horizon."""

    def __init__(self, world: TaskgraphWorld) -> None:
        self.world = world
        self.jobs: IntArray = np.zeros(0, dtype=np.int64)
        self.tasks: IntArray = np.zeros(0, dtype=np.int64)
        self._place: IntArray = np.zeros(0, dtype=np.int64)
        self._fixed: Data | None = None
        classes, class_of = np.unique(world.horizon.eligible, axis=0, return_inverse=True)
        self._classes, self._class_of = classes, class_of.reshape(-1)
        self._classes.flags.writeable = False
        accuracy = world.horizon.accuracy
        self._losses, self._learns = error_rates(accuracy), learning(accuracy)

    def snapshot(self) -> Snapshot:
        """Return the current snapshot."""
        world = self.world
        horizon, jobs = world.horizon, np.array(world.active, dtype=np.int64)
        if self._fixed is None or not np.array_equal(jobs, self.jobs):
            self._fixed = self._select(jobs)
        busy = world.running_of[jobs] > 0
        running = np.array(list(world.running), dtype=np.int64)
        service = world.service.copy()
        use = horizon.demand[running] * (world.now - world.start[running])[:, None]
        np.add.at(service, horizon.task_job[running], use)
        return Snapshot.trusted(
            **self._fixed,
            in_use=world.in_use.copy(),
            now=world.now,
            duration=world.estimate[self.tasks],
            accuracy_seen=horizon.accuracy[jobs, world.finished[jobs]],
            service=service[jobs],
            executed=world.executed[jobs] + np.where(busy, world.now - world.busy_since[jobs], 0),
            idle_since=np.where(busy, world.now, world.idle_since[jobs]),
            **{name: getattr(world, name)[jobs] for name in _STATE_OF_JOBS},
            **{name: getattr(world, name)[self.tasks] for name in _STATE_OF_TASKS},
            **samples(self._losses, np.where(self._learns[jobs], jobs, -1), world.finished[jobs]),
            waiting_since=self._waiting_since()[self.tasks],
            usage=horizon.demand[self.tasks] * self._running_mask()[self.tasks, None],
            gpu=world.board.gpu[self.tasks],
            gpu_in_use=world.board.total - world.board.free,
            gpu_holder=self._place[world.board.holder],
        )

    def _running_mask(self) -> IntArray:
        """Return 1 for each running task, which uses its demand, else 0, shape (tasks of the horizon,)."""
        world = self.world
        return np.asarray((world.state == RUNNING) & (world.horizon.duration > 0), dtype=np.int64)

    def _waiting_since(self) -> IntArray:
        """Return since when each task could have run, given room, shape (tasks of the horizon,).

        It is the current time if the task runs or cannot run yet. A waiting task could run since its iteration began
        and its sources were done, a paused one since its pause.
        """
        world, horizon = self.world, self.world.horizon
        begin = horizon.arrival.copy()
        np.maximum.at(begin, horizon.task_job, world.last_end)
        since = begin[horizon.task_job]
        inside = horizon.edge_lag == 0
        u, v = horizon.edge_from[inside], horizon.edge_to[inside]
        np.maximum.at(since, v, np.where(world.state[u] == DONE, world.end[u], world.now))
        since = np.where(world.state == PAUSED, world.paused_at, since)
        return np.where((world.state == WAITING) | (world.state == PAUSED), np.minimum(since, world.now), world.now)

    def has_choice(self, snapshot: Snapshot) -> bool:
        """Check whether some task could start on a node with room."""
        free = snapshot.free
        for task in np.flatnonzero(snapshot.startable).tolist():
            room = (snapshot.demand[task] <= free).all(axis=1) | (snapshot.duration[task] == 0)
            room &= self.world.board.room(int(self.tasks[task]))
            if (room & snapshot.may_start_on(task)).any():
                return True
        return False

    def _select(self, jobs: IntArray) -> dict[str, IntArray]:
        """Return the fields that change only if a job arrives or leaves."""
        world, horizon = self.world, self.world.horizon
        self.jobs = jobs
        self.tasks = np.flatnonzero(np.isin(horizon.task_job, jobs))
        # The number of each task in snapshots; the last entry is for "no task".
        place = self._place = np.full(len(horizon.task_job) + 1, -1)
        place[self.tasks] = np.arange(len(self.tasks))
        edges = np.flatnonzero(place[horizon.edge_from] >= 0)
        selected: Data = {
            "job_id": jobs,
            "task_job": np.searchsorted(jobs, horizon.task_job[self.tasks]),
            "edge_from": place[horizon.edge_from[edges]],
            "edge_to": place[horizon.edge_to[edges]],
            "accuracy": horizon.accuracy[jobs],
            "accuracy_table": np.arange(len(jobs)),
            "gang": np.zeros(len(jobs), dtype=np.int64),
            **{name: np.zeros(len(jobs), dtype=np.int64) for name in _NOT_OF_JOBS},
            "pause_cost": np.full(len(jobs), world.pause_cost),
            "task_class": self._class_of[self.tasks],
            **{name: getattr(horizon, name)[jobs] for name in _OF_JOBS},
            **{name: getattr(horizon, name)[self.tasks] for name in _OF_TASKS},
            **{name: getattr(horizon, name)[edges] for name in _OF_EDGES},
        }
        for column in selected.values():
            column.flags.writeable = False  # earlier snapshots share the array
        return selected | {
            "resources": horizon.resources,
            "node_capacity": horizon.node_capacity,
            "eligible": self._classes,
            "node_type": np.zeros(len(horizon.node_capacity), dtype=np.int64),
            "slowness": np.zeros((len(self._classes), 0), dtype=np.int64),
            "movement": world.movement,
            "pausing": world.options.pausing,
            "accuracy_at": horizon.accuracy_at,
            "tick_ms": horizon.tick_ms,
            "simulator": "tasks",
            "gpu_unit": horizon.gpu_unit,
        }
