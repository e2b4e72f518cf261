"""The placement world: jobs are placed completely on servers, are never moved, and slow each other down.

At every scheduling event, in this order:

1. every placed job has trained at its speed since the last scheduling event; speeds follow from the jobs on each server
(`Instance`'s interference and network model). A job that is done leaves (see `Options.departure`);
2. arrivals up to now join the waiting jobs, in arrival order;
3. if some waiting job may fit, the solver is called for all of them (`Options.window`) at once. The jobs it places
start now and are never moved. The others wait, and are posed again at the next scheduling event if the state has
changed since the last "wait".

The clock counts integer seconds: a job is done at the first second by which its work is.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.placement import Instance, Plan
from mlsched.instances.placement.pace import Pace
from mlsched.simulation.placement.log import Log
from mlsched.simulation.placement.options import Options
from mlsched.simulation.placement.workload import Workload


class PlacementWorld:
    """State and dynamics of one run; the module's docstring gives the order of steps."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Log()
        self.now = 0
        jobs, servers = len(workload.submit), len(workload.server_capacity)
        self._workers, self._ps = np.zeros((2, jobs, servers), dtype=np.int64)
        self._free = workload.server_capacity.copy()
        self._running: IntArray = np.zeros(0, dtype=np.int64)  # in order of start
        self._speed: IntArray = np.zeros(0, dtype=np.int64)  # of the running jobs
        self._done = np.zeros(jobs, dtype=np.int64)
        self._waiting: list[int] = []  # in arrival order
        self._asked: IntArray = np.zeros(0, dtype=np.int64)
        self._arrived, self._unfinished = 0, jobs
        self._changed = False  # any change since the last "wait" answer
        self._asking = False

    # -- clock interface ----------------------------------------------------------------------------------------------

    def next_event(self) -> int | None:
        """Return the next arrival or completion."""
        times = []
        if self._arrived < len(self.workload.submit):
            times.append(int(self.workload.submit[self._arrived]))
        completion = self._next_completion()
        if completion is not None:
            times.append(completion)
        return min(times, default=None)

    def pending(self) -> bool:
        """Return True if waiting jobs are to be posed to the solver at the next tick."""
        return bool(self._waiting) and self._changed

    def unfinished(self) -> int:
        """Return the number of unfinished jobs."""
        return self._unfinished

    def advance(self, time: int) -> None:
        """Process all events up to `time`."""
        if self.options.departure == "instant":
            while (moment := self._next_completion()) is not None and moment < time:
                self._train(moment)
        self._train(time)
        last = int(np.searchsorted(self.workload.submit, time, side="right"))
        self._waiting += range(self._arrived, last)
        self._changed |= last > self._arrived
        self._arrived = last
        self._asking = self._changed and self._has_choice()

    def ask(self) -> Instance | None:
        """Return the question of placing the waiting jobs."""
        return self._instance() if self._asking else None

    def apply(self, plan: Plan) -> None:
        """Place jobs by the answer."""
        self._asking = False
        placed = np.flatnonzero(plan.workers.any(axis=1))
        self._changed = bool(placed.size)
        w = self.workload
        for row in placed.tolist():
            job = int(self._asked[row])
            workers, ps = plan.workers[row], plan.ps[row]
            self._workers[job], self._ps[job] = workers, ps
            self._free -= workers[:, None] * w.worker_demand[job] + ps[:, None] * w.ps_demand[job]
            self._waiting.remove(job)
            self.log.placements += [
                (job, self.now, s, int(workers[s]), int(ps[s])) for s in np.flatnonzero(workers + ps).tolist()
            ]
        if placed.size:
            self._running = np.append(self._running, self._asked[placed])
            self._speed = self._speeds_of_jobs()

    @property
    def total_speed(self) -> int:
        """Return the summed speeds of the running jobs (Eq. 1), 1e-6 of a job per interval."""
        return int(self._speed.sum())

    # -- dynamics -----------------------------------------------------------------------------------------------------

    def _next_completion(self) -> int | None:
        """Return when the first of the running jobs will be done, s, or None."""
        moving = self._running[self._speed > 0]
        if not moving.size:
            return None
        remaining = self.workload.total - self._done[moving]
        return self.now + int((-(-remaining // self._speed[self._speed > 0])).min())

    def _train(self, time: int) -> None:
        """Credit and log the training from now until `time`, and remove finished jobs."""
        running, speed, w = self._running, self._speed, self.workload
        start, self.now = self.now, time
        if not running.size or time == start:
            return
        work_done = np.minimum(self._done[running] + speed * (time - start), w.total)
        self._done[running] = work_done
        self.log.rows += [
            (job, start, time, fast, so_far)
            for job, fast, so_far in zip(running.tolist(), speed.tolist(), work_done.tolist(), strict=True)
        ]
        finished = work_done == w.total
        if finished.any():
            for job in running[finished].tolist():
                self._free += self._workers[job][:, None] * w.worker_demand[job]
                self._free += self._ps[job][:, None] * w.ps_demand[job]
            self._unfinished -= int(finished.sum())
            self._running = running[~finished]
            self._speed = self._speeds_of_jobs()
            self._changed = True

    def _speeds_of_jobs(self) -> IntArray:
        """Return the speeds of the running jobs, 1e-6 of the job per interval."""
        pace = Pace(self._running_only())
        w, p = self._workers[self._running], self._ps[self._running]
        return pace.speeds(pace.at_server(w.T, p.T).max(axis=0, initial=0))

    # -- question -----------------------------------------------------------------------------------------------------

    def _question_jobs(self) -> IntArray:
        """Return the waiting jobs of the next question."""
        return np.array(self._waiting[: self.options.window or None], dtype=np.int64)

    def _has_choice(self) -> bool:
        """Check whether some waiting job may fit: its workers do, its PSs do, and every resource suffices in total."""
        if len(self._running) >= self.options.most_jobs:
            return False
        w = self.workload
        for job in self._question_jobs().tolist():
            workers, ps = int(w.job_workers[job]), int(w.job_ps[job])
            need = workers * w.worker_demand[job] + ps * w.ps_demand[job]
            if (
                (need <= self._free.sum(axis=0)).all()
                and self._count_copies(w.worker_demand[job]) >= workers
                and (ps == 0 or self._count_copies(w.ps_demand[job]) >= ps)
            ):
                return True
        return False

    def _count_copies(self, demand: IntArray) -> int:
        """Return the number of tasks of one demand that fit the servers, up to 1,000 on each."""
        needed = demand > 0
        return int((self._free[:, needed] // demand[needed]).min(axis=1, initial=1000).sum())

    def _instance(self) -> Instance:
        self._asked = self._question_jobs()
        return self._build_question(self._asked)

    def _running_only(self) -> Instance:
        return self._build_question(np.zeros(0, dtype=np.int64))

    def _build_question(self, waiting: IntArray) -> Instance:
        """Build the present as an instance, by the trusted path: fresh arrays, unvalidated."""
        w, running = self.workload, self._running
        return Instance.trusted(
            resources=w.resources,
            server_capacity=w.server_capacity,
            server_free=self._free.copy(),
            run_type=w.job_type[running],
            run_speed=w.job_speed[running],
            run_workers=self._workers[running],
            run_ps=self._ps[running],
            most_jobs=self.options.most_jobs,
            most_new=self.options.most_new,
            **w.model(),
            **w.jobs(waiting),
        )
