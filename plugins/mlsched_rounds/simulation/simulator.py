"""Gavel's rounds (Narayanan et al., OSDI 2020; its simulator, lines 4 to 9 and 21 to 24 of the world's documentation).

The clock moves from round to round. A round lasts until the last of its jobs has run its steps, at most the round's
length. A GPU that is free earlier idles until then, and arrivals wait too. Slices are recorded at the end: the job that
ended last first, ties by number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.accounts import Accounts, Unit
from mlsched_rounds.simulation.adaptation import Progress
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.packing import Packing
from mlsched_rounds.simulation.servers import assign

#: Failed slices in a row after which a job is dropped.
MOST_FAILURES = 5
#: A slice that ends this many seconds before its round would loses zero time to resuming (Shockwave's simulator).
SHORT = 5


@dataclasses.dataclass(frozen=True)
class Slice:
    """A job in a round: type, start, end and steps.

    Attributes:
        kept: The job keeps the GPUs of the round before.
        partner: Job that shares its GPUs; -1: it does not share.
    """

    round: int
    job: int
    kind: int
    start: float
    end: float
    steps: int
    kept: bool
    failed: bool
    partner: int = -1


@dataclasses.dataclass(frozen=True)
class Run:
    """A job or pair of a round: type, start, end, and steps of each job."""

    unit: Unit
    kind: int
    start: float
    end: float
    steps: tuple[int, ...]
    kept: bool


class Rounds:
    """The jobs of a cluster, round by round; times in seconds.

    Attributes:
        rate: Present steps per second, shape (jobs, types).
        progress: Progress of jobs that change their batch sizes; their rates and remaining steps change at the ends of
            slices.
        packing: Rates of pairs.
    """

    def __init__(
        self,
        arrival: Sequence[float],
        steps: Sequence[int],
        gpus: Sequence[int],
        rate: FloatArray,
        capacity: Sequence[int],
        options: Options,
        progress: Progress | None = None,
        packing: Packing | None = None,
    ) -> None:
        self.arrival, self.gpus, self.capacity, self.rate = list(arrival), list(gpus), list(capacity), rate.copy()
        self.rates: list[list[float]] = rate.tolist()
        self.progress, self.packing = progress, packing
        self.options = options
        self.remaining = list(steps)
        self.accounts: Accounts = Accounts(len(steps), len(capacity), self.rate, options.round / 2)
        self.now = self.arrival[0] if self.arrival else 0.0
        self.active: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.slices: list[Slice] = []
        self.rounds = 0
        self.need = True  # the policy must be called again
        self.ended: dict[int, float] = {}
        self.dropped: set[int] = set()
        self.booked = 0.0  # GPU-seconds, as the program books them
        self.served = np.zeros(len(steps))  # GPU-seconds of each job
        self.fruitful = 0, self.now  # round and time of the last successful slice
        self._arrived = 0
        self.running: list[Run] = []
        self.held: list[dict[Unit, tuple[int, ...]]] = [{} for _ in capacity]
        self._before: set[int] = set()  # jobs of the round before this one
        self._failures = [0] * len(steps)
        self._until: float | None = None  # end of the round before, if there was one

    @property
    def unfinished(self) -> int:
        """Return the number of jobs that have neither ended nor been dropped."""
        return len(self.arrival) - len(self.ended) - len(self.dropped)

    @property
    def expects(self) -> bool:
        """Return whether jobs will arrive."""
        return self._arrived < len(self.arrival)

    def next(self) -> float | None:
        """Return the end of the round, or the next arrival if the cluster is idle; None if there are no more events."""
        if self.running:
            return max(one.end for one in self.running)
        return self.arrival[self._arrived] if self._arrived < len(self.arrival) else None

    def advance(self) -> None:
        """Advance to the next event: record the slices, and admit new jobs."""
        following = self.next()
        if not self.running and self._arrived == len(self.arrival):
            self.accounts.last_reset = 0.0
        if following is not None:
            self.now = max(following, self.now) if not self.running else following
        if self.running:
            starts = self._until if self._until is not None else 0.0
            self._until = self.now
            for one in sorted(self.running, key=lambda one: (-one.end, one.unit)):
                self._record_run(one, starts)
            self.running = []
            self.active = self.active[[j not in self.ended and j not in self.dropped for j in self.active.tolist()]]
        first = self._arrived
        while self._arrived < len(self.arrival) and self.arrival[self._arrived] <= self.now:
            self._arrived += 1
        if self._arrived > first:
            self.active = np.append(self.active, np.arange(first, self._arrived))
            self.need = True

    def _record_run(self, one: Run, started: float) -> None:
        booked = one.end - (started if self.options.gaps == "booked" else one.start)
        steps, resumed = one.steps, self._resuming_jobs(one)
        if resumed:
            share = (one.end - one.start - self.options.resume) / (one.end - one.start)
            steps = tuple(int(n * share) if j in resumed else n for j, n in zip(one.unit, steps, strict=True))
            booked -= self.options.resume
        least = min(steps) // self.gpus[one.unit[0]] if self.options.remainder == "dropped" else min(steps)
        failed = least <= 0 or booked <= 0
        partners = one.unit[::-1] if len(one.unit) > 1 else (-1,)
        for job, count, partner in zip(one.unit, steps, partners, strict=True):
            self.slices.append(
                Slice(self.rounds - 1, job, one.kind, one.start, one.end, count, one.kept, failed, partner)
            )
        if failed:
            self.need = True
            if len(one.unit) == 1:  # Gavel's program does not count failures of pairs
                self._record_failure(one.unit[0], one.end)
            return
        if len(one.unit) == 1:
            self._failures[one.unit[0]] = 0
        self.fruitful = self.rounds, self.now
        self.accounts.book(one.unit, one.kind, booked)
        self.booked += booked * self.gpus[one.unit[0]]
        for job, count in zip(one.unit, steps, strict=True):
            self.served[job] += (one.end - one.start) * self.gpus[job] / len(one.unit)
            self._count_steps(job, count, one.end)

    def _resuming_jobs(self, one: Run) -> set[int]:
        """Return the jobs that lose time since they did not run in the round before."""
        if self.rounds < 2 or one.end - one.start <= self.options.round - SHORT:
            return set()
        return set(one.unit) - self._before

    def _record_failure(self, job: int, end: float) -> None:
        self._failures[job] += 1
        if self._failures[job] >= MOST_FAILURES and self.remaining[job] > 0:
            self.dropped.add(job)
        elif self._failures[job] >= MOST_FAILURES:
            self.ended[job] = end

    def _count_steps(self, job: int, count: int, end: float) -> None:
        """Count the steps that a job has done."""
        self.remaining[job] -= count
        emptied = False
        if self.progress is not None and self.progress.ran(job, count):
            self.remaining[job] = self.progress.left(job)
            self.rate[job] = self.progress.rates(job)
            self.rates[job] = self.rate[job].tolist()
            emptied = self.options.emptied == "failed"
        if self.remaining[job] <= 0 and not emptied:
            self.ended[job] = end
            self.need = True

    def run(self, taken: Sequence[Sequence[Unit]], runs: Set[Unit]) -> None:
        """Begin a round: jobs and pairs `taken` for each type, in that order; those not in `runs` idle."""
        self._before = {job for usage in self.held for unit in usage for job in unit}
        for kind, units in enumerate(taken):
            usage = assign([(u, self.gpus[u[0]]) for u in units], self.capacity[kind], self.held[kind], runs)
            before, self.held[kind] = self.held[kind], usage
            for unit in usage:
                self._begin_slice(unit, kind, set(before.get(unit, ())) == set(usage[unit]))
        self.rounds += 1

    def _begin_slice(self, unit: Unit, kind: int, keep: bool) -> None:
        rates = [self.rates[unit[0]][kind]]
        if self.packing is not None and len(unit) > 1:
            rates = self.packing.together(*unit)[:, kind].tolist()
        rest = [self.remaining[job] for job in unit]
        steps = [min(int(rate * self.options.round), most) for rate, most in zip(rates, rest, strict=True)]
        end = max(self.now + count / rate for count, rate in zip(steps, rates, strict=True))
        self.running.append(Run(unit, kind, self.now, end, tuple(steps), keep))
