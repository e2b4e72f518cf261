"""Independent check of a finished run of the iteration engine, using only the workload, the options and the log.

1. A job's segments follow each other in time, from its arrival on; each places all tasks of a gang or none.
2. Work is conserved: a segment begins with the final progress of the previous one, rounded down to ppm of an iteration
(complete iterations if a pause loses the work); progress is recomputed in fractions from the durations, the graph and
the placement. The last segment ends in the first tick at which the job has run its last limit of iterations, between
its least and its most; or the job paused with that number finished. Later segments are allowed only for work that a
pause has lost by the time of the limit.
3. Lengths of iterations and delays of moves in the log are those of graph and placement, on nodes of several types at
the rates there (`slowness`). A job that is not completely placed makes zero progress. The same is true for its
`pause_cost`, after the delay, when it is completely placed after some of its tasks have paused or moved.
4. Tasks pause and move only if the options allow it. A task that returns, or moves, goes to a node allowed by movement,
and not before the last iteration's data has arrived there.
5. Tasks are on eligible nodes, all tasks of a job on nodes of one type; on every node, at every time, for every
resource: demand <= capacity; the same on every individual GPU (`replay_gpus`).
6. If usage is drawn, tasks slow down accordingly, and segments end at changes of their job's pace (`replay_usage`); the
node-ticks with more usage than capacity equal the log's.
7. Failed nodes are empty. A job with a task on a node when that fails loses all of its nodes then: it keeps its
complete iterations, or zero work (`restart`), and may continue elsewhere, at once or later.
8. With ticks only, segments start and are interrupted at ticks, or at wakes requested by rounds.

The module shares no code with the engine and uses plain Python.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from fractions import Fraction

from mlsched.simulation.findings import Findings
from mlsched.simulation.taskgraph.iterations import replay_gangs, replay_gpus
from mlsched.simulation.taskgraph.iterations.log import FAIL, FINISH, GROW, MOVE, PAUSE, SLOW, Segments
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.replay_graphs import Graphs
from mlsched.simulation.taskgraph.iterations.replay_usage import Slowdowns
from mlsched.simulation.taskgraph.iterations.workload import Jobs
from mlsched.simulation.wake import Wake

WHOLE = 10**6
#: Failed time spans of each node.
Failures = dict[int, list[tuple[int, int]]]


@dataclasses.dataclass(frozen=True)
class Segment:
    """Row of the log; see `Segments`."""

    start: int
    end: int
    finished: int
    part: int
    first: int
    cycle: int
    delay: int
    cost: int
    outcome: int
    nodes: tuple[int, ...]
    gpus: tuple[tuple[int, ...], ...]  # GPUs of each task on its node

    @property
    def places(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return node and GPUs of each task."""
        return list(zip(self.nodes, self.gpus, strict=True))


def violations(jobs: Jobs, options: Options, wake: Wake, log: Segments) -> list[str]:
    """Return the violations in the `log` of a run, by kind; empty if it is sound."""
    if replay_gangs.is_sound(jobs, options, wake, log):
        return []
    findings = Findings()
    by_job = _read_rows(jobs, log, findings)
    failures: Failures = defaultdict(list)
    columns = (jobs.failure_node, jobs.failure_from, jobs.failure_to)
    for node, start, end in zip(*(column.tolist() for column in columns), strict=True):
        failures[node].append((start, end))
    stops = _final_limits(jobs, log, findings)
    still = (
        options.pausing == "none" and jobs.movement == "anytime" and not len(jobs.failure_node)
    )  # only pausing tasks move, unless the options allow it or nodes fail
    movement_rule = "none" if still else jobs.movement
    movement = movement_rule if options.movement == "given" else options.movement
    graphs = Graphs(jobs)
    slow = Slowdowns(jobs, options, by_job) if options.usage == "drawn" else None
    if log.above != (slow.above if slow else []):
        findings.add("usage", f"the log has {log.above} ticks above capacity, expected {slow.above if slow else []}")
    for job in range(len(jobs.arrival)):
        segments = by_job.get(job, [])
        check = _Job(jobs, job, *stops[job], options.pausing, movement, graphs, slow, findings)
        check.restart, check.failures = options.restart, failures
        for segment in segments:
            check.take(segment)
        check.end()
    _check_capacity(jobs, by_job, findings)
    replay_gpus.check(jobs, by_job, findings)
    if wake.interval and not wake.events:
        _check_ticks(wake, jobs.tick_ms or 1000, by_job, set(log.wakes), findings)
    return findings.sentences()


def _read_rows(jobs: Jobs, log: Segments, findings: Findings) -> dict[int, list[Segment]]:
    """Return the rows by job, in order of time; invalid rows are reported and left out."""
    by_job: dict[int, list[Segment]] = defaultdict(list)
    nodes = len(jobs.node_capacity)
    if log.gpus and len(log.gpus) != len(log.rows):
        findings.add("log", f"names the GPUs of {len(log.gpus)} of {len(log.rows)} segments")
    for number, (row, places) in enumerate(zip(log.rows, log.places, strict=True)):
        job, start, end, finished, part, lead, cycle, delay, cost, outcome = row
        is_known = 0 <= job < len(jobs.arrival) and start <= end and outcome in (PAUSE, FINISH, MOVE, GROW, SLOW, FAIL)
        if is_known:
            first, last = jobs.span(job)
            gpus = log.gpus[number] if number < len(log.gpus) else ((),) * (last - first)
            is_known = len(places) == len(gpus) == last - first and all(-1 <= node < nodes for node in places)
        if is_known and max(places) >= 0:
            by_job[job].append(Segment(start, end, finished, part, lead, cycle, delay, cost, outcome, places, gpus))
        else:
            findings.add(
                "log", f"the row {tuple(row)} on {tuple(places)} names no job or node, or ends before it starts"
            )
    for segments in by_job.values():
        segments.sort(key=lambda s: (s.start, s.end))
    return dict(by_job)


def _final_limits(jobs: Jobs, log: Segments, findings: Findings) -> list[tuple[int, int]]:
    """Return the final iteration limit of each job, and its time."""
    stops: list[tuple[int, int]] = [(most, 0) for most in jobs.max_iterations.tolist()]
    for job, iterations, time in sorted(log.stops, key=lambda stop: stop[2]):
        if not 0 <= job < len(stops):
            findings.add("log", f"the stop {(job, iterations, time)} names no job")
            continue
        low, high = int(jobs.min_iterations[job]), int(jobs.max_iterations[job])
        if not low <= iterations <= high:
            findings.add(
                "stop", f"job {job} is told at {time} to stop after {iterations} iterations: {low} to {high} may be"
            )
        stops[job] = (iterations, time)
    return stops


class _Job:
    """Check of one job, segment after segment (rules 1 to 4, and eligible nodes)."""

    def __init__(
        self,
        jobs: Jobs,
        job: int,
        total: int,
        since: int,
        pausing: str,
        movement: str,
        graphs: Graphs,
        slow: Slowdowns | None,
        findings: Findings,
    ) -> None:
        self.slow, self.later = slow, False  # later: the current iteration is not the first since the last start
        self.jobs, self.job, self.graphs = jobs, job, graphs
        self.total, self.since = total, since  # final iteration limit, and its time
        self.pausing, self.movement = pausing, movement
        self.name, self.findings = f"job {job}", findings
        self.first, self.last = jobs.span(job)
        self.count, self.template = self.last - self.first, int(jobs.template[job])
        self.durations = graphs.duration[self.first : self.last]
        self.before: Segment | None = None
        self.progress = Fraction(0)  # iterations at the start of the next segment
        self.home: tuple[int, ...] | None = None  # nodes of the last finished iteration
        self.home_end = 0  # and the tick of its end
        self.at = [-1] * self.count  # last node of each task in the current iteration
        self.price = int(jobs.pause_cost[job])
        self.due = 0  # unpaid part of the pause cost
        self.owed = 0  # remaining fetch ticks of moved tasks
        self.restart, self.failures = "checkpoint", Failures()

    def take(self, s: Segment) -> None:
        """Check the next segment."""
        self._check_time(s)
        self._check_places(s)
        self._check_return(s)
        whole, part = divmod(int(self.progress * WHOLE), WHOLE)
        if (s.finished, s.part) != (whole, part):
            self.findings.add(
                "work",
                f"{self.name}: at {s.start} has {s.finished} iterations and {s.part} ppm of the next: "
                f"{whole} and {part} ppm were done",
            )
        for task, node in enumerate(s.nodes):
            if node >= 0:
                if part and self.at[task] not in (-1, node):
                    self.owed = max(self.owed, self._move_ticks(task))
                self.at[task] = node
        wholly = min(s.nodes) >= 0
        first, cycle = self._segment_lengths(s, s.start) if wholly else (0, 0)
        if wholly and self.slow and s.start == s.end:  # an empty segment uses zero resources: any pace is valid
            first, cycle = s.first, s.cycle
        before = self.before
        if before is not None and before.outcome in (PAUSE, MOVE, FAIL):
            self.due = self.price
        delay, cost = (self.owed, self.due) if wholly else (0, 0)
        if before is not None and before.outcome == SLOW:
            until = before.start + before.delay
            delay = max(0, until - s.start)
            cost = min(before.cost, max(0, before.cost + (until - s.start) * WHOLE))
        if (s.first, s.cycle, s.delay, s.cost) != (first, cycle, delay, cost):
            self.findings.add(
                "pace",
                f"{self.name}: from {s.start} on, the log has iterations of {s.first}, then {s.cycle} x 10^-6 ticks "
                f"after {s.delay} ticks and {s.cost} x 10^-6: expected {first}, {cycle}, {delay} and {cost}",
            )
        if wholly:
            self.owed = self.due = 0
            self._check_steady_pace(s, (first, cycle))
            self._check_progress(s, first, cycle, delay, cost)
        elif s.outcome == FINISH:
            self.findings.add("lost job", f"{self.name}: ends at {s.end} without all of its tasks placed")
        self.before = s

    def end(self) -> None:
        """Check that the job is complete."""
        last = self.before
        if last is not None and last.outcome not in (FINISH, PAUSE):
            self.findings.add("lost job", f"{self.name}: does not go on after {last.end}")
        elif (last is None or last.outcome == PAUSE) and self.progress != self.total:
            progress_done = math.floor(self.progress)
            self.findings.add(
                "lost job", f"{self.name}: has {progress_done} of {self.total} iterations when its segments end"
            )

    def _segment_lengths(self, s: Segment, time: int) -> tuple[int, int]:
        """Return the lengths of the current and of later iterations in a segment, for the slowdowns from a time on."""
        tasks = range(self.count)
        slow = [self.slow.at(self.job, task, time) if self.slow else WHOLE for task in tasks]
        scale = int(self.jobs.scale[self.job])
        took = [math.floor(d * scale * self._slowness_of(s)) for d in self.durations]
        first, cycle = self.graphs.lengths(took, self.template, s.nodes, slow)
        return cycle if self.later else first, cycle

    def _types_in_use(self, s: Segment) -> set[int]:
        """Return the types of nodes that the job uses in a segment."""
        return {int(self.jobs.node_type[node]) for node in s.nodes if node >= 0}

    def _slowness_of(self, s: Segment) -> Fraction:
        """Return the job's time as a share of the stated one; on several types, the slowest counts."""
        if not self.jobs.slowness.shape[1]:
            return Fraction(1)
        row = self.jobs.slowness[self.jobs.task_class[self.first]].tolist()
        return Fraction(max(row[kind] for kind in self._types_in_use(s)), WHOLE)

    def _check_steady_pace(self, s: Segment, lengths: tuple[int, int]) -> None:
        """Check rule 6: the pace is constant inside the segment."""
        for time in self.slow.within(self.job, self.count, s.start, s.end) if self.slow else ():
            if (changed := self._segment_lengths(s, time)) != lengths:
                self.findings.add(
                    "usage",
                    f"{self.name}: from {time} on its iterations take {changed[1]} x 10^-6 ticks, and its segment from "
                    f"{s.start} on goes on with {lengths[1]}",
                )

    def _check_progress(self, s: Segment, first: int, cycle: int, delay: int, cost: int) -> None:
        """Check rule 2: the progress of a segment, in fractions."""
        whole = math.floor(self.progress)
        head = (1 - (self.progress - whole)) * first
        if s.outcome == FINISH:
            end = s.start + delay + math.ceil((cost + head + (self.total - whole - 1) * cycle) / WHOLE)
            if s.end != end or whole >= self.total:
                self.findings.add("work", f"{self.name}: ends at {s.end}: has run its {self.total} iterations at {end}")
            return
        elapsed = max(0, (s.end - s.start - delay) * WHOLE - cost)
        if elapsed < head:
            progress_done = self.progress + Fraction(elapsed, first)
            self.later = self.later and s.outcome == SLOW
        else:
            progress_done = whole + 1 + Fraction(elapsed - head) / cycle
            boundary = head + (math.floor(progress_done) - whole - 1) * cycle
            self.later = s.outcome == SLOW
            self.home, self.home_end = s.nodes, s.start + delay + math.ceil((cost + boundary) / WHOLE)
        is_lost = s.outcome == FAIL or (s.outcome == PAUSE and self.pausing == "restart")
        progress_kept = Fraction(math.floor(progress_done)) if is_lost else progress_done
        if s.outcome == FAIL and self.restart == "scratch":
            progress_kept, self.home = Fraction(0), None
        if (progress_kept if self.since >= s.end else progress_done) > self.total or whole >= self.total:
            self.findings.add("work", f"{self.name}: goes on after its {self.total} iterations, until {s.end}")
        self.progress = Fraction(math.floor(progress_kept * WHOLE), WHOLE)

    def _move_ticks(self, task: int) -> int:
        """Return the ticks for changing a task's node inside an iteration."""
        edges = self.graphs.edges.get(self.template, [])
        return max([delay for u, v, lag, delay in edges if lag and u == v == task], default=0)

    def _check_time(self, s: Segment) -> None:
        """Check rule 1, and that the change between two segments is the outcome of the first."""
        before = self.before
        if before is None:
            arrival = int(self.jobs.arrival[self.job])
            if s.start < arrival:
                self.findings.add("early start", f"{self.name}: starts at {s.start}, arrives at {arrival}")
            return
        if s.start < before.end or before.outcome == FINISH:
            self.findings.add(
                "two places", f"{self.name}: starts at {s.start}, its segment before ends at {before.end}"
            )
            return
        follows = s.start == before.end
        departed = [a >= 0 and not (follows and b >= 0) for a, b in zip(before.nodes, s.nodes, strict=True)]
        has_moved = follows and any(
            a != b and min(a[0], b[0]) >= 0 for a, b in zip(before.places, s.places, strict=True)
        )
        grown = follows and any(a < 0 <= b for a, b in zip(before.nodes, s.nodes, strict=True))
        goes_on = SLOW if follows and self.slow else None
        failed = any(before.end == start for node in before.nodes for start, _ in self.failures.get(node, ()))
        what = FAIL if failed else PAUSE if any(departed) else MOVE if has_moved else GROW if grown else goes_on
        if what == SLOW and self.slow and not self.slow.may_change(s.start):
            self.findings.add("usage", f"{self.name}: its pace cannot change at {s.start}, as the log says")
        if before.outcome != what:
            self.findings.add("log", f"{self.name}: at {before.end}, the log says {before.outcome}, it was {what}")
        if failed:
            return
        if any(departed) and self.pausing == "none":
            self.findings.add("pause", f"{self.name}: pauses at {before.end}: jobs do not pause here")
        if has_moved and self.movement != "anytime":
            self.findings.add("move", f"{self.name}: moves at {before.end}: movement is '{self.movement}'")

    def _check_places(self, s: Segment) -> None:
        """Check rules 1, 5 and 7: gangs are complete, nodes are eligible and have not failed."""
        for node in set(s.nodes) - {-1}:
            if any(s.start < end and s.end > start for start, end in self.failures.get(node, ())):
                self.findings.add(
                    "failure", f"{self.name}: is on node {node} from {s.start} to {s.end}, which has failed"
                )
        if int(self.jobs.gang[self.template]) and min(s.nodes) < 0:
            self.findings.add("gang", f"{self.name}: is a gang, and from {s.start} on only a part of it is placed")
        for task, node in enumerate(s.nodes):
            if node >= 0 and not int(self.jobs.eligible[self.jobs.task_class[self.first + task], node]):
                self.findings.add("place", f"{self.name}, task {task}: node {node} is not eligible")
        if len(self._types_in_use(s)) > 1:
            self.findings.add("type", f"{self.name}: from {s.start} on it holds nodes of several types")

    def _check_return(self, s: Segment) -> None:
        """Check rule 4: nodes and times of tasks with a new place."""
        before = self.before
        inside = self.progress != math.floor(self.progress)
        for task, node in enumerate(s.nodes):
            there = before is not None and s.start == before.end and before.nodes[task] == node
            if node < 0 or there:
                continue
            bound = -1
            if self.movement == "none":
                bound = self.home[task] if self.home else self.at[task] if inside else -1
            elif self.movement == "between_iterations" and inside:
                bound = self.at[task]
            if bound not in (-1, node):
                self.findings.add(
                    "place", f"{self.name}, task {task}: on node {node} at {s.start}, must stay on {bound}"
                )
            for u, v, lag, delay in self.graphs.edges.get(self.template, []):
                if v == task and lag and self.home and self.home[u] != node and s.start < self.home_end + delay:
                    self.findings.add(
                        "order",
                        f"{self.name}, task {task}: is on node {node} at {s.start}, what task {u} sends arrives at "
                        f"{self.home_end + delay}",
                    )


def _check_capacity(jobs: Jobs, by_job: dict[int, list[Segment]], findings: Findings) -> None:
    """Check rule 5: every node's starts and ends in time order; at one instant, ends come before starts."""
    demand, takes_time = jobs.demand.tolist(), (jobs.duration > 0).tolist()
    changes: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for job, segments in by_job.items():
        first = jobs.span(job)[0]
        for s in segments:
            for task, node in enumerate(s.nodes, first):
                if node >= 0 and s.end > s.start and takes_time[task]:
                    changes[node] += [(s.start, 1, task), (s.end, -1, task)]
    for node, events in changes.items():
        capacity = jobs.node_capacity[node].tolist()
        use = [0] * len(capacity)
        for time, sign, task in sorted(events):
            for r, amount in enumerate(demand[task]):
                use[r] += sign * amount
                if sign > 0 and use[r] > capacity[r]:
                    findings.add(
                        "capacity",
                        f"node {node} at {time}: {use[r]} {jobs.resources[r]} in use, its capacity is {capacity[r]}",
                    )


def _check_ticks(
    wake: Wake, tick: int, by_job: dict[int, list[Segment]], requested: set[int], findings: Findings
) -> None:
    """Check that segments start and are interrupted only at ticks, or at `requested` wakes (rule 8)."""
    for job, segments in by_job.items():
        slowed = {s.end for s in segments if s.outcome == SLOW}
        for s in segments:
            for time in {s.start, s.end} - slowed if s.outcome != FINISH else {s.start} - slowed:
                if time * tick % (1000 * wake.interval) and time not in requested:
                    findings.add("wake", f"job {job}: changes at {time}, no multiple of {wake.interval} s, unasked")
