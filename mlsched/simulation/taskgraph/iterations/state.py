"""State of one job in a running world: its progress, the resources that it uses, and its tasks."""

from __future__ import annotations

from typing import Any

from mlsched.instances.taskgraph.states import PAUSED, RUNNING, WAITING
from mlsched.simulation.taskgraph.iterations.segment import Segment
from mlsched.simulation.taskgraph.iterations.workload import WHOLE


class JobState:
    """Job in the system. Columns of snapshots are written from it (`view`).

    Attributes:
        part: Work on the current iteration when the tasks last started, ppm.
        since: Time up to which service is counted.
        begin: Time when iterations continue (-1: they do not).
        head, cycle: 10^-6 ticks from `begin` to the end of the current iteration, and of each later one.
        cost: Part of `head` without work since the job continues after a pause.
        counted, held: Service and used amount of each resource.
        state, node, gpu, start, waiting_since, home, last_end: One entry per task, in tuples that are replaced and
            never changed.
        serial: Distinguishes the events of the current segment.
        resuming: A task paused or moved since the job was last completely placed.
        owed: Ticks of fetching before moved tasks work.
    """

    __slots__ = (
        "begin",
        "busy_since",
        "cost",
        "counted",
        "cycle",
        "entry",
        "executed",
        "finished",
        "first_start",
        "gpu",
        "head",
        "held",
        "home",
        "idle_since",
        "last_end",
        "node",
        "number",
        "on_time",
        "owed",
        "part",
        "placed",
        "preemptions",
        "rank",
        "resuming",
        "segment",
        "serial",
        "shown",
        "since",
        "start",
        "state",
        "stop_after",
        "template",
        "waiting_since",
    )

    def __init__(self, number: int, template: int, tasks: int, arrival: int, stop_after: int, nothing: tuple[int, ...]):
        """Create the state of an arriving job.

        Args:
            number: Number of the job.
            template: Its template.
            tasks: Number of its tasks.
            arrival: Time of arrival.
            stop_after: Iteration limit.
            nothing: Amount of 0 of each resource.
        """
        self.number, self.template, self.stop_after = number, template, stop_after
        self.finished = self.part = self.preemptions = self.on_time = self.executed = self.placed = 0
        self.busy_since = self.since = self.head = self.cycle = self.cost = self.serial = self.owed = 0
        self.counted = self.held = nothing
        self.idle_since = arrival
        self.first_start = self.begin = -1
        zero, none = (0,) * tasks, (-1,) * tasks
        self.state = self.start = self.last_end = zero
        self.node = self.gpu = self.home = none
        self.waiting_since: tuple[int, ...] = (arrival,) * tasks
        self.segment: Segment | None = None
        self.resuming = False
        self.entry: tuple[int, ...] = ()  # while it waits: its place in the queue of an order
        self.rank: tuple[int, ...] = ()  # while it runs: its rank in a preemptive order
        self.shown: Any = None  # the job in the form for keys of an order

    def row(self) -> tuple[int, ...]:
        """Return the variable columns of jobs, in the order of `view.JOBS`."""
        return (
            self.stop_after,
            self.finished,
            self.part,
            self.preemptions,
            self.on_time,
            *self.counted,
            *self.held,
            self.executed,
            self.idle_since,
            self.busy_since,
            self.first_start,
            self.placed,
            self.since,
            self.begin,
            self.head,
            self.cycle,
            self.cost,
        )

    def task_columns(self) -> tuple[tuple[int, ...], ...]:
        """Return the variable columns of its tasks, in the order of `view.TASKS`."""
        return (self.state, self.node, self.gpu, self.start, self.waiting_since, self.home, self.last_end)

    @property
    def lacks(self) -> bool:
        """Check whether a task is unplaced."""
        return self.placed < len(self.node)

    def starts(self, task: int, node: int, gpu: int, now: int) -> None:
        """Start a task on a node, or move it there."""
        self.state, self.node = _with_entry(self.state, task, RUNNING), _with_entry(self.node, task, node)
        self.gpu, self.start = _with_entry(self.gpu, task, gpu), _with_entry(self.start, task, now)

    def start_all(self, nodes: tuple[int, ...], gpus: tuple[int, ...], now: int) -> None:
        """Start all tasks, one on each of `nodes` and `gpus`."""
        count = len(nodes)
        self.state, self.node, self.gpu, self.start = (RUNNING,) * count, nodes, gpus, (now,) * count

    def pauses(self, task: int, now: int) -> None:
        """Pause a task, which releases its node and may continue later."""
        self.state, self.gpu = _with_entry(self.state, task, PAUSED), _with_entry(self.gpu, task, -1)
        self.waiting_since = _with_entry(self.waiting_since, task, now)

    def pause_all(self, nodes: tuple[int, ...], now: int) -> None:
        """Pause all placed tasks (on `nodes`)."""
        if min(nodes) < 0:
            for task, node in enumerate(nodes):
                if node >= 0:
                    self.pauses(task, now)
            return
        count = len(nodes)
        self.state, self.gpu, self.waiting_since = (PAUSED,) * count, (-1,) * count, (now,) * count

    def waits_again(self) -> None:
        """Reset unplaced tasks to waiting before the next iteration."""
        for task, state in enumerate(self.state):
            if state == PAUSED:
                self.state, self.node = _with_entry(self.state, task, WAITING), _with_entry(self.node, task, -1)
                self.start = _with_entry(self.start, task, 0)

    def hold(self, placed: int, amounts: tuple[int, ...], now: int) -> None:
        """Set the number of placed tasks and their used amounts from now on."""
        ticks = now - self.since
        if ticks and self.placed:
            self.counted = tuple([c + h * ticks for c, h in zip(self.counted, self.held, strict=True)])
        if placed and not self.placed:
            self.busy_since = now
        elif self.placed and not placed:
            self.executed += now - self.busy_since
            self.idle_since = now
        if self.first_start < 0:
            self.first_start = now
        self.held, self.placed, self.since, self.begin = amounts, placed, now, -1

    def run(self, segment: Segment) -> None:
        """Continue the iterations."""
        self.head = segment.cost - (-(WHOLE - segment.part) * segment.first // WHOLE)
        self.begin = segment.start + segment.delay
        self.cycle, self.cost = segment.cycle, segment.cost

    def slowed(self, finished: int, on_time: int, boundary: int, nodes: tuple[int, ...]) -> None:
        """Count the progress of a segment that ends.

        `part` is kept, since it is the part of the current iteration that was done when the tasks last started.

        Args:
            finished: Iterations in all.
            on_time: Iterations of the segment that ended by the deadline.
            boundary: End of the last iteration of the segment, -1 if none ended.
            nodes: Nodes of the tasks.
        """
        self.finished = finished
        self.on_time += on_time
        if boundary >= 0:
            self.part, self.home, self.last_end = 0, nodes, (boundary,) * len(nodes)
            states = zip(self.start, self.state, strict=True)
            self.start = tuple([start if state == WAITING else boundary for start, state in states])

    def from_scratch(self) -> None:
        """Discard all work of an unplaced job."""
        self.finished = self.on_time = self.part = 0
        self.home, self.last_end = (-1,) * len(self.home), (0,) * len(self.home)


def _with_entry(column: tuple[int, ...], task: int, value: int) -> tuple[int, ...]:
    """Return the column with another entry for one task."""
    return (*column[:task], value, *column[task + 1 :])
