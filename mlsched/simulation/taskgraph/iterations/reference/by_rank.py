"""Schedule with pauses for a complete log: at every event the jobs of best rank run, and smaller ones move.

At each arrival and each end, all present jobs are ranked. In this order each is selected that fits the remaining total
capacity. Deselected jobs pause, selected running jobs stay, and the new ones look for nodes, the largest first. If a
task has no node although there is room in total, smaller jobs of one task move to other nodes, as few as possible
(`packing.py`). A move costs no more than a pause, and much less than the wait for an empty node. Sizes that divide each
other always have room in this way. Jobs without a node wait, and jobs that were to pause for them continue.

A job with w ticks of work left that uses a share g of the cluster ranks by w * g^power / weight, the smallest first;
power 1 is SRPT by work, 0 by time (Schrage 1968 on one machine). The price of a pause counts in favour of running jobs,
and against jobs that would continue after a pause.

Without the moves, gangs wait for nodes with single GPUs in use: on the first 2,000 jobs of Philly at 256 GPUs that
costs 1.4 % of the total, all but .02 of the cost of node shape there.
"""

from __future__ import annotations

import heapq

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.heuristics.taskgraph.preemption import within_capacity
from mlsched.simulation.taskgraph.iterations.log import FINISH, MOVE, PAUSE
from mlsched.simulation.taskgraph.iterations.reference.packing import Nodes, Packing
from mlsched.simulation.taskgraph.iterations.reference.question import Held, Question
from mlsched.simulation.taskgraph.iterations.workload import WHOLE


class ByRank:
    """Schedule by ranks; `factor` multiplies the rank of each job.

    Attributes:
        rows: Segments in the order of their ends.
        completion: Completion of each job, in ticks.
    """

    def __init__(self, asked: Question, power: float, factor: FloatArray) -> None:
        count = len(asked.release)
        self.asked, self.now = asked, 0
        self.need = np.array([rows.sum(axis=0) for rows in asked.tasks])[asked.kind]
        self.packing = Packing(asked.capacity, asked.tasks, asked.nodes, asked.kind)
        share = (self.need / np.maximum(asked.capacity.sum(axis=0), 1)).max(axis=1, initial=0)
        self.scale = np.maximum(share, 1e-9) ** power / asked.weight * factor
        self.total = [int(n) * WHOLE for n in asked.jobs.max_iterations]  # ppm of iterations
        self.done = [0] * count  # part of it at the last pause or move
        self.cycle, self.price = asked.cycle.tolist(), asked.jobs.pause_cost.tolist()
        self.cost = asked.jobs.pause_cost / WHOLE  # ticks
        # ticks left at that time
        self.work = np.array([n * c / WHOLE**2 for n, c in zip(self.total, self.cycle, strict=True)])
        self.against = np.zeros(count)  # the price, for paused jobs
        self.runs, self.ends = np.zeros(count, dtype=bool), np.zeros(count)  # running jobs, and the end of their work
        # of the current segment, or the last: start, price (-1: without)
        self.since, self.paid = [0] * count, [-1] * count
        self.events: list[tuple[int, int]] = []  # (end, job)
        self.due = [-1] * count  # the end of each job that runs
        self.rows: list[Held] = []
        self.completion = np.zeros(count, dtype=np.int64)
        self._process_events()

    def value(self) -> int:
        """Return the weighted sum of completion - arrival."""
        return sum((self.asked.weight * (self.completion - self.asked.release)).tolist())

    def _process_events(self) -> None:
        """Process all events, from the first arrival to the last end."""
        release = self.asked.release.tolist()
        coming = np.argsort(self.asked.release, kind="stable")[::-1].tolist()
        here = np.zeros(0, dtype=np.int64)
        while coming or len(here):
            while self.events and self.due[self.events[0][1]] != self.events[0][0]:
                heapq.heappop(self.events)
            times = ([release[coming[-1]]] if coming else []) + ([self.events[0][0]] if self.events else [])
            if not times:
                raise InvalidInput(
                    f"reference: job {here[0]} does not fit on the empty cluster; leave it out, or enlarge the cluster"
                )
            self.now = min(times)
            ended_jobs = self._pop_ended_jobs()
            if ended_jobs:
                here = here[~np.isin(here, ended_jobs)]
            new = []
            while coming and release[coming[-1]] <= self.now:
                new.append(coming.pop())
            here = np.append(here, new) if new else here
            if len(here):
                self._fill_cluster(here)

    def _pop_ended_jobs(self) -> list[int]:
        """Return the jobs that end now."""
        ended_jobs = []
        while self.events and self.events[0][0] == self.now:
            end, job = heapq.heappop(self.events)
            if self.due[job] == end:
                self._close_segment(job, FINISH, self.packing.places[job])
                self.packing.leave(job)
                self.completion[job] = self.now
                ended_jobs.append(job)
        return ended_jobs

    def _fill_cluster(self, here: IntArray) -> None:
        """Select the present jobs that run from now on, and place them."""
        work_left = np.where(
            self.runs[here], self.ends[here] - self.now - self.cost[here], self.work[here] + self.against[here]
        )
        here = here[np.argsort(work_left * self.scale[here], kind="stable")]
        selection, runs = within_capacity(self.need[here], self.asked.capacity.sum(axis=0)), self.runs[here]
        if not (selection & ~runs).any():
            return
        packing = self.packing
        packing.begin()
        stopped_jobs = here[runs & ~selection].tolist()
        for job in stopped_jobs:
            packing.leave(job)
        starting = here[selection & ~runs]
        starting = starting[np.argsort(-self.need[starting].max(axis=1, initial=0), kind="stable")]
        placed = [packing.place(job, moving=True) for job in starting.tolist()]
        if not all(placed):
            before = packing.before
            for job in stopped_jobs:
                packing.put(job, before[job])
            for job in here.tolist():
                if job not in packing.places and (self.need[job] <= packing.free.sum(axis=0)).all():
                    packing.place(job)
        for job, nodes in packing.before.items():
            self._change_places(job, nodes, packing.places.get(job, ()))

    def _change_places(self, job: int, before: Nodes, after: Nodes) -> None:
        """Record the changed places of a job; () for unplaced."""
        if before == after:
            return
        if before:
            self._close_segment(job, MOVE if after else PAUSE, before)
        if after:
            self.since[job], self.runs[job] = self.now, True
            self.paid[job] = 0 if self.paid[job] < 0 else self.price[job]
            work = self.paid[job] * WHOLE + (self.total[job] - self.done[job]) * self.cycle[job]
            self.ends[job], self.due[job] = self.now + work / WHOLE**2, self.now - (-work // WHOLE**2)
            heapq.heappush(self.events, (self.due[job], job))

    def _close_segment(self, job: int, outcome: int, nodes: Nodes) -> None:
        """End a job's segment now."""
        self.rows.append(Held(job, self.since[job], self.now, self.done[job], self.paid[job], outcome, nodes))
        self.runs[job], self.due[job] = False, -1
        elapsed = max(0, (self.now - self.since[job]) * WHOLE - self.paid[job])
        self.done[job] += elapsed * WHOLE // self.cycle[job]
        self.work[job] = (self.total[job] - self.done[job]) * self.cycle[job] / WHOLE**2
        self.against[job] = self.cost[job]
