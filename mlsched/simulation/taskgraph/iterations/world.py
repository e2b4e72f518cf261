"""World of the iteration engine: events, questions and rounds. Jobs change only at events.

At every scheduling event, in this order:

1. jobs that ended up to now, by time, release their nodes; then nodes fail and return;
2. arrivals up to now;
3. if some waiting job has room, or tasks may be paused or moved, or the solver requested this wake, it is called once
and its round carried out at once.

`placements` has the dynamics of the jobs.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.simulation.taskgraph.iterations.engine import Engine, serves
from mlsched.simulation.taskgraph.iterations.log import GROW, MOVE, PAUSE
from mlsched.simulation.taskgraph.iterations.needs import Needs
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.placements import DOWN, END, UP, Placements
from mlsched.simulation.taskgraph.iterations.workload import Jobs


class IterationWorld(Placements):
    """State and dynamics of one run; the module's docstring gives the order of steps."""

    def __init__(self, workload: Jobs, options: Options) -> None:
        super().__init__(workload, options)
        self._needs = Needs(workload, self.shapes, self.room.layout, self._demand)
        self._wanted = -1  # time of the last requested wake
        self._asking = False

    def next_event(self) -> int | None:
        """Return the next arrival, end of a job, or arrival of data."""
        while self._events and self._is_stale(self._events[0]):
            heapq.heappop(self._events)
        times = [self._events[0][0]] if self._events else []
        if self.arrived < len(self.arrivals):
            times.append(self.arrivals[self.arrived])
        return min(times) if times else None

    def pending(self) -> bool:
        """Return True if there are jobs to decide about at the next tick."""
        return bool(self.jobs)

    def advance(self, time: int) -> None:
        """Process all events up to `time`."""
        self.view.preserve_snapshot()
        while self._events and self._events[0][0] <= time:
            self.now = self._events[0][0]
            while self._events and self._events[0][0] == self.now:
                event = heapq.heappop(self._events)
                if event[1] == END and not self._is_stale(event):
                    self._finish(self.jobs[event[2]])
                elif event[1] in (DOWN, UP):
                    self._fail(event[2]) if event[1] == DOWN else self._repair(event[2])
            self._settle()
        self.now = time
        while self.arrived < len(self.arrivals) and self.arrivals[self.arrived] <= time:
            self._arrive(self.arrived)
            self.arrived += 1
        self._asking = True

    def ask(self) -> Snapshot | None:
        """Return the current snapshot, or None without a decision."""
        if self._asking and self._may_decide():
            return self.view.snapshot()
        self._asking = False
        return None

    def at_rest(self, limit: float) -> bool:
        """Check that no task waits, no node is down, and use is at most the share `limit` of each capacity."""
        if self._waiting or any(self._down) or self.usage is None:
            return False
        return not self.usage.beyond(limit, self.now)

    def asks(self) -> bool:
        """Check whether there is a decision now, once at every time."""
        decides = self._asking and self._may_decide()
        self._asking = False
        return decides

    def served_by(self, order: Any, name: str) -> Engine | None:
        """Return the engine that serves the jobs by an order of `name`; None if snapshots are needed."""
        if serves(self, order):
            self.engine = Engine(self, order, name)
        return self.engine

    def _may_decide(self) -> bool:
        """Check whether a decision is possible."""
        if not self.jobs:
            return False
        if self.now == self._wanted or self.options.asked == "events":
            return True
        may_interrupt = self.options.pausing != "none" or self.movement == "anytime"
        found_room = self._needs.met
        return (may_interrupt and bool(self.segments)) or found_room(self._waiting, self.room, self.devices.free)

    def apply(self, plan: Round) -> int | None:
        """Carry out a round."""
        self._asking = False
        view = self.view
        view.preserve_snapshot()
        stopped_jobs = view.jobs_there()[plan.stop_job].tolist() if len(plan.stop_job) else []
        stops = list(zip(stopped_jobs, plan.stop_after.tolist(), strict=True))
        changes: dict[int, list[tuple[int, int, int]]] = {}  # job -> (action, task of the job, node)
        leaving, coming = list[tuple[int, int]](), list[tuple[int, int, int, int]]()
        nowhere = np.full(len(plan.pause_task), -1)
        for what, tasks, nodes, gpus in (
            (PAUSE, plan.pause_task, nowhere, nowhere),
            (MOVE, plan.migrate_task, plan.migrate_node, plan.migrate_gpu),
            (GROW, plan.start_task, plan.start_node, plan.start_gpu),
        ):
            for number, task, node, gpu in zip(*view.named(tasks), nodes.tolist(), gpus.tolist(), strict=True):
                changes.setdefault(number, []).append((what, task, node))
                if what != GROW:
                    leaving.append((number, task))
                if what != PAUSE:
                    coming.append((number, task, node, gpu))
        self.devices.change(leaving, coming)
        for number, iterations in stops:
            self.jobs[number].stop_after = iterations
            view.changed[number] = self.jobs[number]
            self.log.stops.append((number, iterations, self.now))
        for number, changed in changes.items():
            self.change(self.jobs[number], changed)
        for number, iterations in stops:
            job = self.jobs[number]
            if job.finished == iterations and job.segment is None:
                self._complete(job)
            elif job.segment is not None and number not in changes:
                self._schedule(job)
        self._settle()
        return self.scheduling_events(plan.wake_at)

    def scheduling_events(self, time: int) -> int | None:
        """Record the requested wake of a round, if it is in the future."""
        if time <= self.now:
            return None
        self.log.wakes.append(time)
        self._wanted = time
        return time

    def _is_stale(self, event: tuple[int, int, int, int]) -> bool:
        if event[1] != END:
            return False
        job = self.jobs.get(event[2])
        return job is None or event[3] != job.serial
