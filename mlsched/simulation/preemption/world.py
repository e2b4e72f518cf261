"""The preemption world: a cluster with one queue of jobs, in which TE jobs may have BE jobs suspended.

At every scheduling event, in this order:

1. completions and releases up to now, by time; a released victim returns to the top of the queue, earlier submissions
first;
2. arrivals up to now;
3. the queue from its top, first fit over the nodes, strict: a job that does not fit blocks all behind it. TE jobs are
above the victims, victims above the rest. A TE job without room is a question: the answer gives it a node (a
reservation there until it starts) and victims, which get their signal now.

Execution times are integer seconds and pass between scheduling events; starts happen only at scheduling events.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.preemption import Instance, Plan
from mlsched.instances.preemption.instance import largest_size
from mlsched.simulation.preemption.cluster import Cluster
from mlsched.simulation.preemption.log import Log
from mlsched.simulation.preemption.options import Options
from mlsched.simulation.preemption.workload import Workload

_END, _RELEASE = 0, 1


class PreemptionWorld:
    """State and dynamics of one run; the module's docstring gives the order of steps."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Log()
        self.cluster = Cluster(workload.node_capacity)
        self.now = 0
        jobs = len(workload.submit)
        self._fit = [tuple(row) for row in workload.demand.tolist()]
        self._demand = list(workload.demand)
        self._submit, self._te = workload.submit.tolist(), workload.te.tolist()
        self._grace = workload.grace.tolist()
        self._remaining = workload.execution.tolist()
        self._node, self._start = np.full(jobs, -1), np.zeros(jobs, dtype=np.int64)
        self._ends = np.zeros(jobs, dtype=np.int64)
        self._preemptions = np.zeros(jobs, dtype=np.int64)
        self._signal: dict[int, int] = {}  # draining victims: time of their signal
        self._running_be: dict[int, None] = {}  # running, not draining, in order of start
        self._reservation: dict[int, int] = {}  # waiting TE jobs with a node
        self._te_queue: deque[int] = deque()
        self._victims: list[int] = []  # heap of suspended jobs: earlier submissions first
        self._queue: deque[int] = deque()
        self._events: list[tuple[int, int, int, int]] = []  # (time, kind, job, serial of its start)
        self._serial = [0] * jobs
        self._arrived, self._unfinished = 0, jobs
        self._asking: list[int] = []
        self._refused: set[int] = set()  # TE jobs answered with "wait" since a job last left a node

    # -- clock interface ----------------------------------------------------------------------------------------------

    def next_event(self) -> int | None:
        """Return the next arrival, completion or release."""
        self._drop_stale_events()
        times = [self._events[0][0]] if self._events else []
        arrival = self._next_arrival()
        return min(times + ([arrival] if arrival is not None else []), default=None)

    def pending(self) -> bool:
        """Return True if the question of a waiting TE job is repeated at the next tick in any case."""
        return bool(self._refused) and self.options.ask_again == "tick"

    def unfinished(self) -> int:
        """Return the number of unfinished jobs."""
        return self._unfinished

    def advance(self, time: int) -> None:
        """Process all events up to `time` and start the jobs that fit."""
        self.now = time
        if self.options.ask_again == "tick":
            self._refused.clear()
        while self._events and self._events[0][0] <= time:
            moment, kind, job, serial = heapq.heappop(self._events)
            if serial == self._serial[job]:
                self._finish(job, moment) if kind == _END else self._release_task(job, moment)
        self._arrive()
        self._schedule()

    def ask(self) -> Instance | None:
        """Return the decision about the TE jobs that wait without a node, or None."""
        return self._instance() if self._asking else None

    def apply(self, plan: Plan) -> None:
        """Signal the victims, reserve the chosen nodes, and continue with the queue."""
        te_jobs, self._asking = self._asking, []
        victims = [self._candidates[j] for j in plan.victims.tolist()]
        for job, node in zip(te_jobs, plan.te_node.tolist(), strict=True):
            if node >= 0:
                self._reservation[job] = node
                self.cluster.reserve(node, self._demand[job])
            else:
                self._refused.add(job)
        for job in victims:
            self._suspend(job)
        self._schedule()

    # -- arrivals: a subclass draws them from a closed loop -----------------------------------------------------------

    def _next_arrival(self) -> int | None:
        return self._submit[self._arrived] if self._arrived < len(self._submit) else None

    def _arrive(self) -> None:
        while self._arrived < len(self._submit) and self._submit[self._arrived] <= self.now:
            self._enqueue(self._arrived)
            self._arrived += 1

    def _enqueue(self, job: int) -> None:
        (self._te_queue if self._te[job] and self.options.te_first else self._queue).append(job)

    # -- queue --------------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Start jobs from the top of the queue until a job is blocked or a question is due."""
        if self._start_te_jobs() and self._start_from(self._victims, heapq.heappop):
            while self._queue:
                job = self._queue[0]
                node = self.cluster.first_fit(self._fit[job])
                if node >= 0:
                    self._place_job(self._queue.popleft(), node)
                elif self._te[job]:
                    # Without priority a TE job asks when it is its turn; from then on it waits at the very top.
                    self._te_queue.append(self._queue.popleft())
                    self._schedule()
                    return
                else:
                    return

    def _start_from(self, queue: Any, pop: Any) -> bool:
        """Start the jobs of `queue` in order; return False if one is blocked."""
        while queue:
            node = self.cluster.first_fit(self._fit[queue[0]])
            if node < 0:
                return False
            self._place_job(pop(queue), node)
        return True

    def _start_te_jobs(self) -> bool:
        """Start TE jobs, or pose the question of the first without room; return True if later jobs may continue."""
        waiting = blocked = False
        for job in list(self._te_queue):
            if job in self._reservation:
                if self._start_reserved(job):
                    continue
                waiting = True
                if self.options.blocking == "all":
                    return False
            elif not blocked:
                node = self.cluster.first_fit(self._fit[job])
                if node < 0:
                    if not self._refused:
                        self._pose_question(job)
                    # In a joint question, a job behind may have a node already: its room must not stay reserved
                    # forever.
                    blocked = True
                    continue
                self._te_queue.remove(job)
                self._place_job(job, node)
        return not blocked and (not waiting or self.options.blocking == "none")

    def _start_reserved(self, job: int) -> bool:
        """Start a TE job on its reserved node, or elsewhere if allowed; return False if it still waits."""
        home, demand = self._reservation[job], self._demand[job]
        self.cluster.cancel(home, demand)
        node = home if self.cluster.fits(home, demand) else -1
        if node < 0 and self.options.elsewhere:
            node = self.cluster.first_fit(self._fit[job])
        if node < 0:
            self.cluster.reserve(home, demand)
            return False
        del self._reservation[job]
        self._te_queue.remove(job)
        self._place_job(job, node)
        return True

    def _pose_question(self, job: int) -> None:
        """Pose the question for `job`, or for all TE jobs that wait without a node."""
        if self.options.asked == "all":
            self._asking = [j for j in self._te_queue if j not in self._reservation]
        else:
            self._asking = [job]

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _place_job(self, job: int, node: int) -> None:
        self.cluster.take(node, self._demand[job])
        self._node[job], self._start[job] = node, self.now
        end = self.now + self._remaining[job]
        self._ends[job] = end
        heapq.heappush(self._events, (end, _END, job, self._serial[job]))
        if not self._te[job]:
            self._running_be[job] = None

    def _suspend(self, job: int) -> None:
        """Signal a running BE job; it releases its node after its grace period."""
        del self._running_be[job]
        self._preemptions[job] += 1
        self._signal[job] = self.now
        self.cluster.drain(int(self._node[job]), self._demand[job])
        if self.options.during_grace == "paused" and self._grace[job]:
            self._serial[job] += 1  # its end event no longer counts
            self._remaining[job] -= self.now - int(self._start[job])
        if self._grace[job]:
            heapq.heappush(self._events, (self.now + self._grace[job], _RELEASE, job, self._serial[job]))
        else:
            self._release_task(job, self.now)

    def _release_task(self, job: int, time: int) -> None:
        """Return a victim to the top of the queue with its remaining work, at the end of its grace period."""
        elapsed = time - int(self._start[job])
        if not self._grace[job]:
            elapsed -= elapsed % self.options.snapshot
        if self.options.during_grace == "work" or not self._grace[job]:
            self._remaining[job] -= elapsed
        self._remove_job(job, time, finished=False)
        heapq.heappush(self._victims, job)

    def _finish(self, job: int, time: int) -> None:
        self._running_be.pop(job, None)
        self._remove_job(job, time, finished=True)
        self._unfinished -= 1

    def _remove_job(self, job: int, time: int, *, finished: bool) -> None:
        node, signal = int(self._node[job]), self._signal.pop(job, -1)
        self.cluster.give(node, self._demand[job], drained=signal >= 0)
        self._serial[job] += 1
        self._refused.clear()
        self.log.rows.append((job, node, int(self._start[job]), time, signal, int(finished)))

    def _drop_stale_events(self) -> None:
        while self._events and self._events[0][3] != self._serial[self._events[0][2]]:
            heapq.heappop(self._events)

    # -- question -----------------------------------------------------------------------------------------------------

    def _instance(self) -> Instance:
        """Build the decision as an instance, by the trusted path: fresh arrays, unvalidated (about 40 microseconds)."""
        w, cluster = self.workload, self.cluster
        self._candidates = list(self._running_be)
        jobs = np.array(self._candidates, dtype=np.int64)
        node = self._node[jobs]
        demand, grace = w.demand[jobs], w.grace[jobs]
        size, longest = self._score_maxima(jobs)
        usable = cluster.usable.T.copy()
        return Instance.trusted(
            resources=w.resources,
            node_capacity=w.node_capacity,
            node_free=usable,
            node_draining=cluster.promised().T - usable,
            job_node=node,
            job_demand=demand,
            job_grace=grace,
            job_preemptions=self._preemptions[jobs],
            job_remaining=self._ends[jobs] - self.now,
            te_demand=w.demand[self._asking],
            preemption_limit=self.options.preemption_limit,
            grace_weight=self.options.grace_weight,
            max_size=size,
            max_grace=longest,
        )

    def _score_maxima(self, jobs: IntArray) -> tuple[int, int]:
        """Return Eq. 3's maxima over all running BE jobs, the draining ones included."""
        running = np.append(jobs, np.array(list(self._signal), dtype=np.int64))
        size = largest_size(self.workload.demand[running], self.workload.node_capacity[self._node[running]])
        return size, int(self.workload.grace[running].max(initial=0))
