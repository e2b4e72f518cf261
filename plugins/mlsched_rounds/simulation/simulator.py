"""Gavel's rounds (Narayanan et al., OSDI 2020; its simulator, lines 4 to 9 and 21 to 24 of the world's documentation).

The clock moves from round to round. A round lasts until the last of its jobs has run its steps, at most the round's
length; a GPU that is free earlier idles until then, and arrivals wait too. What happened is accounted at the end: the
job that ended last first, ties by number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mlsched_rounds.heuristics.accounts import Accounts, Floats
from mlsched_rounds.simulation.adaptation import Progress
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.servers import Held, assign

#: So many failed slices in a row, and the job is dropped.
MOST_FAILURES = 5
#: A slice that ends so many seconds before its round would loses no time to resuming (Shockwave's simulator).
SHORT = 5


@dataclasses.dataclass(frozen=True)
class Slice:
    """A job in a round: on which type, from and to when, how many steps; `kept`: on the GPUs of the round before."""

    round: int
    job: int
    kind: int
    start: float
    end: float
    steps: int
    kept: bool
    failed: bool


class Rounds:
    """The jobs of a cluster, round by round. `rate`: jobs x types, steps per second now; times in seconds.

    `progress`: of jobs that change their batch sizes; their rates and the steps that remain then change at the ends of
    slices.
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
    ) -> None:
        self.arrival, self.gpus, self.capacity, self.rate = list(arrival), list(gpus), list(capacity), rate.copy()
        self.rates: list[list[float]] = rate.tolist()
        self.progress = progress
        self.options = options
        self.remaining = list(steps)
        self.accounts = Accounts(len(steps), len(capacity), self.rate, options.round / 2)
        self.now = self.arrival[0] if self.arrival else 0.0
        self.active: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.slices: list[Slice] = []
        self.rounds = 0
        self.need = True  # that the policy is asked again
        self.ended: dict[int, float] = {}
        self.dropped: set[int] = set()
        self.booked = 0.0  # GPU-seconds, as the program books them
        self.served = np.zeros(len(steps))  # GPU-seconds of each job
        self._arrived = 0
        self.running: list[tuple[float, int, int, float, int, bool]] = []
        self.held: list[Held] = [{} for _ in capacity]
        self._before: set[int] = set()  # who ran in the round before this one
        self._failures = [0] * len(steps)
        self._until: float | None = None  # the end of the round before, where there was one

    @property
    def unfinished(self) -> int:
        """Jobs that have neither ended nor been dropped."""
        return len(self.arrival) - len(self.ended) - len(self.dropped)

    def next(self) -> float | None:
        """The end of the round, or the next arrival where nothing runs; None where nothing will happen."""
        if self.running:
            return max(finish for finish, *_ in self.running)
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
            for finish, job, kind, begun, count, kept in sorted(self.running, key=lambda one: (-one[0], one[1])):
                self._account(finish, job, kind, begun, started, count, kept)
            self.running = []
            self.active = self.active[[j not in self.ended and j not in self.dropped for j in self.active.tolist()]]
        first = self._arrived
        while self._arrived < len(self.arrival) and self.arrival[self._arrived] <= self.now:
            self._arrived += 1
        if self._arrived > first:
            self.active = np.append(self.active, np.arange(first, self._arrived))
            self.need = True

    def _account(
        self, finish: float, job: int, kind: int, begun: float, started: float, count: int, kept: bool
    ) -> None:
        booked = finish - (started if self.options.gaps == "booked" else begun)
        if self.rounds > 1 and job not in self._before and finish - begun > self.options.round - SHORT:
            count = int(count * ((finish - begun - self.options.resume) / (finish - begun)))
            booked -= self.options.resume
        least = count // self.gpus[job] if self.options.remainder == "dropped" else count
        failed = least <= 0 or booked <= 0
        self.slices.append(Slice(self.rounds - 1, job, kind, begun, finish, count, kept, failed))
        if failed:
            self._failures[job] += 1
            if self._failures[job] >= MOST_FAILURES and self.remaining[job] > 0:
                self.dropped.add(job)
            elif self._failures[job] >= MOST_FAILURES:
                self.ended[job] = finish
            self.need = True
            return
        self._failures[job] = 0
        self.remaining[job] -= count
        emptied = False
        if self.progress is not None and self.progress.ran(job, count):
            self.remaining[job] = self.progress.left(job)
            self.rate[job] = self.progress.rates(job)
            self.rates[job] = self.rate[job].tolist()
            emptied = self.options.emptied == "failed"
        self.accounts.book(job, kind, booked)
        self.booked += booked * self.gpus[job]
        self.served[job] += (finish - begun) * self.gpus[job]
        if self.remaining[job] <= 0 and not emptied:
            self.ended[job] = finish
            self.need = True

    def run(self, taken: Sequence[Sequence[int]], runs: set[int]) -> None:
        """Begin a round: the jobs `taken` for each type, in that order; those without a share (not in `runs`) idle."""
        self._before = {job for held in self.held for job in held}
        for kind, jobs in enumerate(taken):
            held = assign([(j, self.gpus[j]) for j in jobs], self.capacity[kind], self.held[kind], runs)
            before, self.held[kind] = self.held[kind], held
            for job in held:
                self._begin(job, kind, set(before.get(job, ())) == set(held[job]))
        self.rounds += 1

    def _begin(self, job: int, kind: int, kept: bool) -> None:
        rate = self.rates[job][kind]
        count = min(int(rate * self.options.round), self.remaining[job])
        self.running.append((self.now + count / rate, job, kind, self.now, count, kept))
