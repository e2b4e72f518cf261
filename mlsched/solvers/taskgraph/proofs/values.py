"""Values of total_jct, from the lower bound on, refuted or attained by cutting planes.

The windows of starts in the model of a value are as narrow as that value allows, which cutting planes need. If a plan
of at most the value is found, only smaller values remain to be refuted.
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

#: Most variables of a time-indexed model.
MOST = 25_000
#: Least deterministic time that is charged for a search, and the most of a quick search.
SHORTEST, QUICK = 0.02, 0.5


class Steps:
    """The step from a refuted value to the next, chosen from the last two so that the search takes twice the time.

    Each value takes longer than the one before by about the same factor, so all earlier values together take about the
    time of the last. Searches of notable length are assumed to grow by at least the root of two per value:
    skipping too far costs all the remaining time. Value by value takes 1.2 times the work on `eight-replicas`.
    """

    def __init__(self) -> None:
        self.size = 1
        self._last: tuple[int, float] | None = None

    def refuted(self, value: int, work: float) -> None:
        """Record a refuted value and its deterministic time `work`."""
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
        #: Whether CP-SAT aborted a search with every seed: it would abort again.
        self.broken = False

    def stop(self) -> None:
        """End the running search and all later ones, from any thread."""
        self._stopped.set()
        if self._cut is not None:
            self._cut.stop()

    def stop_if_known(self) -> None:
        """End the running search, from any thread, if the incumbent attains the requested value."""
        cut_search, upper = self._cut, self._state.upper
        if cut_search is not None and upper is not None and upper <= self._asked:
            cut_search.stop()

    def possible(self, value: int) -> bool:
        """Return whether the model of a value is small enough."""
        return size(self._state.layout, value) <= MOST

    def next_value(self) -> int:
        """Return the next value to refute: some steps above the lower bound, at most halfway to the incumbent."""
        state = self._state
        lower = state.lower or 0
        return min(lower + self._steps.size - 1, (lower + state.incumbent - 1) // 2)

    def ask(self, value: int, work: float | None = None) -> bool:
        """Search for a plan of at most a value within deterministic time `work`; return whether this was decided."""
        state = self._state
        built, self._asked = self.model(value), value
        result, work_spent = self.search(built, work)
        if result is False:
            state.raise_lower(value + 1)
            self._steps.refuted(value, work_spent)
        return result is not None

    def model(self, value: int) -> TimeIndexed:
        """Return the time-indexed model of plans of at most a value."""
        state = self._state
        windows = None if self._linear is None else self._linear.windows(value)
        built = TimeIndexed(state.layout, value, windows, self._shared)
        if built.reason is None:
            built.cp.add(built.terms["total_jct"] <= value - built.constant["total_jct"])
        return built

    def search(self, made: TimeIndexed, work: float | None) -> tuple[Result, float]:
        """Search a model within deterministic time `work`, or the remaining time; offer its plans; return the work."""
        state = self._state
        seed = int(self._rng.integers(2**31))
        self._cut = cut_search = Cut(made, dataclasses.replace(state.at_most(work), seed=seed), state.helpers)
        if self._stopped.is_set():
            cut_search.stop()
        result = run_for(state, cut_search)
        self.broken |= cut_search.aborts == ATTEMPTS
        work_spent = max(SHORTEST, cut_search.work) + BUILDING * len(made.cp.proto.constraints)
        state.spend(work_spent)
        return result, work_spent


def worth_placing(layout: Layout) -> bool:
    """Return whether plans may exist and the placement of a job's own tasks matters, for which cutting planes help.

    With one task per job the linear relaxation is as strong. If each task has one node, or if classes of nodes are one
    place, the placement is fixed.
    """
    several = layout.nodes > 1 and layout.jobs > 1 and any(len(tasks) > 1 for tasks in layout.tasks_of)
    free = layout.reason is None and any(len(nodes) > 1 for nodes in layout.allowed)
    return (
        several and free and not layout.gpus_apart and not any(place.whole for place in places(layout, traffic=False))
    )
