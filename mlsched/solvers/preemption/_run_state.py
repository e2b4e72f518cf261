"""A run of a preemption horizon as a copyable state: the phase of each job, and the free part of each node.

Written only for the search: it jumps from event to event, updates free resources, and has lower bounds on the final
values of its continuations. The rules are those of the judge (`instances/preemption/ horizon_judge.py`), which is
independent code.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Callable

from mlsched.instances.preemption import Horizon

#: Place of a job without a node.
NOWHERE = -1


@dataclasses.dataclass(frozen=True)
class Jobs:
    """A horizon as plain lists."""

    horizon: Horizon

    def __post_init__(self) -> None:
        h = self.horizon
        for name in ("submit", "te", "execution", "demand", "grace"):
            object.__setattr__(self, name, getattr(h, name).tolist())
        object.__setattr__(self, "ticked", [self.next_tick(s) for s in self.submit])

    submit: list[int] = dataclasses.field(init=False)
    te: list[int] = dataclasses.field(init=False)
    execution: list[int] = dataclasses.field(init=False)
    demand: list[list[int]] = dataclasses.field(init=False)
    grace: list[int] = dataclasses.field(init=False)
    ticked: list[int] = dataclasses.field(init=False)

    def next_tick(self, time: int) -> int:
        """Return the first tick that is not before `time`."""
        return -(-time // self.horizon.tick) * self.horizon.tick


class RunState:
    """A run at a question about the TE job `asking`, or at its end (`asking` is None)."""

    __slots__ = (
        "asking",
        "be_slowdown",
        "count",
        "ends",
        "free",
        "intervals",
        "jobs",
        "node",
        "now",
        "promised",
        "queue",
        "refused",
        "remaining",
        "signal",
        "start",
        "submitted",
        "te_queue",
        "te_slowdown",
        "victims",
    )  # fmt: skip

    def __init__(self, jobs: Jobs) -> None:
        many = len(jobs.submit)
        self.jobs, self.now, self.asking, self.submitted, self.refused = jobs, -1, None, 0, False
        self.remaining = list(jobs.execution)
        self.node, self.start, self.signal = [NOWHERE] * many, [-1] * many, [-1] * many
        self.count = [0] * many
        self.ends: dict[int, int] = {}  # departure time of each job on a node
        self.free = jobs.horizon.node_capacity.tolist()
        self.te_queue, self.victims, self.queue = list[int](), list[int](), list[int]()
        self.promised = NOWHERE  # node promised to the first TE job in the queue
        self.intervals = self.te_slowdown = self.be_slowdown = 0
        self._advance_to_question()

    asking: int | None

    def copy(self) -> RunState:
        """Return an independent copy of the state."""
        new = object.__new__(RunState)
        for name in RunState.__slots__:
            value = getattr(self, name)
            if type(value) is list:
                value = [row[:] for row in value] if name == "free" else value[:]
            elif type(value) is dict:
                value = dict(value)
            setattr(new, name, value)
        return new

    # -- decisions ----------------------------------------------------------------------------------------------------

    def candidates(self) -> list[int]:
        """Return the BE jobs that may be suspended now."""
        te, limit = self.jobs.te, self.jobs.horizon.preemption_limit
        return sorted(j for j in self.ends if not te[j] and self.signal[j] < 0 and self.count[j] < limit)

    def hosts(self, victims: tuple[int, ...]) -> list[int]:
        """Return the nodes that could be promised to the asking job if `victims` were suspended."""
        assert self.asking is not None
        demand = self.jobs.demand
        room = [row[:] for row in self.free]
        for job in (*(j for j in self.ends if self.signal[j] >= 0), *victims):
            row = room[self.node[job]]
            for r, amount in enumerate(demand[job]):
                row[r] += amount
        return [n for n, row in enumerate(room) if _fits_on_node(demand[self.asking], row)]

    def decided(self, node: int, victims: tuple[int, ...]) -> RunState:
        """Return the state at the next question after this answer."""
        new = self.copy()
        if node == NOWHERE:
            new.refused = True
        else:
            new.promised = node
        jobs, during = new.jobs, new.jobs.horizon.during_grace
        for job in victims:
            new.count[job] += 1
            new.signal[job] = new.now
            released = new.now + jobs.grace[job]
            suspended_jobs = during == "paused" and jobs.grace[job] > 0
            new.ends[job] = released if suspended_jobs else min(new.ends[job], released)
        for job in victims:
            if not jobs.grace[job]:
                new._leave_node(job, new.now)
        new.asking = None
        if not new._start_waiting_jobs():
            new._advance_to_question()
        return new

    # -- the run ------------------------------------------------------------------------------------------------------

    def _advance_to_question(self) -> None:
        """Advance to the next question or the end."""
        jobs, many = self.jobs, len(self.jobs.submit)
        while True:
            coming = jobs.submit[self.submitted] if self.submitted < many else None
            leaving = min(self.ends.values(), default=None)
            event = min((t for t in (coming, leaving) if t is not None), default=None)
            if event is None:
                return  # the end: as long as jobs wait, some job uses a node
            self.now = jobs.next_tick(max(event, self.now + 1))
            for job, time in [pair for pair in self.ends.items() if pair[1] <= self.now]:
                self._leave_node(job, time)
            while self.submitted < many and jobs.submit[self.submitted] <= self.now:
                (self.te_queue if jobs.te[self.submitted] else self.queue).append(self.submitted)
                self.submitted += 1
            if self._start_waiting_jobs():
                return

    def _start_waiting_jobs(self) -> bool:
        """Start the jobs that can start; return True at a question about a TE job."""
        while self.te_queue:
            job = self.te_queue[0]
            node = self._first_fitting_node(job, self.promised)
            if node == NOWHERE:
                if self.promised != NOWHERE or self.refused:
                    return False
                self.asking = job
                return True
            self._place_job(self.te_queue.pop(0), node)
            self.promised = NOWHERE
        for queue in (self.victims, self.queue):
            while queue:
                node = self._first_fitting_node(queue[0])
                if node == NOWHERE:
                    return False
                self._place_job(queue.pop(0), node)
        return False

    def _first_fitting_node(self, job: int, promised: int = NOWHERE) -> int:
        demand = self.jobs.demand[job]
        if promised != NOWHERE and _fits_on_node(demand, self.free[promised]):
            return promised
        return next((n for n, row in enumerate(self.free) if _fits_on_node(demand, row)), NOWHERE)

    def _place_job(self, job: int, node: int) -> None:
        if self.signal[job] >= 0:
            self.intervals += self.now - self.signal[job]
            self.signal[job] = -1
        self.node[job], self.start[job] = node, self.now
        self.ends[job] = self.now + self.remaining[job]
        row = self.free[node]
        for r, amount in enumerate(self.jobs.demand[job]):
            row[r] -= amount
        if self.jobs.te[job]:
            self.te_slowdown += self._slowdown_of_job(job, self.now + self.jobs.execution[job])

    def _slowdown_of_job(self, job: int, finish: int) -> int:
        """Return the slowdown of a job that finishes at this time, in millionths."""
        execution = self.jobs.execution[job]
        return 10**6 + 10**6 * (finish - self.jobs.submit[job] - execution) // execution

    def _leave_node(self, job: int, time: int) -> None:
        jobs = self.jobs
        del self.ends[job]
        row = self.free[self.node[job]]
        for r, amount in enumerate(jobs.demand[job]):
            row[r] += amount
        self.node[job], self.refused = NOWHERE, False
        self.remaining[job] -= self._seconds_of_work(job, time)
        if self.remaining[job]:
            bisect.insort(self.victims, job)
            return
        self.signal[job] = -1
        if not jobs.te[job]:
            self.be_slowdown += self._slowdown_of_job(job, time)

    def _seconds_of_work(self, job: int, time: int) -> int:
        """Return the seconds of work that a job has done on its node when it leaves at this time."""
        worked, h = time - self.start[job], self.jobs.horizon
        if self.signal[job] < 0:
            return worked
        if not self.jobs.grace[job]:
            return worked - worked % h.snapshot
        return worked if h.during_grace == "work" else self.signal[job] - self.start[job]

    # -- bounds -------------------------------------------------------------------------------------------------------

    def key(self) -> tuple[object, ...]:
        """Return the part of the state that determines the future; states of equal keys differ only in past costs."""
        rows = tuple(zip(self.remaining, self.node, self.start, self.signal, self.count, strict=True))
        return self.now, self.asking, self.promised, self.refused, rows

    def _earliest_return(self, job: int, end: int) -> int | None:
        """Return the first time at which a draining victim may run again; None if it finishes before."""
        credit = self._seconds_of_work(job, end)
        return None if credit == self.remaining[job] else self.jobs.next_tick(end)

    def interval_bound(self) -> int:
        """Return a lower bound on the sum of re-scheduling intervals of every run from here."""
        total = self.intervals + sum(self.now - self.signal[job] for job in self.victims)
        for job, end in self.ends.items():
            if self.signal[job] >= 0 and (back := self._earliest_return(job, end)) is not None:
                total += back - self.signal[job]
        return total

    def te_slowdown_bound(self) -> int:
        """Return a lower bound on the sum of TE slowdowns of every run from here."""
        jobs, total = self.jobs, self.te_slowdown
        for job in self.te_queue:
            total += self._slowdown_of_job(job, self.now + jobs.execution[job])
        for job in range(self.submitted, len(jobs.submit)):
            if jobs.te[job]:
                total += self._slowdown_of_job(job, jobs.ticked[job] + jobs.execution[job])
        return total

    def be_slowdown_bound(self) -> int:
        """Return a lower bound on the sum of BE slowdowns of every run from here."""
        jobs, total = self.jobs, self.be_slowdown
        for job, end in self.ends.items():
            if jobs.te[job]:
                continue
            back = self._earliest_return(job, end) if self.signal[job] >= 0 else None
            total += self._slowdown_of_job(
                job, end if back is None else back + self.remaining[job] - self._seconds_of_work(job, end)
            )
        for job in (*self.victims, *self.queue):
            total += self._slowdown_of_job(job, self.now + self.remaining[job])
        for job in range(self.submitted, len(jobs.submit)):
            if not jobs.te[job]:
                total += self._slowdown_of_job(job, jobs.ticked[job] + jobs.execution[job])
        return total

    def victim_bound(self) -> int:
        """Return a lower bound on the number of suspended jobs of every run from here."""
        return sum(self.count)


#: Objective -> a lower bound on its value for every continuation of a state; its exact value at the end of a run.
LOWER_BOUNDS: dict[str, Callable[[RunState], int]] = {
    "total_rescheduling": RunState.interval_bound,
    "total_te_slowdown": RunState.te_slowdown_bound,
    "total_be_slowdown": RunState.be_slowdown_bound,
    "victim_count": RunState.victim_bound,
}


def _fits_on_node(demand: list[int], free: list[int]) -> bool:
    return all(d <= f for d, f in zip(demand, free, strict=True))
