"""The iteration engine: jobs whose tasks are all placed run iteration after iteration, and change at events alone.

At every scheduling event, in this order:

1. jobs that ended up to now, by time, give their nodes back; then nodes fail and come back;
2. arrivals up to now;
3. if some job that waits would find room, or tasks may be paused or moved, or the solver wanted to be asked now, it
   is asked once: its round is carried out at once.

A started task holds its node until its job ends or it pauses. While all tasks of a job hold nodes, iterations follow
each other at the pace of its graph under its placement (`pace`); nothing happens inside them. What a job has done is
counted when its placement changes: whole iterations, and of the one under way a part in ppm, rounded down; with
`pausing = "restart"`, a pause loses that part. Inside an iteration, a task that comes back on another node, or moves,
first fetches what its edge of lag 1 to itself says; the job waits for it. A job that is wholly placed after some of
its tasks have paused or moved holds its nodes for its `pause_cost` before it goes on; paused again before that is over,
it pays the whole of it once more. A job ends in the first tick at which its
iterations are done.
"""

from __future__ import annotations

import heapq

import numpy as np

from mlsched.core.errors import shortened
from mlsched.core.fields import UNLIMITED
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.gpus import empty
from mlsched.simulation.taskgraph.iterations.devices import Devices
from mlsched.simulation.taskgraph.iterations.log import FAIL, FINISH, GROW, MOVE, PAUSE, SLOW, Segments
from mlsched.simulation.taskgraph.iterations.needs import Needs
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.pace import Pace, Paces
from mlsched.simulation.taskgraph.iterations.segment import Segment
from mlsched.simulation.taskgraph.iterations.usage import Usage
from mlsched.simulation.taskgraph.iterations.view import View
from mlsched.simulation.taskgraph.iterations.workload import Jobs

#: Kinds of events.
_END, _WAKE, _DRAW, _DOWN, _UP = 0, 1, 2, 3, 4


class IterationWorld:
    """State and dynamics of one run; see the module's docstring for the order of things."""

    def __init__(self, workload: Jobs, options: Options) -> None:
        self.workload, self.options, self.log = workload, options, Segments()
        self.movement = workload.moving(options.pausing, options.movement)
        self.now = 0
        self.free = workload.node_capacity.copy()
        self.view = View(self)
        self.segments: dict[int, Segment] = {}  # jobs that hold nodes
        self._paces = Paces(workload)
        self._demand = workload.demand * (workload.duration > 0)[:, None]
        self.devices = Devices(workload, self._demand)
        self.usage = Usage(workload, options, self._demand) if options.usage == "drawn" else None
        if self.usage:
            self.log.above = self.usage.above
        #: Of each template, what all of its tasks hold.
        self._whole = [self._demand[first:end].sum(axis=0).tolist() for first, end in workload.tasks]
        self._needs = Needs(workload, self._demand)
        self._waiting: dict[int, int] = {}  # template -> its jobs with a task that holds no node, where there are some
        self._resuming: set[int] = set()  # jobs of which a task paused or moved since they were last wholly placed
        self._owed: dict[int, int] = {}  # ticks of fetching that a job's moved tasks still have before them
        self._serial = [0] * len(workload.arrival)  # of a job's present segment: events of earlier ones do not count
        self._lags = [self._delays(template) for template in range(len(workload.gang))]
        self._events: list[tuple[int, int, int, int]] = []  # (time, kind, job, serial)
        self._wanted = -1  # when the last wish to be asked again is for
        self._arrived, self._unfinished = 0, len(workload.arrival)
        self._arrivals, self._template = workload.arrival.tolist(), workload.template.tolist()
        self._asking = False
        self._drawing = -1  # when usage is next drawn anew
        self._down = [0] * len(workload.node_capacity)  # how many failures of a node are not over
        self.eligible = workload.eligible  # classes x nodes, those that have failed apart
        for node, start, end in zip(
            workload.failure_node.tolist(), workload.failure_from.tolist(), workload.failure_to.tolist(), strict=True
        ):
            heapq.heappush(self._events, (start, _DOWN, node, 0))
            if end < UNLIMITED:
                heapq.heappush(self._events, (end, _UP, node, 0))

    def _delays(self, template: int) -> list[int]:
        """Delays of a template's edges of lag 1."""
        of_it = self.workload.task_template[self.workload.edge_from] == template
        return sorted(set(self.workload.edge_delay[of_it & (self.workload.edge_lag == 1)].tolist()))

    # -- the clock's side ---------------------------------------------------------------------------------------------

    def next_event(self) -> int | None:
        """The next arrival, end of a job, or arrival of data."""
        while self._events and self._is_stale(self._events[0]):
            heapq.heappop(self._events)
        times = [self._events[0][0]] if self._events else []
        if self._arrived < len(self._arrivals):
            times.append(self._arrivals[self._arrived])
        return min(times) if times else None

    def pending(self) -> bool:
        """Whether there are jobs to ask about at the next tick."""
        return bool(self.view.jobs.count)

    def unfinished(self) -> int:
        """How many jobs are not finished yet."""
        return self._unfinished

    def advance(self, time: int) -> None:
        """Let everything up to `time` happen."""
        self.view.changes()
        while self._events and self._events[0][0] <= time:
            self.now = self._events[0][0]
            while self._events and self._events[0][0] == self.now:
                event = heapq.heappop(self._events)
                if event[1] == _END and not self._is_stale(event):
                    self._finish(event[2])
                elif event[1] in (_DOWN, _UP):
                    self._fail(event[2]) if event[1] == _DOWN else self._repair(event[2])
            self._settle()
        self.now = time
        before = self._arrived
        while self._arrived < len(self._arrivals) and self._arrivals[self._arrived] <= time:
            self._waits(self._template[self._arrived], 1)
            self._arrived += 1
        if self._arrived > before:
            self.view.arrive(self._arrived - before)
        self._asking = True

    def ask(self) -> Snapshot | None:
        """The snapshot of now, if there is something to decide."""
        if not self._asking or not self.view.jobs.count:
            return None
        if self.now == self._wanted or self.options.asked == "events":
            return self.view.snapshot()
        may_interrupt = self.options.pausing != "none" or self.movement == "anytime"
        if (may_interrupt and self.segments) or (self._waiting and self._room()):
            return self.view.snapshot()
        self._asking = False
        return None

    def _room(self) -> bool:
        """Whether some job that waits would find room."""
        return self._needs.met(self._waiting, self.free, self.devices.free)

    def apply(self, plan: Round) -> int | None:
        """Carry out a round."""
        self._asking = False
        view = self.view
        view.changes()
        stopped = view.jobs_there()[plan.stop_job].tolist() if len(plan.stop_job) else []
        stops = list(zip(stopped, plan.stop_after.tolist(), strict=True))
        changes: dict[int, list[tuple[int, int, int]]] = {}  # job -> (what, task of the job, node)
        leaving, coming = list[tuple[int, int]](), list[tuple[int, int, int, int]]()
        nowhere = np.full(len(plan.pause_task), -1)
        for what, tasks, nodes, gpus in (
            (PAUSE, plan.pause_task, nowhere, nowhere),
            (MOVE, plan.migrate_task, plan.migrate_node, plan.migrate_gpu),
            (GROW, plan.start_task, plan.start_node, plan.start_gpu),
        ):
            for job, task, node, gpu in zip(*view.named(tasks), nodes.tolist(), gpus.tolist(), strict=True):
                changes.setdefault(job, []).append((what, task, node))
                if what != GROW:
                    leaving.append((job, task))
                if what != PAUSE:
                    coming.append((job, task, node, gpu))
        self.devices.change(leaving, coming)
        for job, iterations in stops:
            view.set_job(job, stop_after=iterations)
            self.log.stops.append((job, iterations, self.now))
        for job, changed in changes.items():
            self._change(job, changed)
        for job, iterations in stops:
            if view.job(job, "finished") == iterations and job not in self.segments:
                self._complete(job)
            elif job in self.segments and job not in changes:
                self._schedule(job)
        self._settle()
        if plan.wake_at > self.now:
            self.log.wakes.append(plan.wake_at)
            self._wanted = plan.wake_at
            return plan.wake_at
        return None

    # -- placements ---------------------------------------------------------------------------------------------------

    def _waits(self, template: int, more: int) -> None:
        """So many more jobs of a template have a task that holds no node."""
        if not more:
            return
        count = self._waiting.get(template, 0) + more
        if count:
            self._waiting[template] = count
        else:
            del self._waiting[template]

    def _is_stale(self, event: tuple[int, int, int, int]) -> bool:
        return event[1] == _END and event[3] != self._serial[event[2]]

    def _change(self, job: int, changed: list[tuple[int, int, int]]) -> None:
        """Pause, move and start tasks of a job, and let it go on as it then is placed."""
        whats = {what for what, _, _ in changed}
        outcome = next(what for what in (FAIL, PAUSE, MOVE, GROW) if what in whats)
        template = self._template[job]
        first, end = self.workload.tasks[template]
        last = self.segments.pop(job, None)
        nodes = [-1] * (end - first) if last is None else list(last.nodes)
        if last is not None:
            self._close(job, last, outcome)
        lacked = min(nodes) < 0
        _, finished, part = self.view.done(job)
        for what, task, node in changed:
            if nodes[task] >= 0:
                self.free[nodes[task]] += self._demand[first + task]
                if self.usage:
                    self.usage.go(job, task)
            nodes[task] = node
            if what in (PAUSE, FAIL):
                self.view.pauses(job, task)
                continue
            if part and self.view.task(job, task, "node") not in (-1, node):
                self._owed[job] = max(self._owed.get(job, 0), self._paces.moving(first + task))
            self.free[node] -= self._demand[first + task]
            self.view.starts(job, task, node, self.devices.named(job, task))
            if self.usage:
                self.usage.come(job, task, node, self.devices.of_task(job, task), self.now)
        if outcome != GROW:
            self._resuming.add(job)
        if outcome in (PAUSE, FAIL) and not part:
            self.view.waits_again(job)
        if outcome == FAIL:
            self._owed.pop(job, None)
        if outcome == PAUSE:
            paused = sum(what == PAUSE for what, _, _ in changed)
            self.view.set_job(job, preemptions=self.view.job(job, "preemptions") + paused)
        self._waits(template, (min(nodes) < 0) - lacked)
        self._open(job, tuple(nodes), finished, part)

    def _open(self, job: int, nodes: tuple[int, ...], finished: int, part: int) -> None:
        """A job's placement from now on, when it has done so much."""
        held = [task for task, node in enumerate(nodes) if node >= 0]
        if len(held) == len(nodes):
            amounts = self._whole[self._template[job]]
        else:
            first = self.workload.span(job)[0]
            amounts = self._demand[[first + task for task in held]].sum(axis=0).tolist()
        self.view.hold(job, len(held), amounts, self.now)
        if not held:
            if self._serial[job]:
                self._announce(job)
            return
        segment = Segment(self.now, finished, part, nodes)
        segment.gpus = self.devices.of(job, len(nodes))
        self.segments[job] = segment
        if len(held) == len(nodes):
            segment.delay = self._owed.pop(job, 0)
            if job in self._resuming:
                self._resuming.remove(job)
                segment.cost = int(self.workload.pause_cost[job])
            if self.usage is None:
                self._run(job, segment, self._paces.of(job, list(nodes)))
        else:
            self._announce(job)

    def _run(self, job: int, segment: Segment, pace: Pace) -> None:
        """A wholly placed job goes on at this pace from the segment's start on."""
        segment.first, segment.cycle = pace.cycle if segment.later else pace.first, pace.cycle
        self.view.run(job, segment)
        self._schedule(job)

    def _settle(self) -> None:
        """Jobs go on at the paces that usage leaves them; done whenever placements or usage may have changed."""
        if self.usage is None:
            return
        changed = self.usage.settle(self.now)
        self.log.above = self.usage.above
        for job, slow in changed.items():
            segment = self.segments[job]
            if min(segment.nodes) < 0:
                continue
            pace = self._paces.of(job, list(segment.nodes), slow)
            if segment.start < self.now:
                if (pace.cycle if segment.later else pace.first, pace.cycle) == (segment.first, segment.cycle):
                    continue
                segment = self._split(job, segment)
            self._run(job, segment, pace)
        due = self.usage.next_draw(self.now)
        if due is not None and due != self._drawing and any(s.first for s in self.segments.values()):
            self._drawing = due
            heapq.heappush(self._events, (due, _DRAW, -1, 0))

    def _split(self, job: int, old: Segment) -> Segment:
        """A job's segment ends now, since its pace changes; it goes on in the next."""
        finished, _, boundary = old.progress(self.now)
        self._note(job, old, self.now, SLOW)
        self.view.slowed(job, finished, self._on_time(job, old), boundary, old.nodes)
        self.segments[job] = old.rest(self.now)
        return self.segments[job]

    def _schedule(self, job: int) -> None:
        """When the job ends as things stand."""
        segment = self.segments[job]
        self._serial[job] += 1
        if segment.first:
            end = segment.start + segment.length(self.view.done(job)[0])
            heapq.heappush(self._events, (end, _END, job, self._serial[job]))

    def _close(self, job: int, segment: Segment, outcome: int) -> None:
        """A segment ends now: note it, and what the job has done."""
        self._serial[job] += 1
        finished, part, boundary = segment.progress(self.now)
        self._note(job, segment, self.now, outcome)
        if outcome == FAIL or (outcome == PAUSE and self.options.pausing == "restart"):
            part = 0
        self.view.stopped(job, finished, self._on_time(job, segment), part, boundary, segment.nodes)
        if outcome == FAIL and self.options.restart == "scratch":
            self.view.from_scratch(job)

    def _on_time(self, job: int, segment: Segment) -> int:
        """How many iterations of a segment that ends now ended by the job's deadline."""
        until = min(int(self.workload.deadline[job]), self.now)
        return segment.progress(until)[0] - segment.finished

    def _note(self, job: int, s: Segment, end: int, outcome: int) -> None:
        self.log.rows.append((job, s.start, end, s.finished, s.part, s.first, s.cycle, s.delay, s.cost, outcome))
        self.log.places.append(s.nodes)
        if s.gpus:
            self.log.gpus.append(s.gpus)

    def _fail(self, node: int) -> None:
        """A node is gone: the jobs that have a task there lose all of their nodes, and what they had not yet saved."""
        self._down[node] += 1
        if self._down[node] > 1:
            return
        for job, segment in [(job, s) for job, s in self.segments.items() if node in s.nodes]:
            held = [task for task, place in enumerate(segment.nodes) if place >= 0]
            self.devices.change([(job, task) for task in held], [])
            self._change(job, [(FAIL, task, -1) for task in held])
        self.free[node] = 0
        self.devices.free[node] = 0
        self._settle_eligible()

    def _repair(self, node: int) -> None:
        """A node is back, and empty."""
        self._down[node] -= 1
        if not self._down[node]:
            self.free[node] = self.workload.node_capacity[node]
            self.devices.free[node] = empty(self.workload)[node]
            self._settle_eligible()

    @property
    def lost(self) -> str:
        """Which nodes have failed, and will not come back where nothing will happen any more."""
        names = [self.workload.node_names[n] if self.workload.node_names else n for n in np.flatnonzero(self._down)]
        many = "nodes have" if len(names) > 1 else "node has"
        return f"{len(names)} {many} failed for good: {shortened(', '.join(map(str, names)), 60)}" if names else ""

    def _settle_eligible(self) -> None:
        """Nothing may run on nodes that have failed, not even what holds nothing there."""
        self.eligible = self.workload.eligible * (np.array(self._down) == 0)
        self.eligible.flags.writeable = False

    def _announce(self, job: int) -> None:
        """Wake when what the last iteration sent on arrives elsewhere."""
        for delay in self._lags[self._template[job]]:
            for end in set(self.view.task_columns(job, "last_end")[0].tolist()):
                if end + delay > self.now:
                    heapq.heappush(self._events, (end + delay, _WAKE, -1, 0))

    def _finish(self, job: int) -> None:
        """A job has run all of its iterations."""
        segment = self.segments.pop(job)
        self._note(job, segment, self.now, FINISH)
        first = self.workload.span(job)[0]
        for task, node in enumerate(segment.nodes):
            self.free[node] += self._demand[first + task]
            if segment.gpus:
                self.devices.leave(job, task)
            if self.usage:
                self.usage.go(job, task)
        self._complete(job)

    def _complete(self, job: int) -> None:
        self._serial[job] += 1
        self._waits(self._template[job], -self.view.lacks(job))
        self._unfinished -= 1
        self.view.leave(job)
