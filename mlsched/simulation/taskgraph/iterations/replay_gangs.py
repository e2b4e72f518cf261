"""Independent check of runs of gangs without graphs, over all segments at once, in columns.

It decides whether such a run is sound by the rules of `replay`, which then writes the sentences about an unsound run.
`None` means that this check does not cover the run: graphs, parts of GPUs, drawn usage, changed iteration limits, ticks
only, movement that is bound to nodes, or numbers beyond 64 bits.

The module shares no code with the engine.
"""

from __future__ import annotations

import itertools

import numpy as np

from mlsched.core.fields import BoolArray, IntArray
from mlsched.simulation.taskgraph.iterations.log import FAIL, FINISH, GROW, MOVE, PAUSE, SLOW, Segments
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.workload import Jobs
from mlsched.simulation.wake import Wake

WHOLE = 10**6
#: Sums of two such numbers are exact in 64 bits.
MOST = 2**62


def is_sound(jobs: Jobs, options: Options, scheduling_events: Wake, log: Segments) -> bool | None:
    """Check whether a run keeps all rules; None if this check does not cover it."""
    if not _covers_run(jobs, options, scheduling_events, log):
        return None
    if not len(jobs.arrival) or not log.rows:
        return not len(jobs.arrival) and not log.rows
    if len(log.places) != len(log.rows):
        return None
    check = _Check(jobs, options, log)
    if not check.named:
        return False
    if not check.fits_64_bits() or (check.again.any() and check.movement != "anytime"):
        return None
    rules = (check.time, check.interruptions, check.places, check.pace, check.work, check.failures, check.capacity)
    return all(rule() for rule in rules)


def _covers_run(jobs: Jobs, options: Options, scheduling_events: Wake, log: Segments) -> bool:
    single = np.bincount(jobs.task_template, minlength=len(jobs.gang)) == 1
    ticks_alone = scheduling_events.interval and not scheduling_events.events
    not_covered = log.gpus or log.stops or log.above
    gangs = bool(((jobs.gang == 1) | single).all()) and not len(jobs.edge_from) and not jobs.gpu_unit
    return gangs and options.usage == "demand" and not ticks_alone and not not_covered


class _Check:
    """Segments as columns, by job and then by time. Each rule is a method; True: all segments keep it.

    Attributes:
        named: All rows name jobs, nodes and outcomes; otherwise the other attributes are missing.
        again: The segment is not the first of its job.
        before: Previous segment of those, in the row before.
    """

    def __init__(self, jobs: Jobs, options: Options, log: Segments) -> None:
        self.jobs, self.options = jobs, options
        count = np.fromiter(map(len, log.places), np.int64, len(log.places))
        node = np.fromiter(itertools.chain.from_iterable(log.places), np.int64, int(count.sum()))
        rows = np.array(log.rows, dtype=np.int64).reshape(-1, 10)
        spans = np.array(jobs.tasks, dtype=np.int64)
        is_known = (rows[:, 0] >= 0) & (rows[:, 0] < len(jobs.arrival)) & (rows[:, 1] <= rows[:, 2])
        is_known &= np.isin(rows[:, 9], (PAUSE, FINISH, MOVE, GROW, SLOW, FAIL))
        self.named = bool(is_known.all() and (node >= 0).all() and (node < len(jobs.node_capacity)).all())
        if self.named:
            template = jobs.template[rows[:, 0]]
            self.named = bool((count == (spans[:, 1] - spans[:, 0])[template]).all())
        if not self.named:
            return
        order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
        offset = (np.cumsum(count) - count)[order]
        self.count = count[order]
        self.first = np.cumsum(self.count) - self.count  # first place of each segment
        within = np.arange(len(node)) - np.repeat(self.first, self.count)
        self.node = node[np.repeat(offset, self.count) + within]
        self.of = np.repeat(np.arange(len(order)), self.count)  # segment of each place
        self.task = spans[template[order], 0][self.of] + within
        columns = rows[order].T
        self.job, self.start, self.end, self.finished, self.part, self.lead, self.cycle, self.delay = columns[:8]
        self.cost, self.outcome = columns[8:]
        self.again = np.r_[False, self.job[1:] == self.job[:-1]]
        self.last = np.r_[~self.again[1:], True]
        self.held = jobs.demand * (jobs.duration > 0)[:, None]
        still = options.pausing == "none" and jobs.movement == "anytime" and not len(jobs.failure_node)
        movement_rule = "none" if still else jobs.movement
        self.movement = movement_rule if options.movement == "given" else options.movement

    def _previous_entry(self, column: IntArray) -> IntArray:
        """Return the entry of the segment before each segment."""
        return np.asarray(np.r_[column[:1], column[:-1]])

    @property
    def _iteration_length(self) -> IntArray:
        """Return the length of an iteration of each segment, 10^-6 ticks."""
        jobs, tasks = self.jobs, self.task[self.first]
        longest = np.maximum.reduceat(jobs.duration, np.array([begin for begin, _ in jobs.tasks]))
        length = longest[jobs.template[self.job]] * jobs.scale[self.job]
        if jobs.slowness.shape[1]:
            slow = jobs.slowness[jobs.task_class[tasks], jobs.node_type[self.node[self.first]]]
            length = length * slow // WHOLE
        return np.asarray(np.maximum(length, 1))

    def fits_64_bits(self) -> bool:
        """Check in floats that the products below do not wrap."""
        jobs = self.jobs
        slow = float(jobs.slowness.max(initial=WHOLE))
        length = float(jobs.duration.max()) * float(jobs.scale.max()) * max(1.0, slow / WHOLE)
        most = float(jobs.max_iterations.max())
        fields = (self.finished, self.part, self.lead, self.cycle, self.delay, self.cost)
        large = max(float(np.abs(column).max()) for column in fields)
        ticks = float(max(np.abs(self.end).max(), np.abs(self.start).max()))
        within = (
            float(jobs.duration.max()) * float(jobs.scale.max()) * slow < MOST
            and length * WHOLE < MOST
            and length * most < MOST
            and ticks * WHOLE < MOST
            and large < MOST
        )
        return bool(within and float(jobs.pause_cost.max(initial=0)) < MOST)

    def time(self) -> bool:
        """Check rule 1: segments follow each other, from the arrival to the end of every job."""
        again = self.again
        late = self.start[~again] < self.jobs.arrival[self.job[~again]]
        overlap = self.start[again] < self._previous_entry(self.end)[again]
        is_incomplete = len(np.unique(self.job)) != len(self.jobs.arrival)
        ends = np.isin(self.outcome[self.last], (FINISH, PAUSE)).all() and (self.outcome[~self.last] != FINISH).all()
        return bool(ends) and not (late.any() or overlap.any() or is_incomplete)

    def interruptions(self) -> bool:
        """Check rules 1 and 4: the change between two segments is the outcome of the first, and allowed."""
        again = self.again
        follows = again & (self.start == self._previous_entry(self.end))
        has_moved = np.zeros(len(self.job), dtype=np.bool_)
        twice = np.flatnonzero(follows)
        for row in twice.tolist():
            here, there = self.first[row], self.first[row - 1]
            has_moved[row] = (
                self.node[here : here + self.count[row]] != self.node[there : there + self.count[row]]
            ).any()
        failed = np.r_[False, self._fails_at_end()[:-1]] & again
        what = np.where(failed, FAIL, np.where(~follows, PAUSE, np.where(has_moved, MOVE, -1)))
        wrong = again & (self._previous_entry(self.outcome) != what)
        bad_pause = again & ~failed & ~follows & (self.options.pausing == "none")
        strayed = again & ~failed & has_moved & (self.movement != "anytime")
        return not (wrong | bad_pause | strayed).any()

    def _fails_at_end(self) -> BoolArray:
        """Return for each segment whether one of its nodes fails at its end."""
        fails = np.zeros(len(self.job), dtype=np.bool_)
        jobs = self.jobs
        for node, start in zip(jobs.failure_node.tolist(), jobs.failure_from.tolist(), strict=True):
            fails[self.of[(self.node == node) & (self.end[self.of] == start)]] = True
        return fails

    def places(self) -> bool:
        """Check rule 5: nodes are eligible, and those of a job are of one type."""
        jobs = self.jobs
        if (jobs.eligible[jobs.task_class[self.task], self.node] == 0).any():
            return False
        kinds = jobs.node_type[self.node]
        return bool((kinds == kinds[self.first][self.of]).all())

    def pace(self) -> bool:
        """Check rule 3: iterations take their stated time, and a pause costs its price."""
        due = self.again & np.isin(self._previous_entry(self.outcome), (PAUSE, MOVE, FAIL))
        length = self._iteration_length
        right = (self.lead == length) & (self.cycle == length) & (self.delay == 0)
        return bool((right & (self.cost == np.where(due, self.jobs.pause_cost[self.job], 0))).all())

    def work(self) -> bool:
        """Check rule 2: work is conserved; the numbers of a segment follow from those of the previous one."""
        total, length, part = self.jobs.max_iterations[self.job], self._iteration_length, self.part
        if ((part < 0) | (part >= WHOLE) | (self.finished < 0) | (self.finished >= total)).any():
            return False
        ticks = np.maximum(0, (self.end - self.start) * WHOLE - self.cost)
        head = (WHOLE - part) * length  # 10^-12 ticks
        short, part_of_it = head // WHOLE, head % WHOLE  # in 10^-6 ticks, and the rest
        over = ticks >= short + (part_of_it > 0)  # the current iteration has ended
        since = np.where(over, ticks - short, 0)
        whole = np.where(over, (since - (part_of_it > 0)) // length, 0)
        rest = (since - whole * length) * WHOLE - part_of_it
        finished = self.finished + np.where(over, 1 + whole, 0)
        part_done = np.where(over, rest // length, part + np.where(over, 0, ticks) * WHOLE // length)
        is_end = self.outcome == FINISH
        needed = self.cost + short + (part_of_it > 0) + (total - self.finished - 1) * length
        due = self.start - (-needed // WHOLE)
        beyond = (finished > total) | ((finished == total) & np.where(over, rest > 0, False))
        if (is_end & (self.end != due)).any() or (~is_end & beyond).any():
            return False
        is_lost = (self.outcome == FAIL) | ((self.outcome == PAUSE) & (self.options.pausing == "restart"))
        part_done = np.where(is_lost, 0, part_done)
        if self.options.restart == "scratch":
            finished = np.where(self.outcome == FAIL, 0, finished)
        again, idle = self.again, self.last & ~is_end
        same = (self.finished == self._previous_entry(finished)) & (self.part == self._previous_entry(part_done))
        fresh = (self.finished == 0) & (part == 0)
        complete = (finished == total) & (part_done == 0)
        return bool((same[again]).all() and fresh[~again].all() and complete[idle].all())

    def failures(self) -> bool:
        """Check rule 7: segments are never on a failed node."""
        jobs, start, end = self.jobs, self.start[self.of], self.end[self.of]
        columns = (jobs.failure_node, jobs.failure_from, jobs.failure_to)
        return not any(
            ((self.node == node) & (start < until) & (end > since)).any()
            for node, since, until in zip(*(column.tolist() for column in columns), strict=True)
        )

    def capacity(self) -> bool:
        """Check rule 5: on every node, at every time, use is within capacity; an end frees before a start takes."""
        real = self.start[self.of] < self.end[self.of]
        node, task, of = self.node[real], self.task[real], self.of[real]
        sign = np.repeat([1, -1], len(node))
        time = np.concatenate([self.start[of], self.end[of]])
        node, task = np.tile(node, 2), np.tile(task, 2)
        order = np.lexsort((sign, time, node))
        node, amounts = node[order], (sign[:, None] * self.held[task])[order]
        use = np.cumsum(amounts, axis=0)  # all used amounts of one node are free before the next begins
        return bool((use <= self.jobs.node_capacity[node]).all())
