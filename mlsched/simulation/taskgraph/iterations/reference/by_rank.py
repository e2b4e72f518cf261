"""A schedule with pauses for a whole log: at every event the jobs of best rank run, and smaller ones make way.

At each arrival and each end, all jobs that are there are ranked anew; in this order each is to run that fits what is
left of the cluster as a whole. Who is to run no longer pauses, who runs on stays where it is, and the new ones look for
nodes, the largest first. Where a task finds no node although there is room in all, smaller jobs of one task move to
other nodes, as few as possible (`packing.py`): a move costs no more than a pause, and much less than the wait for a
whole node. Sizes that divide each other always find room so. What cannot be placed waits, and who was to pause for it
runs on.

A job with w ticks of work left that holds a share g of the cluster ranks by w * g^power / weight, the smallest first;
power 1 is SRPT by work, 0 by time (Schrage 1968 on one machine). The price of a pause counts for who runs, and against
who would go on after a pause.

Without the moves, gangs wait for nodes on which single GPUs are in use: on the first 2,000 jobs of Philly at 256 GPUs
that costs 1.4 % of the total, all but .02 of what node shape costs there.
"""

from __future__ import annotations

import heapq

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph.preemption import within_capacity
from mlsched.simulation.bound.pieces import Floats
from mlsched.simulation.taskgraph.iterations.log import FINISH, MOVE, PAUSE
from mlsched.simulation.taskgraph.iterations.reference.packing import Nodes, Packing
from mlsched.simulation.taskgraph.iterations.reference.question import Held, Question
from mlsched.simulation.taskgraph.iterations.workload import WHOLE


class ByRank:
    """The schedule: `rows`, the segments in the order of their ends; `completion` of each job, in ticks.

    factor: of each job, by which its rank is multiplied.
    """

    def __init__(self, asked: Question, power: float, factor: Floats) -> None:
        count = len(asked.release)
        self.asked, self.now = asked, 0
        self.need = np.array([rows.sum(axis=0) for rows in asked.tasks])[asked.kind]
        self.packing = Packing(asked.capacity, asked.tasks, asked.nodes, asked.kind)
        share = (self.need / np.maximum(asked.capacity.sum(axis=0), 1)).max(axis=1, initial=0)
        self.scale = np.maximum(share, 1e-9) ** power / asked.weight * factor
        self.total = [int(n) * WHOLE for n in asked.jobs.max_iterations]  # ppm of iterations
        self.done = [0] * count  # of these, at the last pause or move
        self.cycle, self.price = asked.cycle.tolist(), asked.jobs.pause_cost.tolist()
        self.cost = asked.jobs.pause_cost / WHOLE  # ticks
        self.work = np.array([n * c / WHOLE**2 for n, c in zip(self.total, self.cycle, strict=True)])  # ticks left then
        self.against = np.zeros(count)  # the price, of those that have paused
        self.runs, self.ends = np.zeros(count, dtype=bool), np.zeros(count)  # who runs, and when its work would end
        self.since, self.paid = [0] * count, [-1] * count  # of the segment under way, or last: start, price (-1: none)
        self.events: list[tuple[int, int]] = []  # (end, job)
        self.due = [-1] * count  # the end of each job that runs
        self.rows: list[Held] = []
        self.completion = np.zeros(count, dtype=np.int64)
        self._go()

    def value(self) -> int:
        """The weighted sum of completion - arrival."""
        return sum((self.asked.weight * (self.completion - self.asked.release)).tolist())

    def _go(self) -> None:
        """All events, from the first arrival to the last end."""
        release = self.asked.release.tolist()
        coming = np.argsort(self.asked.release, kind="stable")[::-1].tolist()
        here = np.zeros(0, dtype=np.int64)
        while coming or len(here):
            while self.events and self.due[self.events[0][1]] != self.events[0][0]:
                heapq.heappop(self.events)
            times = ([release[coming[-1]]] if coming else []) + ([self.events[0][0]] if self.events else [])
            if not times:
                raise InvalidInput(
                    f"reference: job {here[0]} finds no nodes, even alone; leave it out, or enlarge the cluster"
                )
            self.now = min(times)
            gone = self._finish()
            if gone:
                here = here[~np.isin(here, gone)]
            new = []
            while coming and release[coming[-1]] <= self.now:
                new.append(coming.pop())
            here = np.append(here, new) if new else here
            if len(here):
                self._fill(here)

    def _finish(self) -> list[int]:
        """Who ends now."""
        gone = []
        while self.events and self.events[0][0] == self.now:
            end, job = heapq.heappop(self.events)
            if self.due[job] == end:
                self._close(job, FINISH, self.packing.places[job])
                self.packing.leave(job)
                self.completion[job] = self.now
                gone.append(job)
        return gone

    def _fill(self, here: IntArray) -> None:
        """Who of those that are here runs from now on, and where."""
        left = np.where(
            self.runs[here], self.ends[here] - self.now - self.cost[here], self.work[here] + self.against[here]
        )
        here = here[np.argsort(left * self.scale[here], kind="stable")]
        chosen, runs = within_capacity(self.need[here], self.asked.capacity.sum(axis=0)), self.runs[here]
        if not (chosen & ~runs).any():
            return
        packing = self.packing
        packing.begin()
        stopped = here[runs & ~chosen].tolist()
        for job in stopped:
            packing.leave(job)
        starting = here[chosen & ~runs]
        starting = starting[np.argsort(-self.need[starting].max(axis=1, initial=0), kind="stable")]
        placed = [packing.place(job, moving=True) for job in starting.tolist()]
        if not all(placed):
            before = packing.before
            for job in stopped:
                packing.put(job, before[job])
            for job in here.tolist():
                if job not in packing.places and (self.need[job] <= packing.free.sum(axis=0)).all():
                    packing.place(job)
        for job, nodes in packing.before.items():
            self._change(job, nodes, packing.places.get(job, ()))

    def _change(self, job: int, before: Nodes, after: Nodes) -> None:
        """A job is no longer where it was; () is nowhere."""
        if before == after:
            return
        if before:
            self._close(job, MOVE if after else PAUSE, before)
        if after:
            self.since[job], self.runs[job] = self.now, True
            self.paid[job] = 0 if self.paid[job] < 0 else self.price[job]
            work = self.paid[job] * WHOLE + (self.total[job] - self.done[job]) * self.cycle[job]
            self.ends[job], self.due[job] = self.now + work / WHOLE**2, self.now - (-work // WHOLE**2)
            heapq.heappush(self.events, (self.due[job], job))

    def _close(self, job: int, outcome: int, nodes: Nodes) -> None:
        """A job's segment ends now."""
        self.rows.append(Held(job, self.since[job], self.now, self.done[job], self.paid[job], outcome, nodes))
        self.runs[job], self.due[job] = False, -1
        elapsed = max(0, (self.now - self.since[job]) * WHOLE - self.paid[job])
        self.done[job] += elapsed * WHOLE // self.cycle[job]
        self.work[job] = (self.total[job] - self.done[job]) * self.cycle[job] / WHOLE**2
        self.against[job] = self.cost[job]
