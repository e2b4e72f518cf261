"""Gavel's rounds (Narayanan et al., OSDI 2020; its simulator, lines 4 to 9 and 21 to 24 of the world's documentation).

The clock moves from round to round. A round lasts until the last of its jobs has run its steps, at most the round's
length; a GPU that is free earlier idles until then, and arrivals wait too. What happened is accounted at the end: the
job that ended last first, ties by number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set

import numpy as np
import numpy.typing as npt

from mlsched_rounds.heuristics.accounts import Accounts, Floats, Unit
from mlsched_rounds.simulation.adaptation import Progress
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.packing import Packing
from mlsched_rounds.simulation.servers import assign

#: So many failed slices in a row, and the job is dropped.
MOST_FAILURES = 5
#: A slice that ends so many seconds before its round would loses no time to resuming (Shockwave's simulator).
SHORT = 5


@dataclasses.dataclass(frozen=True)
class Slice:
    """A job in a round: on which type, from and to when, how many steps; `kept`: on the GPUs of the round before.

    `partner`: the job that shares its GPUs, -1 if it runs alone.
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
    """What runs in a round: a job or a pair, on which type, from and to when, how many steps of each job."""

    unit: Unit
    kind: int
    start: float
    end: float
    steps: tuple[int, ...]
    kept: bool


class Rounds:
    """The jobs of a cluster, round by round. `rate`: jobs x types, steps per second now; times in seconds.

    `progress`: of jobs that change their batch sizes; their rates and the steps that remain then change at the ends of
    slices. `packing`: rates of pairs.
    """

    def __init__(
        self,
        arrival: Sequence[float],
        steps: Sequence[int],
        gpus: Sequence[int],
        rate: Floats,
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
        self.need = True  # that the policy is asked again
        self.ended: dict[int, float] = {}
        self.dropped: set[int] = set()
        self.booked = 0.0  # GPU-seconds, as the program books them
        self.served = np.zeros(len(steps))  # GPU-seconds of each job
        self.fruitful = 0, self.now  # the rounds and the time when a slice last succeeded
        self._arrived = 0
        self.running: list[Run] = []
        self.held: list[dict[Unit, tuple[int, ...]]] = [{} for _ in capacity]
        self._before: set[int] = set()  # who ran in the round before this one
        self._failures = [0] * len(steps)
        self._until: float | None = None  # the end of the round before, where there was one

    @property
    def unfinished(self) -> int:
        """Jobs that have neither ended nor been dropped."""
        return len(self.arrival) - len(self.ended) - len(self.dropped)

    @property
    def expects(self) -> bool:
        """Whether jobs will arrive."""
        return self._arrived < len(self.arrival)

    def next(self) -> float | None:
        """The end of the round, or the next arrival where nothing runs; None where nothing will happen."""
        if self.running:
            return max(one.end for one in self.running)
        return self.arrival[self._arrived] if self._arrived < len(self.arrival) else None

    def advance(self) -> None:
        """Go to what is next: account what ran, and admit who has come."""
        following = self.next()
        if not self.running and self._arrived == len(self.arrival):
            self.accounts.last_reset = 0.0
        if following is not None:
            self.now = max(following, self.now) if not self.running else following
        if self.running:
            started = self._until if self._until is not None else 0.0
            self._until = self.now
            for one in sorted(self.running, key=lambda one: (-one.end, one.unit)):
                self._account(one, started)
            self.running = []
            self.active = self.active[[j not in self.ended and j not in self.dropped for j in self.active.tolist()]]
        first = self._arrived
        while self._arrived < len(self.arrival) and self.arrival[self._arrived] <= self.now:
            self._arrived += 1
        if self._arrived > first:
            self.active = np.append(self.active, np.arange(first, self._arrived))
            self.need = True

    def _account(self, one: Run, started: float) -> None:
        booked = one.end - (started if self.options.gaps == "booked" else one.start)
        steps, resumed = one.steps, self._resumed(one)
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
            if len(one.unit) == 1:  # Gavel's program counts no failures of pairs
                self._fail(one.unit[0], one.end)
            return
        if len(one.unit) == 1:
            self._failures[one.unit[0]] = 0
        self.fruitful = self.rounds, self.now
        self.accounts.book(one.unit, one.kind, booked)
        self.booked += booked * self.gpus[one.unit[0]]
        for job, count in zip(one.unit, steps, strict=True):
            self.served[job] += (one.end - one.start) * self.gpus[job] / len(one.unit)
            self._advance(job, count, one.end)

    def _resumed(self, one: Run) -> set[int]:
        """The jobs that lose time since they did not run in the round before."""
        if self.rounds < 2 or one.end - one.start <= self.options.round - SHORT:
            return set()
        return set(one.unit) - self._before

    def _fail(self, job: int, end: float) -> None:
        self._failures[job] += 1
        if self._failures[job] >= MOST_FAILURES and self.remaining[job] > 0:
            self.dropped.add(job)
        elif self._failures[job] >= MOST_FAILURES:
            self.ended[job] = end

    def _advance(self, job: int, count: int, end: float) -> None:
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
        self._before = {job for held in self.held for unit in held for job in unit}
        for kind, units in enumerate(taken):
            held = assign([(u, self.gpus[u[0]]) for u in units], self.capacity[kind], self.held[kind], runs)
            before, self.held[kind] = self.held[kind], held
            for unit in held:
                self._begin(unit, kind, set(before.get(unit, ())) == set(held[unit]))
        self.rounds += 1

    def _begin(self, unit: Unit, kind: int, kept: bool) -> None:
        rates = [self.rates[unit[0]][kind]]
        if self.packing is not None and len(unit) > 1:
            rates = self.packing.together(*unit)[:, kind].tolist()
        left = [self.remaining[job] for job in unit]
        steps = [min(int(rate * self.options.round), most) for rate, most in zip(rates, left, strict=True)]
        end = max(self.now + count / rate for count, rate in zip(steps, rates, strict=True))
        self.running.append(Run(unit, kind, self.now, end, tuple(steps), kept))
