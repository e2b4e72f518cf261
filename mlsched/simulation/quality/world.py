"""The quality world: training jobs share a cluster of C cores, reallocated at every scheduling event.

At every scheduling event, in this order:

1. every job with cores has done cores x elapsed time of work since the last scheduling event. A job that has done all
of its iterations, or has reported a loss at or below its target, left at that time. Its cores idle until now: they are
taken back only at scheduling events;
2. arrivals up to now, non-ML jobs included;
3. the cores are shared. Non-ML jobs keep theirs; jobs for which `least` cores are not available wait in arrival order.
Without a choice (all caps of the others fit, or only `least` each is available) the cores are allocated directly, else
the solver is called.

An iteration costs c S core-seconds on any number of cores (4.2.1). Work is counted in integer core-milliseconds.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.quality import Instance, Plan
from mlsched.instances.quality.instance import waiting_in_arrival_order
from mlsched.simulation.quality.forecast import Forecaster
from mlsched.simulation.quality.log import Log
from mlsched.simulation.quality.options import Options
from mlsched.simulation.quality.workload import Workload


class QualityWorld:
    """State and dynamics of one run; the module's docstring gives the order of steps."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Log()
        if options.least > min(workload.cores, int(workload.most.min(initial=workload.cores))):
            raise InvalidInput(
                f"least: {options.least}, expected at most the cores that a job can use and the cluster has"
            )
        self.now = 0
        jobs = len(workload.submit)
        self._served, self._cores = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        self._active: IntArray = np.zeros(0, dtype=np.int64)  # arrived and unfinished, in arrival order
        self._arrived, self._unfinished = 0, jobs
        self._running = 0  # number of active jobs that may use cores
        self._available = workload.cores
        self._asking = False
        self._question: Instance | None = None
        self._forecaster = Forecaster(workload, options)
        comings = np.concatenate([workload.other_submit, workload.other_submit + workload.other_seconds])
        self._changes: IntArray = np.unique(comings)

    # -- clock interface ----------------------------------------------------------------------------------------------

    def next_event(self) -> int | None:
        """Return the next arrival, completion, or change of the non-ML jobs' cores."""
        times = []
        if self._arrived < len(self.workload.submit):
            times.append(int(self.workload.submit[self._arrived]))
        busy = self._active[self._cores[self._active] > 0]
        if busy.size:
            remaining = self.workload.total[busy] - self._served[busy]
            times.append(self.now + int((-(-remaining // (1000 * self._cores[busy]))).min()))
        if self._active.size:
            times += self._changes[self._changes > self.now][:1].tolist()
        return min(times, default=None)

    def pending(self) -> bool:
        """Return True if there are jobs to share the cores among at the next tick."""
        return bool(self._active.size)

    def unfinished(self) -> int:
        """Return the number of unfinished jobs."""
        return self._unfinished

    def advance(self, time: int) -> None:
        """Process all events up to `time`; allocate cores directly without a choice."""
        self._work(time)
        self.now, self._question = time, None
        last = int(np.searchsorted(self.workload.submit, time, side="right"))
        self._active = np.append(self._active, np.arange(self._arrived, last))
        self._arrived = last
        self._cores[self._active] = 0
        self._available = self.workload.cores - self._held_by_others()
        waiting = waiting_in_arrival_order(len(self._active), self._available, self.options.least)
        self._running = len(self._active) - int(waiting.sum())
        spare = self._available - self.options.least * self._running
        caps = np.minimum(self.workload.most[self._active[: self._running]], spare + self.options.least)
        self._asking = spare > 0 and int(caps.sum()) > self._available
        if not self._asking:
            self._cores[self._active[: self._running]] = caps if spare else self.options.least

    def ask(self) -> Instance | None:
        """Return the question of sharing the cores until the next scheduling event."""
        if not self._asking:
            return None
        # the forecaster starts from its last fits, so a second call would give another prediction
        if self._question is None:
            self._question = self._instance()
        return self._question

    def apply(self, plan: Plan) -> None:
        """Allocate the cores."""
        self._asking = False
        self._cores[self._active] = plan.cores
        if self.options.spare == "share":
            self._share_rest_of_cores()

    # -- dynamics -----------------------------------------------------------------------------------------------------

    def _work(self, time: int) -> None:
        """Credit and log the work since the last scheduling event, and remove finished jobs."""
        busy = self._active[self._cores[self._active] > 0]
        if not busy.size or time == self.now:
            return
        cores, w = self._cores[busy], self.workload
        work = np.minimum(self._served[busy] + cores * (1000 * (time - self.now)), w.total[busy])
        self._served[busy] = work
        losses = self._current_losses(busy)
        self.log.rows += [
            (job, self.now, time, *rest)
            for job, *rest in zip(busy.tolist(), cores.tolist(), work.tolist(), losses.tolist(), strict=True)
        ]
        is_done = self._served[self._active] == w.total[self._active]
        self._unfinished -= int(is_done.sum())
        self._active = self._active[~is_done]

    def _current_losses(self, jobs: IntArray) -> IntArray:
        """Return the current losses, 10^-9, interpolated linearly between two iterations (fluid)."""
        w = self.workload
        whole, rest = np.divmod(self._served[jobs], w.work[jobs])
        here = w.loss[jobs, whole]
        if self.options.progress == "carry":
            return np.asarray(here)
        ahead = w.loss[jobs, np.minimum(whole + 1, w.loss.shape[1] - 1)]
        return np.asarray(here + np.rint((ahead - here) * (rest / w.work[jobs])).astype(np.int64))

    def _held_by_others(self) -> int:
        w = self.workload
        present = (w.other_submit <= self.now) & (self.now < w.other_submit + w.other_seconds)
        requests = w.other_cores[present]
        if self.options.others == "fair" and requests.size:
            requests = np.minimum(requests, w.cores // (len(requests) + len(self._active)))
        return min(int(requests.sum()), w.cores)

    def _share_rest_of_cores(self) -> None:
        """Give one core each in turn, in arrival order, to the running jobs below their caps."""
        running = self._active[: self._running]
        rest = self._available - int(self._cores[running].sum())
        while rest > 0:
            room = running[self._cores[running] < self.workload.most[running]]
            if not room.size:
                return
            each = max(1, min(rest // len(room), int((self.workload.most[room] - self._cores[room]).min())))
            receivers = room[: rest // each]
            self._cores[receivers] += each
            rest -= each * len(receivers)

    # -- question -----------------------------------------------------------------------------------------------------

    def _instance(self) -> Instance:
        """Build the decision as an instance, by the trusted path: fresh arrays, unvalidated."""
        jobs, minimum = self._active, self.options.least
        width = self._available - minimum * (self._running - 1)  # cores of one job if the others keep the least
        most = np.minimum(self.workload.most[jobs], width)
        width = int(most.max())
        gain, loss = self._forecaster.tables(jobs, self._served[jobs], width)
        waiting = np.ones(len(jobs), dtype=np.int64)
        waiting[: self._running] = 0
        return Instance.trusted(
            cores=self.workload.cores,
            gain=gain,
            loss=loss,
            weight=self.workload.weight[jobs],
            most=most,
            waiting=waiting,
            reserved=self.workload.cores - self._available,
            least=minimum,
            predictor=f"{self.options.information}, {self.options.predictor}, {self.options.progress}",
        )
