"""The workers world: a cluster that reassigns its workers and PSs whenever jobs arrive or leave.

The clock of this world counts milliseconds. At every scheduling event, in this order:

1. completed jobs are removed as of their completion (their workers and PSs idle until now);
2. arrivals up to now;
3. if there are jobs, the first `window` of them are passed to the solver, and its plan replaces the allocation. A
re-schedule costs each job the iteration it has started, by the interpretation of `floor` (Chic, Eq. 7).

Woken at events, this is the paper's alternation: the decision phase takes no time. The training phase lasts until the
first of the jobs is done, min over i of B_i g_i, or a job arrives while fewer than `window` are present. (The paper
prints s^p / g for B g.)
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import SolverError
from mlsched.core.fields import IntArray
from mlsched.instances.workers import NEVER, Instance, Plan, waiting_terms
from mlsched.simulation.workers.log import PARTS, Log
from mlsched.simulation.workers.options import Options
from mlsched.simulation.workers.workload import MS, NS_PER_MS, Workload

#: A run would never end after this many consecutive re-schedules without a complete iteration, arrival or completion.
FRUITLESS = 1000
#: Nanoseconds of a thousandth of an iteration -> ms: left [1/PARTS] * g [ns] / SCALE.
SCALE = PARTS * NS_PER_MS


class WorkersWorld:
    """State and dynamics of one run; the module's docstring gives the order of steps."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Log()
        jobs = len(workload.submit)
        self.now = 0
        self._submit: list[int] = workload.submit.tolist()
        self._model: list[int] = workload.model.tolist()
        self._iteration: list[list[list[int]]] = workload.iteration.tolist()
        self._never = workload.iteration == NEVER
        self._finite = np.where(self._never, 1, workload.iteration)
        self._slowest = int(self._finite.max(initial=0))
        self._remaining: list[int] = [PARTS * b for b in workload.iterations.tolist()]  # at the start of the segment
        self._held = [(0, 0)] * jobs  # workers and PSs
        self._since, self._end = [0] * jobs, [0] * jobs  # start and planned end of the segment
        self._active: list[int] = []  # arrived and unfinished, in arrival order
        self._training: list[int] = []
        self._arrived, self._unfinished = 0, jobs
        self._asking = False
        self._fruitless = 0

    # -- clock interface ----------------------------------------------------------------------------------------------

    def next_event(self) -> int | None:
        """Return the next completion, or the next arrival unless the window is full of jobs and one of them trains."""
        times = [min(self._end[j] for j in self._training)] if self._training else []
        full = self.options.window and len(self._active) >= self.options.window
        if self._arrived < len(self._submit) and not (full and self._training):
            times.append(self._submit[self._arrived])
        return min(times, default=None)

    def pending(self) -> bool:
        """Return True if there are jobs to share the cluster among at the next tick."""
        return bool(self._active)

    def unfinished(self) -> int:
        """Return the number of unfinished jobs."""
        return self._unfinished

    def advance(self, time: int) -> None:
        """Process all events up to `time`."""
        self.now = time
        for job in [j for j in self._training if self._end[j] <= time]:
            self._close_segment(job, self._end[job])
            self._active.remove(job)
            self._unfinished -= 1
        while self._arrived < len(self._submit) and self._submit[self._arrived] <= time:
            self._active.append(self._arrived)
            self._arrived += 1
            self._fruitless = 0
        self._asking = bool(self._active)

    def ask(self) -> Instance | None:
        """Return the question of workers and PSs for each job of the window."""
        return self._instance() if self._asking else None

    def apply(self, plan: Plan) -> None:
        """Apply the new allocation.

        Raises:
            SolverError: Re-schedules follow so closely that iterations never finish.
        """
        self._asking = False
        self._fruitless += 1
        if self._fruitless > FRUITLESS:
            raise SolverError(
                f"at {self.now / MS:.10g} s: the last {FRUITLESS} re-schedules lost every iteration "
                f"(floor={self.options.floor}), so the run cannot end; schedule less often, or set floor=changed or "
                "never"
            )
        window_jobs = self._asked()
        allocation = dict(zip(window_jobs, zip(plan.workers.tolist(), plan.ps.tolist(), strict=True), strict=True))
        for job in list(self._training):
            if self.options.floor != "changed" or allocation[job] != self._held[job]:
                self._close_segment(job, self.now)
            else:
                self._fruitless = 0
        for job, numbers in allocation.items():
            if numbers != (0, 0) and job not in self._training:
                self._start_segment(job, numbers)

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _asked(self) -> list[int]:
        return self._active[: self.options.window or None]

    def _start_segment(self, job: int, numbers: tuple[int, int]) -> None:
        self._held[job], self._since[job] = numbers, self.now
        self._end[job] = self.now - (-self._remaining[job] * self._iteration_time(job) // SCALE)
        self._training.append(job)

    def _close_segment(self, job: int, time: int) -> None:
        """End a segment and credit its work, less the loss by the floor."""
        before, self._remaining[job] = self._remaining[job], self._remaining_at(job, time)
        if self._remaining[job] < before:
            self._fruitless = 0
        self.log.rows.append((job, self._since[job], time, *self._held[job], self._remaining[job]))
        self._held[job] = (0, 0)
        self._training.remove(job)

    def _iteration_time(self, job: int) -> int:
        workers, ps = self._held[job]
        table = self._iteration[self._model[job]]
        return table[workers - 1][ps - 1]

    def _remaining_at(self, job: int, time: int) -> int:
        """Return the remaining thousandths of an iteration of a training job if it is re-scheduled at `time`."""
        if time >= self._end[job]:
            return 0
        elapsed = time - self._since[job]
        if self.options.floor == "never":
            return self._remaining[job] - elapsed * SCALE // self._iteration_time(job)
        return self._remaining[job] - elapsed * NS_PER_MS // self._iteration_time(job) * PARTS

    # -- question -----------------------------------------------------------------------------------------------------

    def _instance(self) -> Instance:
        """Build the decision as an instance, by the trusted path: fresh arrays, unvalidated."""
        window_jobs, w = self._asked(), self.workload
        jobs = np.array(window_jobs, dtype=np.int64)
        training = set(self._training)
        remaining = [self._remaining_at(j, self.now) if j in training else self._remaining[j] for j in window_jobs]
        numbers = np.array([self._held[j] for j in window_jobs], dtype=np.int64)
        model = w.model[jobs]
        cost = self._finish_costs(model, np.array(remaining, dtype=np.int64))
        return Instance.trusted(
            resources=w.resources,
            models=w.models,
            capacity=w.capacity,
            worker_demand=w.worker_demand[model],
            ps_demand=w.ps_demand[model],
            cost=cost,
            waiting=waiting_terms(cost),
            remaining=-(-np.array(remaining, dtype=np.int64) // PARTS),
            model=model,
            current_workers=numbers[:, 0].copy(),
            current_ps=numbers[:, 1].copy(),
            waited=self.now - w.submit[jobs],
            backlog=len(self._active) - len(window_jobs),
        )

    def _finish_costs(self, model: IntArray, remaining: IntArray) -> IntArray:
        """Return ceil(left x g) in ms by job, workers - 1, PSs - 1; NEVER if a job cannot train with them."""
        # every `remaining` is then an integer number of iterations, and the product stays small
        whole = self.options.floor != "never"
        work, scale = (remaining // PARTS, NS_PER_MS) if whole else (remaining, SCALE)
        if int(work.max()) * self._slowest >= 2**63:
            work = work.astype(object)
        cost = -((-work[:, None, None] * self._finite[model]) // scale)
        return np.where(self._never[model], NEVER, cost).astype(np.int64)
