"""Values of total_jct, from the lower bound on, refuted or attained by cutting planes.

The model of a value has windows of starts as narrow as that value makes them, which is what cutting planes need. Where
there is a plan of at most the value, no more than one value below it remains to be refuted.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Sequence

import numpy as np

from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._relaxation import LinearBound
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed, size
from mlsched.solvers.taskgraph.proofs.cutting_planes import ATTEMPTS, Cut, Result, run_for
from mlsched.solvers.taskgraph.state import BUILDING, State

#: Variables up to which the time-indexed model is made.
MOST = 25_000
#: Deterministic time that is booked for the shortest search, and up to which a search is quick.
SHORTEST, QUICK = 0.02, 0.5


class Steps:
    """How much larger the next value is than the last one refuted: as much as takes twice as long, by the last two.

    Each value takes longer than the one before by about the same factor, so all before the last take together about as
    long as the last one does. Searches that took a while are taken to grow by the root of two a value at least:
    skipping too far costs all the time that remains. Value by value takes 1.2 times the work on `eight-replicas`.
    """

    def __init__(self) -> None:
        self.size = 1
        self._last: tuple[int, float] | None = None

    def refuted(self, value: int, work: float) -> None:
        """A value was refuted in deterministic time `work`."""
        size, cost = 2 * self.size, work + QUICK
        if self._last is not None and cost > self._last[1]:
            growth = math.log2(cost / self._last[1]) / (value - self._last[0])
            size = min(size, max(1, int(1 / growth)))
        if work > QUICK:
            size = min(size, 2)
        if self._last is None and work > QUICK:
            size = 1
        self.size, self._last = size, (value, cost)


class Values:
    """Searches for plans of total_jct at most given values, one at a time.

    `shared` are pools of the layout, `linear` gives windows. Another thread may `stop` it.
    """

    def __init__(self, state: State, shared: Sequence[Pool], linear: LinearBound | None) -> None:
        self._state, self._shared, self._linear = state, shared, linear
        self._rng = np.random.default_rng(state.limits.seed)
        self._steps = Steps()
        self._cut: Cut | None = None
        self._asked = -1
        self._stopped = threading.Event()
        #: Whether CP-SAT aborted a search with every seed: it would again.
        self.broken = False

    def stop(self) -> None:
        """End the search under way and all to come, from any thread."""
        self._stopped.set()
        if self._cut is not None:
            self._cut.stop()

    def stop_if_known(self) -> None:
        """End the search under way, from any thread, if the incumbent is as good as the value that is asked for."""
        cut, upper = self._cut, self._state.upper
        if cut is not None and upper is not None and upper <= self._asked:
            cut.stop()

    def possible(self, value: int) -> bool:
        """Whether the model of a value is not too large."""
        return size(self._state.layout, value) <= MOST

    def next_value(self) -> int:
        """The value to refute next: some steps above the lower bound, at most halfway to the incumbent."""
        state = self._state
        lower = state.lower or 0
        return min(lower + self._steps.size - 1, (lower + state.incumbent - 1) // 2)

    def ask(self, value: int, work: float | None = None) -> bool:
        """Whether it is known now if there is a plan of at most a value, sought within deterministic time `work`."""
        state = self._state
        made, self._asked = self.model(value), value
        result, spent = self.search(made, work)
        if result is False:
            state.raise_lower(value + 1)
            self._steps.refuted(value, spent)
        return result is not None

    def model(self, value: int) -> TimeIndexed:
        """The time-indexed model of plans of at most a value."""
        state = self._state
        windows = None if self._linear is None else self._linear.windows(value)
        made = TimeIndexed(state.layout, value, windows, self._shared)
        if made.reason is None:
            made.cp.add(made.terms["total_jct"] <= value - made.constant["total_jct"])
        return made

    def search(self, made: TimeIndexed, work: float | None) -> tuple[Result, float]:
        """Search a model within deterministic time `work`, or what remains; offer its plans; the work."""
        state = self._state
        seed = int(self._rng.integers(2**31))
        self._cut = cut = Cut(made, dataclasses.replace(state.at_most(work), seed=seed), state.helpers)
        if self._stopped.is_set():
            cut.stop()
        result = run_for(state, cut)
        self.broken |= cut.aborts == ATTEMPTS
        spent = max(SHORTEST, cut.work) + BUILDING * len(made.cp.proto.constraints)
        state.spend(spent)
        return result, spent


def worth_placing(layout: Layout) -> bool:
    """Whether there may be plans, and it matters where a job's own tasks are, which is what cutting planes are for.

    With one task per job the linear relaxation says as much; where each task has one node there is nothing to place,
    and neither is there where classes of nodes are one place.
    """
    several = layout.nodes > 1 and layout.jobs > 1 and any(len(tasks) > 1 for tasks in layout.tasks_of)
    free = layout.reason is None and any(len(nodes) > 1 for nodes in layout.allowed)
    return (
        several and free and not layout.gpus_apart and not any(place.whole for place in places(layout, traffic=False))
    )
