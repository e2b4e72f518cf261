"""The quality world: a cluster of C cores that training jobs share, and re-share at every scheduling event.

At every scheduling event, in this order:

1. every job that holds cores has done cores x elapsed time of work since the last scheduling event; one that has done
   all of its iterations, or has reported a loss at or below its target, left when it had (its cores idle until now:
   they are taken back at scheduling events only);
2. arrivals up to now, non-ML jobs included;
3. the cores are shared anew. Non-ML jobs hold theirs; jobs for which `least` cores are no longer there wait in arrival
   order; where there is no choice (all caps of the others fit, or nothing beyond `least` each is there) the cores
   are handed out, else the solver is asked.

An iteration costs c S core-seconds on any number of cores (4.2.1). Work is counted in whole core-milliseconds.
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
    """State and dynamics of one run; see the module's docstring for the order of things."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Log()
        if options.least > min(workload.cores, int(workload.most.min(initial=workload.cores))):
            raise InvalidInput(
                f"least: {options.least}, expected at most the cores that a job can use and the cluster has"
            )
        self.now = 0
        jobs = len(workload.submit)
        self._served, self._cores = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        self._active: IntArray = np.zeros(0, dtype=np.int64)  # arrived and not done, in arrival order
        self._arrived, self._unfinished = 0, jobs
        self._running = 0  # how many of the active jobs may hold cores
        self._available = workload.cores
        self._asking = False
        self._question: Instance | None = None
        self._forecaster = Forecaster(workload, options)
        comings = np.concatenate([workload.other_submit, workload.other_submit + workload.other_seconds])
        self._changes: IntArray = np.unique(comings)

    # -- the clock's side ---------------------------------------------------------------------------------------------

    def next_event(self) -> int | None:
        """The next arrival, completion, or change of what non-ML jobs hold."""
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
        """Whether cores are to be shared anew at the next tick: as long as there are jobs."""
        return bool(self._active.size)

    def unfinished(self) -> int:
        """How many jobs are not finished yet."""
        return self._unfinished

    def advance(self, time: int) -> None:
        """Let everything up to `time` happen; hand out cores where there is no choice."""
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
        """How to share the cores until the next scheduling event."""
        if not self._asking:
            return None
        if self._question is None:  # the forecaster starts from its last fits: asked again, it would say more
            self._question = self._instance()
        return self._question

    def apply(self, plan: Plan) -> None:
        """Give out the cores."""
        self._asking = False
        self._cores[self._active] = plan.cores
        if self.options.spare == "share":
            self._share_rest()

    # -- dynamics -----------------------------------------------------------------------------------------------------

    def _work(self, time: int) -> None:
        """Credit the work since the last scheduling event, log it, and let the jobs go that are done."""
        busy = self._active[self._cores[self._active] > 0]
        if not busy.size or time == self.now:
            return
        cores, w = self._cores[busy], self.workload
        served = np.minimum(self._served[busy] + cores * (1000 * (time - self.now)), w.total[busy])
        self._served[busy] = served
        losses = self._losses(busy)
        self.log.rows += [
            (job, self.now, time, *rest)
            for job, *rest in zip(busy.tolist(), cores.tolist(), served.tolist(), losses.tolist(), strict=True)
        ]
        done = self._served[self._active] == w.total[self._active]
        self._unfinished -= int(done.sum())
        self._active = self._active[~done]

    def _losses(self, jobs: IntArray) -> IntArray:
        """The losses now, 10^-9; between two iterations by the line through them (fluid)."""
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
        asked = w.other_cores[present]
        if self.options.others == "fair" and asked.size:
            asked = np.minimum(asked, w.cores // (len(asked) + len(self._active)))
        return min(int(asked.sum()), w.cores)

    def _share_rest(self) -> None:
        """One core each in turn, in arrival order, to the running jobs below their caps."""
        running = self._active[: self._running]
        rest = self._available - int(self._cores[running].sum())
        while rest > 0:
            room = running[self._cores[running] < self.workload.most[running]]
            if not room.size:
                return
            each = max(1, min(rest // len(room), int((self.workload.most[room] - self._cores[room]).min())))
            chosen = room[: rest // each]
            self._cores[chosen] += each
            rest -= each * len(chosen)

    # -- the question -------------------------------------------------------------------------------------------------

    def _instance(self) -> Instance:
        """The decision as an instance, by the trusted path: fresh arrays, no validation."""
        jobs, minimum = self._active, self.options.least
        width = self._available - minimum * (self._running - 1)  # what one gets while the others keep the least
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
