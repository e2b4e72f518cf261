"""Jobs of a running world on its nodes: they start, pause, move and end, at the pace of their graphs.

A started task keeps its node until its job ends or it pauses. While all tasks of a job use nodes, iterations follow
each other at the pace of its graph under its placement (`pace`), without events inside them. The progress of a job is
counted when its placement changes: complete iterations, and of the current one a part in ppm, rounded down; with
`pausing = "restart"`, a pause loses that part. Inside an iteration, a task that returns on another node, or moves,
first fetches the data of its edge of lag 1 to itself; the job waits for it. A job that is completely placed after some
of its tasks have paused or moved uses its nodes for its `pause_cost` before it continues. If it is paused again before
that is over, it pays the full cost once more. A job ends in the first tick at which its iterations are done.
"""

from __future__ import annotations

import heapq
import operator
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import UNLIMITED
from mlsched.instances.taskgraph.gpus import empty
from mlsched.simulation.taskgraph.iterations.devices import Devices
from mlsched.simulation.taskgraph.iterations.log import FAIL, FINISH, GROW, MOVE, PAUSE, SLOW, Segments
from mlsched.simulation.taskgraph.iterations.needs import shapes_of
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.pace import Pace, Paces
from mlsched.simulation.taskgraph.iterations.segment import Segment
from mlsched.simulation.taskgraph.iterations.state import JobState
from mlsched.simulation.taskgraph.iterations.thrashing import Thrashing
from mlsched.simulation.taskgraph.iterations.usage import Usage
from mlsched.simulation.taskgraph.iterations.view import View
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.engine import Engine

#: Kinds of events.
END, WAKE, DRAW, DOWN, UP = 0, 1, 2, 3, 4
#: Longest work of a job that fits the log's 64 bits, in 10^-6 ticks.
MOST_LENGTH = 2**62


class Placements:
    """Jobs in the system, room on the nodes, and future events; see the module's docstring."""

    def __init__(self, workload: Jobs, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Segments()
        self.movement = workload.moving(options.pausing, options.movement)
        self.now = 0
        self._paces = Paces(workload)
        self._demand = workload.demand * (workload.duration > 0)[:, None]
        self.shapes, self.room = shapes_of(workload, self._demand)
        self.devices = Devices(workload, self._demand)
        self.usage = Usage(workload, options, self._demand) if options.usage == "drawn" else None
        if self.usage:
            self.log.above = self.usage.above
        self.jobs: dict[int, JobState] = {}  # jobs in the system, in order of arrival
        self.segments: dict[int, JobState] = {}  # those of them with nodes
        self.view = View(self)
        self.engine: Engine | None = None  # if the jobs are served by an order
        #: Use of all tasks of each template.
        self._whole = [tuple(self._demand[first:end].sum(axis=0).tolist()) for first, end in workload.tasks]
        self._nothing = (0,) * len(workload.resources)
        self._waiting: dict[int, int] = {}  # template -> number of its jobs with an unplaced task, if positive
        self._lags = [self._edge_delays(template) for template in range(len(workload.gang))]
        self._events: list[tuple[int, int, int, int]] = []  # (time, kind, job, serial)
        self.arrived, self._unfinished = 0, len(workload.arrival)
        self.arrivals: list[int] = workload.arrival.tolist()
        self._template: list[int] = workload.template.tolist()
        self._most, self._price = workload.max_iterations.tolist(), workload.pause_cost.tolist()
        self._deadline = workload.deadline.tolist()
        self.thrashing = Thrashing()
        self._drawing = -1  # time of the next usage draw
        self._down = [0] * len(workload.node_capacity)  # number of current failures of each node
        self.alive = (1 << len(workload.node_capacity)) - 1  # nodes without a failure, a set of bits
        self._capacity = self.room.free.copy()
        self.eligible = workload.eligible  # shape (classes, nodes), without failed nodes
        for node, start, end in zip(
            workload.failure_node.tolist(), workload.failure_from.tolist(), workload.failure_to.tolist(), strict=True
        ):
            heapq.heappush(self._events, (start, DOWN, node, 0))
            if end < UNLIMITED:
                heapq.heappush(self._events, (end, UP, node, 0))

    def _edge_delays(self, template: int) -> list[int]:
        """Return the delays of a template's edges of lag 1."""
        of_it = self.workload.task_template[self.workload.edge_from] == template
        return sorted(set(self.workload.edge_delay[of_it & (self.workload.edge_lag == 1)].tolist()))

    def unfinished(self) -> int:
        """Return the number of unfinished jobs."""
        return self._unfinished

    def _arrive(self, number: int) -> None:
        template = self._template[number]
        tasks = self.shapes[template].count
        self.jobs[number] = JobState(number, template, tasks, self.arrivals[number], self._most[number], self._nothing)
        self._count_waiting(template, 1)
        if self.engine is not None:
            self.engine.arrive(self.jobs[number])

    def _count_waiting(self, template: int, more: int) -> None:
        """Change the number of a template's jobs with an unplaced task."""
        if not more:
            return
        count = self._waiting.get(template, 0) + more
        if count:
            self._waiting[template] = count
        else:
            del self._waiting[template]

    def change(self, job: JobState, changed: list[tuple[int, int, int]]) -> None:
        """Pause, move and start tasks of a job, and continue it in its new placement."""
        whats = {what for what, _, _ in changed}
        outcome = next(what for what in (FAIL, PAUSE, MOVE, GROW) if what in whats)
        last = job.segment
        if last is None and outcome == GROW and len(changed) == len(job.node):
            self.begin(job, tuple([node for _, _, node in sorted(changed, key=operator.itemgetter(1))]))
            return
        if last is not None and whats == {PAUSE} and len(changed) == len(job.node):
            self.halt(job, PAUSE)
            return
        first = self.workload.tasks[job.template][0]
        nodes = [-1] * len(job.node) if last is None else list(last.nodes)
        if last is not None:
            self._close_segment(job, last, outcome)
        lacked = min(nodes) < 0
        needs = self.shapes[job.template].needs
        for what, task, node in changed:
            if nodes[task] >= 0:
                self.room.take(nodes[task], -needs[task])
                if self.usage:
                    self.usage.go(job.number, task)
            nodes[task] = node
            if what in (PAUSE, FAIL):
                job.pauses(task, self.now)
                continue
            if job.part and job.node[task] not in (-1, node):
                job.owed = max(job.owed, self._paces.moving(first + task))
            self.room.take(node, needs[task])
            job.starts(task, node, self.devices.named(job.number, task), self.now)
            if self.usage:
                self.usage.come(job.number, task, node, self.devices.of_task(job.number, task), self.now)
        if outcome != GROW:
            job.resuming = True
        if outcome in (PAUSE, FAIL) and not job.part:
            job.waits_again()
        if outcome == FAIL:
            job.owed = 0
        if outcome == PAUSE:
            job.preemptions += sum(what == PAUSE for what, _, _ in changed)
        self._count_waiting(job.template, (min(nodes) < 0) - lacked)
        self._open_segment(job, tuple(nodes))

    def begin(self, job: JobState, nodes: tuple[int, ...]) -> None:
        """Start all tasks of an unplaced job on these nodes."""
        take = self.room.take
        for node, need in zip(nodes, self.shapes[job.template].needs, strict=True):
            take(node, need)
        if job.part and self._lags[job.template]:
            first = self.workload.tasks[job.template][0]
            for task, node in enumerate(nodes):
                if job.node[task] not in (-1, node):
                    job.owed = max(job.owed, self._paces.moving(first + task))
        gpus_of = (
            tuple([self.devices.named(job.number, task) for task in range(len(nodes))]) if self.devices.unit else None
        )
        job.start_all(nodes, gpus_of or (-1,) * len(nodes), self.now)
        if self.usage:
            for task, node in enumerate(nodes):
                self.usage.come(job.number, task, node, self.devices.of_task(job.number, task), self.now)
        self._count_waiting(job.template, -1)
        self._open_segment(job, nodes)

    def halt(self, job: JobState, outcome: int) -> None:
        """Remove all tasks of a job from its nodes, for a pause or after a failure."""
        last = job.segment
        assert last is not None, "the job holds nodes"
        self._close_segment(job, last, outcome)
        lacked = job.lacks
        for task, (node, need) in enumerate(zip(last.nodes, self.shapes[job.template].needs, strict=True)):
            if node >= 0:
                self.room.take(node, -need)
                if self.usage:
                    self.usage.go(job.number, task)
        job.pause_all(last.nodes, self.now)
        job.resuming = True
        if not job.part:
            job.waits_again()
        if outcome == FAIL:
            job.owed = 0
        else:
            job.preemptions += job.placed
        self._count_waiting(job.template, not lacked)
        self._open_segment(job, (-1,) * len(last.nodes))

    def _open_segment(self, job: JobState, nodes: tuple[int, ...]) -> None:
        """Open a segment with a job's new placement."""
        self.view.changed[job.number] = job
        count = len(nodes) - nodes.count(-1)
        if count == len(nodes):
            amounts = self._whole[job.template]
        elif not count:
            amounts = self._nothing
        else:
            first = self.workload.tasks[job.template][0]
            placed_tasks = [first + task for task, node in enumerate(nodes) if node >= 0]
            amounts = tuple(self._demand[placed_tasks].sum(axis=0).tolist())
        job.hold(count, amounts, self.now)
        if not count:
            if job.serial:
                self._announce_arrivals(job)
            if self.engine is not None:
                self.engine.wait(job)
            return
        job.segment = segment = Segment(self.now, job.finished, job.part, nodes)
        self.segments[job.number] = job
        if self.devices.unit:
            segment.gpus = self.devices.of(job.number, len(nodes))
        if count == len(nodes):
            segment.delay, job.owed = job.owed, 0
            if job.resuming:
                job.resuming = False
                segment.cost = self._price[job.number]
                self.thrashing.resumed(self.now - job.idle_since, segment.cost)
            if self.usage is None:
                self._run_segment(job, segment, self._paces.of(job.number, nodes))
        else:
            self._announce_arrivals(job)

    def _run_segment(self, job: JobState, segment: Segment, pace: Pace) -> None:
        """Run a completely placed job at this pace from the segment's start on."""
        segment.first, segment.cycle = pace.cycle if segment.later else pace.first, pace.cycle
        job.run(segment)
        self._schedule(job)
        if self.engine is not None:
            self.engine.runs(job)

    def _settle(self) -> None:
        """Update the paces of jobs by usage; called after any change of placements or usage."""
        if self.usage is None:
            return
        changed = self.usage.settle(self.now)
        self.log.above = self.usage.above
        for number, slow in changed.items():
            job = self.segments[number]
            segment = job.segment
            assert segment is not None, "the job holds nodes"
            if min(segment.nodes) < 0:
                continue
            pace = self._paces.of(number, segment.nodes, slow)
            if pace.cycle * job.stop_after > MOST_LENGTH:
                raise InvalidInput(
                    f"overload_power: {self.options.overload_power}, too high for job {number}, which would never end "
                    f"(slowdown {max(slow) / WHOLE:.3g}); use a lower power"
                )
            if segment.start < self.now:
                if (pace.cycle if segment.later else pace.first, pace.cycle) == (segment.first, segment.cycle):
                    continue
                segment = self._split_segment(job, segment)
            self.view.changed[number] = job
            self._run_segment(job, segment, pace)
        due = self.usage.next_draw(self.now)
        if (
            due is not None
            and due != self._drawing
            and any(j.segment and j.segment.first for j in self.segments.values())
        ):
            self._drawing = due
            heapq.heappush(self._events, (due, DRAW, -1, 0))

    def _split_segment(self, job: JobState, old: Segment) -> Segment:
        """End a job's segment now, since its pace changes, and return the next one."""
        finished, _, boundary = old.progress(self.now)
        self._log_segment(job.number, old, self.now, SLOW)
        job.slowed(finished, self._count_on_time(job, old), boundary, old.nodes)
        job.segment = rest = old.rest(self.now)
        return rest

    def _schedule(self, job: JobState) -> None:
        """Schedule the job's end in its current state."""
        segment = job.segment
        assert segment is not None, "the job holds nodes"
        job.serial += 1
        if segment.first:
            end = segment.start + segment.length(job.stop_after)
            heapq.heappush(self._events, (end, END, job.number, job.serial))

    def _close_segment(self, job: JobState, segment: Segment, outcome: int) -> None:
        """End a segment now: log it, and credit the job's work."""
        if self.engine is not None:
            self.engine.stops(job)
        del self.segments[job.number]
        job.segment = None
        job.serial += 1
        finished, part, boundary = segment.progress(self.now)
        self._log_segment(job.number, segment, self.now, outcome)
        if outcome == PAUSE:
            self.thrashing.paused(job.number, (finished, part) > (segment.finished, segment.part))
        if outcome == FAIL or (outcome == PAUSE and self.options.pausing == "restart"):
            part = 0
        job.slowed(finished, self._count_on_time(job, segment), boundary, segment.nodes)
        job.part = part
        if outcome == FAIL and self.options.restart == "scratch":
            job.from_scratch()

    def _count_on_time(self, job: JobState, segment: Segment) -> int:
        """Return the iterations of a segment ending now that ended by the job's deadline."""
        until = min(self._deadline[job.number], self.now)
        return segment.progress(until)[0] - segment.finished

    def stuck(self) -> str:
        """Return why the run is endless, or "": jobs are paused again and again without progress."""
        return self.thrashing.found(self)

    def remark(self) -> str:
        """Return a remark for users on the finished run, or ""."""
        return self.thrashing.remark()

    def _log_segment(self, job: int, s: Segment, end: int, outcome: int) -> None:
        self.log.rows.append((job, s.start, end, s.finished, s.part, s.first, s.cycle, s.delay, s.cost, outcome))
        self.log.places.append(s.nodes)
        if s.gpus:
            self.log.gpus.append(s.gpus)

    def _fail(self, node: int) -> None:
        """Fail a node: its jobs lose all of their nodes, and their unsaved work."""
        self._down[node] += 1
        if self._down[node] > 1:
            return
        for job in [job for job in self.segments.values() if job.segment and node in job.segment.nodes]:
            placed_tasks = [task for task, place in enumerate(job.segment.nodes if job.segment else ()) if place >= 0]
            self.devices.change([(job.number, task) for task in placed_tasks], [])
            self.halt(job, FAIL)
        self.room.take(node, self.room.free[node])
        self.devices.free[node] = 0
        self._settle_eligible()

    def _repair(self, node: int) -> None:
        """Return a node to service, empty."""
        self._down[node] -= 1
        if not self._down[node]:
            self.room.take(node, self.room.free[node] - self._capacity[node])
            self.devices.free[node] = empty(self.workload)[node]
            self._settle_eligible()

    @property
    def lost(self) -> str:
        """Describe the failed nodes that stay failed after the last event."""
        names = [self.workload.node_names[n] if self.workload.node_names else n for n in np.flatnonzero(self._down)]
        many = "nodes have" if len(names) > 1 else "node has"
        return f"{len(names)} {many} failed for good: {shorten(', '.join(map(str, names)), 60)}" if names else ""

    def _settle_eligible(self) -> None:
        """Exclude failed nodes, even for tasks of zero demand."""
        self.alive = sum(1 << node for node, down in enumerate(self._down) if not down)
        self.eligible = self.workload.eligible * (np.array(self._down) == 0)
        self.eligible.flags.writeable = False

    def _announce_arrivals(self, job: JobState) -> None:
        """Schedule wakes for the arrival of the last iteration's outputs on other nodes."""
        for delay in self._lags[job.template]:
            for end in set(job.last_end):
                if end + delay > self.now:
                    heapq.heappush(self._events, (end + delay, WAKE, -1, 0))

    def _finish(self, job: JobState) -> None:
        """Finish a job that has run all of its iterations."""
        if self.engine is not None:
            self.engine.stops(job)
        segment = self.segments.pop(job.number).segment
        assert segment is not None, "the job holds nodes"
        self._log_segment(job.number, segment, self.now, FINISH)
        for task, (node, need) in enumerate(zip(segment.nodes, self.shapes[job.template].needs, strict=True)):
            self.room.take(node, -need)
            if segment.gpus:
                self.devices.leave(job.number, task)
            if self.usage:
                self.usage.go(job.number, task)
        self._complete(job)

    def _complete(self, job: JobState) -> None:
        self._count_waiting(job.template, -job.lacks)
        self._unfinished -= 1
        self.thrashing.advanced()
        del self.jobs[job.number]
        self.view.leave(job)
        if self.engine is not None:
            self.engine.leave(job)
