"""The task-graph world: jobs arrive, and their tasks run on nodes, iteration after iteration.

At every scheduling event, in this order:

1. runs that ended up to now, by time; when the last task of an iteration is done, the job's next iteration begins, or
the job is finished;
2. arrivals up to now;
3. if some task can start, pause or move, or the solver requested this wake, the solver is called and its round carried
out at once. Runs of duration 0 end at once; their successors become ready in a further round.

An iteration of a job begins when the previous one is complete: tasks never run ahead. Time is in ticks; runs end
between wakes, starts happen only at scheduling events. A run that continues after a pause or a move uses its node for
the workload's `pause_cost` before it works; if paused again before that is over, it has done zero work. Without pauses
runs are never interrupted, so that the log of a run is a Timetable.
"""

from __future__ import annotations

import heapq

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import Instance, Round, Snapshot
from mlsched.instances.taskgraph.states import DONE, PAUSED, RUNNING, WAITING
from mlsched.simulation.taskgraph.board import Board
from mlsched.simulation.taskgraph.graph import Graph
from mlsched.simulation.taskgraph.log import FINISH, MOVE, PAUSE, Log
from mlsched.simulation.taskgraph.options import Options
from mlsched.simulation.taskgraph.view import View
from mlsched.simulation.taskgraph.workload import Workload, begun, hopeless

_END, _WAKE = 0, 1


class TaskgraphWorld:
    """State and dynamics of one run; the module's docstring gives the order of steps."""

    def __init__(self, horizon: Instance, true_duration: IntArray, options: Options, pause_cost: int = 0) -> None:
        self.horizon, self.options, self.log = horizon, options, Log()
        self.pause_cost = pause_cost
        self.movement = horizon.movement if options.movement == "given" else options.movement
        self.now = horizon.now
        self._graph = Graph(horizon)
        self._true = true_duration.tolist()
        self._demand = list(horizon.demand)
        self._job = horizon.task_job.tolist()
        jobs, tasks = len(horizon.arrival), len(horizon.task_job)
        self.estimate = (true_duration if options.information == "oracle" else horizon.duration).copy()
        self.state, self.node = np.zeros(tasks, dtype=np.int64), np.full(tasks, -1)
        self.start, self.end, self.progress, self.paused_at = (np.zeros(tasks, dtype=np.int64) for _ in range(4))
        self.home, self.last_end = horizon.home.copy(), horizon.last_end.copy()
        self.finished, self.on_time = horizon.finished.copy(), horizon.on_time.copy()
        self.stop_after = horizon.max_iterations.copy()
        self.service = np.zeros((jobs, len(horizon.resources)), dtype=np.int64)
        self.executed, self.preemptions = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        self.running_of, self.busy_since = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        self.first_start = np.where(self.finished > 0, np.minimum(horizon.arrival, self.now), -1)
        self.idle_since = horizon.arrival.copy()
        self.in_use = np.zeros(horizon.node_capacity.shape, dtype=np.int64)
        self.board = Board(horizon)
        self.running: dict[int, None] = {}  # running tasks, in order of their start
        self.active: list[int] = []  # jobs that have arrived and are unfinished, by number
        self._overhead = [0] * tasks  # ticks at the start of the current segment without work
        self._serial = [0] * tasks  # of a task's current segment: events of earlier ones no longer count
        self._lacking = list(self._graph.sources)  # unfinished sources (lag 0) of each task
        self._left = [len(self._graph.tasks[j]) for j in range(jobs)]  # unfinished tasks of the iteration
        self._over = [False] * jobs
        self._events: list[tuple[int, int, int, int]] = []  # (time, kind, task, serial)
        self._order = np.argsort(horizon.arrival, kind="stable").tolist()
        self._arrived, self._unfinished = 0, jobs
        self._asking = False
        self._wanted = -1  # time of the last requested wake
        self._view = View(self)
        self._take_over_runs()

    @classmethod
    def of(cls, workload: Workload, options: Options) -> TaskgraphWorld:
        """Build the world of a workload."""
        return cls(workload.horizon, workload.true_duration, options, workload.pause_cost)

    def _take_over_runs(self) -> None:
        """Continue the started runs of a residual horizon, and deliver the data in transit.

        If a task of a job fits no node, the job stops in its current state if allowed.
        """
        horizon = self.horizon
        leave = hopeless(horizon) & (horizon.finished >= horizon.min_iterations) & ~begun(horizon)
        for j in np.flatnonzero(leave).tolist():
            self.stop_after[j] = self.finished[j]
            self.log.stops.append((j, int(self.finished[j]), self.now))
        columns = (horizon.fixed_task, horizon.fixed_node, horizon.fixed_start, horizon.fixed_gpu)
        fixed_runs = sorted(zip(*(column.tolist() for column in columns), strict=True), key=lambda run: run[2])
        for task, node, start, _ in fixed_runs:
            self._occupy_node(task, node, start)
        # Parts of GPUs keep their places; labels of complete GPUs are arbitrary, and these take the remaining ones.
        for task, node, start, gpu in sorted(fixed_runs, key=lambda run: not self.board.shares(run[0])):
            if start + self._true[task] > self.now:
                self.board.take(task, node, gpu if self.board.shares(task) else -1)
        for j in np.flatnonzero(self.finished > 0).tolist():
            self.idle_since[j] = min(self.now, int(self.last_end[self._graph.tasks[j]].max()))
            self._announce_arrivals(j)

    # -- clock interface ----------------------------------------------------------------------------------------------

    def next_event(self) -> int | None:
        """Return the next arrival, end of a run, or arrival of data; never before the horizon's `now`."""
        while self._events and self._is_stale(self._events[0]):
            heapq.heappop(self._events)
        times = [self._events[0][0]] if self._events else []
        if self._arrived < len(self._order):
            times.append(int(self.horizon.arrival[self._order[self._arrived]]))
        return max(self.horizon.now, min(times)) if times else None

    def pending(self) -> bool:
        """Return True if there are jobs to decide about at the next tick."""
        return bool(self.active)

    def unfinished(self) -> int:
        """Return the number of unfinished jobs."""
        return self._unfinished

    def advance(self, time: int) -> None:
        """Process all events up to `time`."""
        self.now = time
        while self._events and self._events[0][0] <= time:
            event = heapq.heappop(self._events)
            if event[1] == _END and not self._is_stale(event):
                self._finish_run(event[2], event[0])
        while self._arrived < len(self._order) and self.horizon.arrival[self._order[self._arrived]] <= time:
            self._admit_job(self._order[self._arrived])
            self._arrived += 1
        self._asking = True

    def ask(self) -> Snapshot | None:
        """Return the current snapshot, or None without a decision."""
        if not self._asking or not self.active:
            return None
        may_interrupt = self.options.pausing != "none" or self.movement == "anytime"
        self._question = self._view.snapshot()
        is_due = self.now == self._wanted or self.options.asked == "events" or (may_interrupt and self.running)
        if is_due or self._view.has_choice(self._question):
            return self._question
        self._asking = False
        return None

    def apply(self, plan: Round) -> int | None:
        """Carry out a round."""
        self._asking = False
        jobs, tasks = self._view.jobs, self._view.tasks
        for j, iterations in zip(jobs[plan.stop_job].tolist(), plan.stop_after.tolist(), strict=True):
            self.stop_after[j] = iterations
            self.log.stops.append((j, iterations, self.now))
        for task in tasks[plan.pause_task].tolist():
            self._interrupt(task, PAUSE)
        for task in tasks[plan.migrate_task].tolist():
            self._interrupt(task, MOVE)
        coming = [
            np.concatenate(columns).tolist()
            for columns in (
                (tasks[plan.migrate_task], tasks[plan.start_task]),
                (plan.migrate_node, plan.start_node),
                (plan.migrate_gpu, plan.start_gpu),
            )
        ]
        for task, node, gpu in sorted(zip(*coming, strict=True), key=lambda row: row[2] < 0):
            self._resume_run(task, node)
            self.board.take(task, node, gpu)
        for j in jobs[plan.stop_job].tolist():
            if self.finished[j] == self.stop_after[j]:
                self._complete_job(j)
        while self._events and self._events[0][0] <= self.now:  # runs of duration 0
            event = heapq.heappop(self._events)
            if event[1] == _END and not self._is_stale(event):
                self._finish_run(event[2], self.now)
                self._asking = True
        if plan.wake_at > self.now:
            self.log.wakes.append(plan.wake_at)
            self._wanted = plan.wake_at
            return plan.wake_at
        return None

    # -- runs ---------------------------------------------------------------------------------------------------------

    def _is_stale(self, event: tuple[int, int, int, int]) -> bool:
        return event[1] == _END and event[3] != self._serial[event[2]]

    def _resume_run(self, task: int, node: int) -> None:
        """Start a task's run, or resume it at its pause cost; a move also costs the edge to itself."""
        self._overhead[task] = self.pause_cost if self.state[task] == PAUSED else 0
        if self.node[task] not in (-1, node):
            self._overhead[task] += self._graph.move[task]
        self._occupy_node(task, node, self.now)

    def _occupy_node(self, task: int, node: int, start: int) -> None:
        job = self._job[task]
        self.state[task], self.node[task], self.start[task] = RUNNING, node, start
        self.running[task] = None
        if self._true[task]:
            self.in_use[node] += self._demand[task]
        if not self.running_of[job]:
            self.busy_since[job] = start
        self.running_of[job] += 1
        if self.first_start[job] < 0:
            self.first_start[job] = start
        end = start + self._overhead[task] + self._true[task] - int(self.progress[task])
        heapq.heappush(self._events, (end, _END, task, self._serial[task]))

    def _release_task(self, task: int, time: int, outcome: int) -> None:
        """Remove a running task from its node and log the segment."""
        job, node, start = self._job[task], int(self.node[task]), int(self.start[task])
        del self.running[task]
        self._serial[task] += 1
        if self._true[task]:
            self.in_use[node] -= self._demand[task]
        self.service[job] += self._demand[task] * (time - start)
        self.running_of[job] -= 1
        if not self.running_of[job]:
            self.executed[job] += time - self.busy_since[job]
            self.idle_since[job] = time
        self.log.rows.append((job, int(self.finished[job]), task, node, start, time, outcome))
        if self.board.unit:
            self.log.gpus.append(self.board.give(task))

    def _interrupt(self, task: int, outcome: int) -> None:
        """Stop a run before its end; its work counts if it moves, or if pauses keep work."""
        work_done = int(self.progress[task]) + max(0, self.now - int(self.start[task]) - self._overhead[task])
        self._release_task(task, self.now, outcome)
        self.progress[task] = work_done if outcome == MOVE or self.options.pausing == "keep" else 0
        self.state[task], self.paused_at[task] = PAUSED, self.now
        self.preemptions[self._job[task]] += outcome == PAUSE

    def _finish_run(self, task: int, time: int) -> None:
        """End a run, and update its successors, and the job after the last run of the iteration."""
        job = self._job[task]
        self._release_task(task, time, FINISH)
        self.state[task], self.end[task] = DONE, time
        self.estimate[task] = self._true[task]
        for receiver, delay in self._graph.receivers[task]:
            self._lacking[receiver] -= 1
            self._add_wake(time + delay)
        self._left[job] -= 1
        if not self._left[job]:
            self._next_iteration(job, time)

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _admit_job(self, job: int) -> None:
        if self._over[job]:
            return
        self.active = sorted([*self.active, job])
        if self.finished[job] == self.stop_after[job]:
            self._complete_job(job)

    def _next_iteration(self, job: int, time: int) -> None:
        """Complete the job's iteration."""
        tasks = self._graph.tasks[job]
        self.finished[job] += 1
        self.on_time[job] += time <= int(self.horizon.deadline[job])
        self.home[tasks], self.last_end[tasks] = self.node[tasks], self.end[tasks]
        if self.finished[job] == self.stop_after[job]:
            self._complete_job(job)
            return
        self.state[tasks], self.node[tasks] = WAITING, -1
        self.start[tasks] = self.end[tasks] = self.progress[tasks] = 0
        self._left[job] = len(tasks)
        for task in tasks.tolist():
            self._lacking[task] = self._graph.sources[task]
            self._overhead[task] = 0
        self._announce_arrivals(job)

    def _announce_arrivals(self, job: int) -> None:
        """Schedule wakes for the arrival of the last iteration's outputs on other nodes."""
        for task in self._graph.tasks[job].tolist():
            for delay in self._graph.delays_on[task]:
                self._add_wake(int(self.last_end[task]) + delay)

    def _add_wake(self, time: int) -> None:
        if time > self.now:
            heapq.heappush(self._events, (time, _WAKE, -1, 0))

    def _complete_job(self, job: int) -> None:
        self._over[job] = True
        self._unfinished -= 1
        if job in self.active:
            self.active.remove(job)
