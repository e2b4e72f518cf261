"""Workers over a horizon in the simulated world, exactly: the best run of integer workers, arrivals known.

While `clairvoyant` shares the cluster freely in time, this solver follows the clock. Workers and PSs are allocated
again when a job arrives or finishes, and each job loses its started iteration (Chic, Eq. 7). At least one job trains
while any is present. It is the best result of a scheduler of that world that knows all arrivals, so the difference to
the best policy (`backward-induction`) is the cost of unknown arrivals. Such runs are a part of the horizon's plans: the
bound is valid only for them.

Recursion over decisions. After the last arrival, the time no longer matters, and values are cached by the remaining
work of the jobs; before that each path has a time of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.workers import Horizon, Stages
from mlsched.solvers.workers._events import NS, WAITS, Given, Kinds, first_finish, remaining_after


class There(NamedTuple):
    """A job in the system: its number in the run, its type, and its remaining iterations."""

    job: int
    kind: int
    remaining: int


class Coming(NamedTuple):
    """A future job: its type, its iterations, and its arrival in ms."""

    kind: int
    iterations: int
    arrival: int


#: A stay between two decisions: its first and last ms, and (job, its allocation) of the training jobs.
Stay = tuple[int, int, tuple[tuple[int, Given], ...]]


@exact_algorithm("best-run", problem="workers", objectives=("total_jct",), called="offline", restricted=True)
def answer(instance: Horizon, *, objective: str, limits: Limits, hint: Stages | None = None) -> Outcome:
    """The best run of whole workers, re-scheduled at events, with all arrivals known; for three or four jobs."""
    kinds = Kinds(instance.time, instance.worker_demand, instance.ps_demand, instance.capacity)
    pairs = zip(instance.remaining.tolist(), instance.arrival.tolist(), strict=True)
    jobs = [Coming(job, iterations, arrival) for job, (iterations, arrival) in enumerate(pairs)]
    runs = Runs(kinds, Deadline(limits.seconds))
    value, stays = runs.best(jobs)
    return Outcome("optimal", _stages_of_run(instance, stays), value, work={"states": runs.states})


class Runs:
    """Best runs on one cluster; results are kept for further runs of jobs of the same types."""

    def __init__(self, kinds: Kinds, deadline: Deadline) -> None:
        self.kinds, self.deadline, self.states = kinds, deadline, 0
        self._known: dict[tuple[tuple[int, int], ...], tuple[int, tuple[Given, ...]]] = {}

    def best(self, jobs: list[Coming]) -> tuple[int, list[Stay]]:
        """Return the least sum of times in the system, in ms, and the run; jobs in arrival order."""
        if not jobs:
            return 0, []
        return self._best_from_state(jobs[0].arrival, (), 0, jobs)

    def _best_from_state(
        self, now: int, there: tuple[There, ...], arrived: int, jobs: list[Coming]
    ) -> tuple[int, list[Stay]]:
        """Return the least sum of times in the system from this state on, in ms, and the stays of such a run.

        Args:
            now: Time, ms.
            there: Jobs in the system.
            arrived: Number of jobs that have arrived.
            jobs: All jobs, by arrival.
        """
        while arrived < len(jobs) and (not there or jobs[arrived].arrival <= now):
            now = max(now, jobs[arrived].arrival)
            there += (There(arrived, jobs[arrived].kind, jobs[arrived].iterations),)
            arrived += 1
        if not there:
            return 0, []
        if arrived == len(jobs):
            return self._best_without_arrivals(now, there)
        self.deadline.check()
        self.states += 1
        best: tuple[int, list[Stay]] | None = None
        for allocation in self.kinds.allocations(tuple(t.kind for t in there)):
            lasts, after = self._time_to_next_event(there, allocation, jobs[arrived].arrival - now)
            cost = len(there) * lasts
            if best is not None and cost >= best[0]:
                continue
            further, stays = self._best_from_state(now + lasts, after, arrived, jobs)
            if best is None or cost + further < best[0]:
                best = cost + further, [_stay_until_event(now, lasts, there, allocation), *stays]
        assert best is not None  # a single job can always train
        return best

    def _best_without_arrivals(self, now: int, there: tuple[There, ...]) -> tuple[int, list[Stay]]:
        """Return the best value of the jobs without further arrivals, and the stays that reach it."""
        value, stays = self.value(tuple((t.kind, t.remaining) for t in there)), list[Stay]()
        while there:
            allocation = self._known[tuple((t.kind, t.remaining) for t in there)][1]
            lasts, after = self._time_to_next_event(there, allocation, None)
            stays.append(_stay_until_event(now, lasts, there, allocation))
            now, there = now + lasts, after
        return value, stays

    def value(self, jobs: tuple[tuple[int, int], ...]) -> int:
        """Return the least sum of times, in ms, of jobs (type, iterations left) without further arrivals."""
        if not jobs:
            return 0
        if jobs not in self._known:
            self.deadline.check()
            self.states += 1
            best: tuple[int, tuple[Given, ...]] | None = None
            remaining = [b for _, b in jobs]
            for allocation in self.kinds.allocations(tuple(kind for kind, _ in jobs)):
                iteration = [self.kinds.iteration(kind, pair) for (kind, _), pair in zip(jobs, allocation, strict=True)]
                end = first_finish(remaining, iteration)
                cost = len(jobs) * end
                if best is not None and cost >= best[0]:
                    continue
                after = remaining_after(remaining, iteration, end)
                cost += self.value(tuple((kind, b) for (kind, _), b in zip(jobs, after, strict=True) if b))
                if best is None or cost < best[0]:
                    best = cost, allocation
            assert best is not None  # a single job can always train
            self._known[jobs] = best
        return self._known[jobs][0]

    def _time_to_next_event(
        self, there: tuple[There, ...], allocation: tuple[Given, ...], arrival: int | None
    ) -> tuple[int, tuple[There, ...]]:
        """Return the ms to the next event, an arrival after `arrival` ms or a finish, and the jobs left then."""
        iteration = [self.kinds.iteration(t.kind, pair) for t, pair in zip(there, allocation, strict=True)]
        remaining = [t.remaining for t in there]
        lasts = first_finish(remaining, iteration)
        lasts = lasts if arrival is None else min(lasts, arrival)
        after = remaining_after(remaining, iteration, lasts)
        return lasts, tuple(t._replace(remaining=b) for t, b in zip(there, after, strict=True) if b)


def _stay_until_event(now: int, lasts: int, there: tuple[There, ...], allocation: tuple[Given, ...]) -> Stay:
    training = tuple((t.job, pair) for t, pair in zip(there, allocation, strict=True) if pair != WAITS)
    return now, now + lasts, training


def _stages_of_run(horizon: Horizon, stays: list[Stay]) -> Stages:
    """Convert a run to a plan of the horizon: a stage per stay, and another before it while the system is empty."""
    ends, rows = list[int](), list[tuple[int, int, int, int, int]]()
    finish = np.zeros(len(horizon.arrival), dtype=np.int64)
    for start, end, training in stays:
        if start > (ends[-1] if ends else 0):
            ends.append(start)
        ends.append(end)
        for job, (workers, ps) in training:
            rows.append((len(ends) - 1, job, workers, ps, (end - start) * NS))
            finish[job] = len(ends) - 1  # a job trains in the stay with which it finishes
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 5)
    names = ("stage", "job", "workers", "ps", "time")
    columns = {name: table[:, i] for i, name in enumerate(names)}
    return Stages(ends=np.array(ends, dtype=np.int64) * NS, finish=finish, **columns)
