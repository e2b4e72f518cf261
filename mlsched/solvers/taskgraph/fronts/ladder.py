"""Values of total_jct from a bound on, refuted or attained by cutting planes; two at once where a thread is idle.

Plans of at most a larger value are looked for beside: to refute them refutes the smaller value as well, and when that
ends first, what was learned about the larger one is not lost.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._due import DueModel
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.backends.process import Apart, Helpers
from mlsched.solvers.taskgraph.proofs.cutting_planes import parameters, searched

#: Seconds for which a thread must have been idle before it is lent.
PAUSE = 0.2

#: How often a search begins that CP-SAT aborts.
ATTEMPTS = 3
#: Deterministic time of the shortest searches, with what it takes to make them.
LEAST = 0.5

#: A plan; False: there is none; None: not known.
Found = Timetable | bool | None


class Cut:
    """A search by cutting planes for the best plan of a model; one that CP-SAT aborts begins anew with another seed."""

    def __init__(self, made: TimeIndexed | DueModel, limits: Limits, helpers: Helpers | None = None) -> None:
        self._made, self._limits, self._helpers = made, limits, helpers
        self._until = None if limits.seconds is None else time.perf_counter() + limits.seconds
        #: Deterministic time that it took.
        self.work = 0.0
        self._stopped = threading.Event()
        self._search = self._begin(0)

    def _begin(self, number: int) -> Apart | None:
        if self._made.reason is not None:
            return None
        seconds = None if self._until is None else max(1e-3, self._until - time.perf_counter())
        limits = dataclasses.replace(self._limits, seconds=seconds, seed=self._limits.seed + number)
        return Apart(self._made.cp, parameters(limits), lambda _: None, helpers=self._helpers)

    def stop(self) -> None:
        """End the search, from any thread, begun or not."""
        self._stopped.set()
        if self._search is not None:
            self._search.stop()

    def run(self) -> Found:
        """Search until proof, limit or `stop`."""
        for number in range(ATTEMPTS):
            if number:
                self._search = self._begin(number)
            if self._search is None:
                return False
            if self._stopped.is_set():
                return None
            ended = searched(self._search)
            self.work = ended.work
            if ended.status != "ABORTED":
                break
        if ended.status == "INFEASIBLE":
            return False
        return self._made.plan(ended.solution) if ended.status == "OPTIMAL" else None


class Threads:
    """How many of some threads are at work, by `with`. Those that are not may be lent, and are taken back."""

    def __init__(self) -> None:
        self.total = 0
        self._lock = threading.Lock()
        self._busy = 0
        self._lent: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._busy += 1
            back = self._lent.pop() if self._lent and self._busy + len(self._lent) > self.total else None
        if back is not None:
            back()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._busy -= 1

    @property
    def idle(self) -> bool:
        """Whether a thread could be lent."""
        return self._busy + len(self._lent) < self.total

    def lend(self, back: Callable[[], None]) -> bool:
        """Take a thread that is idle, if there is one; `back` is called when it is needed again."""
        with self._lock:
            if self.idle:
                self._lent.append(back)
                return True
        return False

    def returned(self, back: Callable[[], None]) -> None:
        """Whoever was lent a thread needs it no more."""
        with self._lock:
            if back in self._lent:
                self._lent.remove(back)


class _Beside:
    """A search on a thread that was lent, until that is taken back or the search is what is asked for."""

    def __init__(self, value: int, cut: Cut, answer: Future[Found]) -> None:
        self.value, self.cut, self.answer = value, cut, answer
        self._lock, self._state = threading.Lock(), "lent"

    @property
    def taken(self) -> bool:
        """Whether its thread was taken back."""
        return self._state == "taken"

    def _become(self, state: str) -> bool:
        with self._lock:
            lent = self._state == "lent"
            self._state = state if lent else self._state
        return lent

    def take(self) -> None:
        """Its thread is needed."""
        if self._become("taken"):
            self.cut.stop()

    def keep(self) -> bool:
        """Whether the search goes on for good: not when its thread was taken."""
        return self._become("kept")


class Steps:
    """How much larger the next value is than the last one refuted: as much as takes twice as long, by the last two."""

    def __init__(self) -> None:
        self.size = 1
        self._last: tuple[int, float] | None = None

    def refuted(self, value: int, work: float) -> None:
        """A value was, in deterministic time `work`."""
        size, cost = 2 * self.size, work + LEAST
        if self._last is not None and cost > self._last[1]:
            growth = math.log2(cost / self._last[1]) / (value - self._last[0])
            size = min(size, max(1, int(1 / growth)))
        elif self._last is None and work > LEAST:
            size = 1
        self.size, self._last = size, (value, cost)


class Ladder:
    """Asks whether there are plans of at most a value, one value after the other; by `with`, which ends all searches.

    `make` makes the search for a value.
    """

    def __init__(self, threads: Threads, make: Callable[[int], Cut]) -> None:
        self._threads, self._make = threads, make
        # One more than run at once: a search that was stopped takes a moment to end.
        self._pool = ThreadPoolExecutor(3)
        self._lock, self._stopped = threading.Lock(), False
        self._running: list[tuple[Cut, Future[Found]]] = []
        self._beside: _Beside | None = None
        #: No plan has at most this value.
        self.refuted = -1
        #: Deterministic time of the last search that answered.
        self.work = 0.0

    def stop(self) -> None:
        """End all searches, from any thread, for good."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for cut, _ in running:
            cut.stop()

    def __enter__(self) -> Ladder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        self.stop()
        self._pool.shutdown()

    @property
    def ahead(self) -> int | None:
        """The value that is asked for beside."""
        beside = self._beside
        return None if beside is None or beside.taken else beside.value

    def ask(self, value: int, further: int | None) -> Found:
        """A plan of at most a value; where there is none, `refuted` says up to which.

        `further`: the larger value that may be asked for beside.
        """
        cut, answer = self._resume(value)
        patient = False
        while not answer.done():
            if (beside := self._beside) is None:
                wait([answer], PAUSE)
                if patient and further is not None and self._threads.idle and not answer.done():
                    self._look_further(further)
                # Idle twice: for longer than it takes to ask the next sub-problem.
                patient = self._threads.idle
            elif beside.taken:
                self._beside = None
            elif beside.answer.done() and beside.answer.result() is False:
                cut.stop()
                return self._told(beside.value, beside.cut, False)
            else:
                wait([answer] if beside.answer.done() else [answer, beside.answer], PAUSE, FIRST_COMPLETED)
        return self._told(value, cut, answer.result())

    def _told(self, value: int, cut: Cut, found: Found) -> Found:
        self.work = cut.work
        if found is False:
            self.refuted = value
        return found

    def _resume(self, value: int) -> tuple[Cut, Future[Found]]:
        """The search for a value: the one beside, or a new one."""
        beside = self._leave(value)
        return self._begin(value) if beside is None or not beside.keep() else (beside.cut, beside.answer)

    def _leave(self, value: int | None = None) -> _Beside | None:
        """Give back the thread that was lent; the search beside, which is ended if it is not for `value`."""
        beside, self._beside = self._beside, None
        if beside is None:
            return None
        self._threads.returned(beside.take)
        if beside.value != value:
            beside.take()
        return beside

    def _look_further(self, value: int) -> None:
        beside = _Beside(value, *self._begin(value))
        if self._threads.lend(beside.take):
            self._beside = beside
        else:
            beside.take()

    def _begin(self, value: int) -> tuple[Cut, Future[Found]]:
        cut = self._make(value)
        begun = cut, self._pool.submit(cut.run)
        with self._lock:
            # What has ended need not be remembered: models are large.
            self._running = [one for one in self._running if not one[1].done()] + [begun]
            stopped = self._stopped
        if stopped:
            cut.stop()
        return begun
