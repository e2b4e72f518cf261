"""total_jct by conflicts that teach cutting planes, on the time-indexed model: a bound, and plans of a given value.

Both run in a process of their own, because learning cutting planes may abort it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits
from mlsched.formulations._cp_apart import Apart, Ended
from mlsched.formulations._cp_solver import within
from mlsched.formulations.taskgraph._best import Best
from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._relaxation import relax
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed, size

#: The first attempt at a plan of some value takes this share of the limit of time, those after it more and more.
ATTEMPT, PATIENCE = 0.25, 1.5


class CuttingPlanes:
    """The time-indexed model, searched on one thread to raise the bound of `best`; see `Proof`.

    CP-SAT grows a tree of bounds (`optimize_with_lb_tree_search`), for which the sum of Boolean "job j is complete by
    t" is made.
    """

    def __init__(self, made: TimeIndexed, limits: Limits, best: Best) -> None:
        self._made, self._best, self._begun = made, best, time.perf_counter()
        self._upper = best.plan_value
        #: Set by whoever stops this to begin again.
        self.again = False
        made.cp.minimize(made.terms["total_jct"])
        chosen = _parameters(limits)
        chosen.optimize_with_lb_tree_search = True
        self._search = Apart(made.cp, chosen, self._rise)

    @property
    def outdated(self) -> bool:
        """Whether a better plan narrows the model by more than what beginning again costs: a tenth fewer variables are
        worth a fifth of the time that is left."""
        if self._best.upper == self._upper:
            return False
        age, left = time.perf_counter() - self._begun, self._best.left().seconds
        narrower = 1 - size(self._best.layout, self._best.plan_value) / size(self._best.layout, self._upper)
        return age < 2 * narrower * (10 * age if left is None else left)

    def _rise(self, bound: float) -> None:
        # A double that holds an integer exactly up to 2^53, which instances guarantee.
        self._best.raise_to(round(bound) - sum(self._best.layout.arrival))
        if self._best.closed:
            self.stop()

    def stop(self) -> None:
        """End the search, from any thread."""
        self._search.stop()

    def run(self) -> None:
        """Search until proof, limit or `stop`."""
        best = self._best
        if best.closed:
            return
        ended = self._search.run()
        _count(best, ended)
        if ended.status == "INFEASIBLE":
            raise SolverError(f"cp-sat finds no plan of total_jct {self._upper}, which a plan attains")
        if ended.solution:
            best.offer(self._made.plan(ended.solution))
        if ended.bound is not None and ended.status in ("OPTIMAL", "FEASIBLE"):
            self._rise(ended.bound)


class Attempts:
    """Attempts at a plan of a value between bound and incumbent, the windows of starts as narrow as that makes them.

    What is attempted is halfway at first and nearer to the incumbent after each failure. An attempt that is shown to
    be impossible raises the bound.
    """

    def __init__(self, best: Best, shared: Sequence[Pool], room: int) -> None:
        self._best, self._shared, self._room = best, shared, room
        self._share, self._failed = ATTEMPT, 0
        self._search: Apart | None = None

    @property
    def possible(self) -> bool:
        """Whether the model is small enough."""
        return size(self._best.layout, self._best.plan_value) <= self._room

    def stop(self) -> None:
        """End the attempt under way, from any thread."""
        if self._search is not None:
            self._search.stop()

    def step(self) -> None:
        """One attempt."""
        best = self._best
        value = best.plan_value - 1 - (best.plan_value - 1 - best.lower) // 2 ** (self._failed + 1)
        limits = best.left(min(1.0, self._share))
        relaxed = relax(best.layout, list(self._shared), value, limits.seconds, 1)
        made = TimeIndexed(best.layout, value, relaxed, self._shared)
        if made.reason is not None or (relaxed is not None and relaxed.bound > value):
            best.raise_to(value + 1)
            return
        made.cp.add(made.terms["total_jct"] <= value + sum(best.layout.arrival))
        self._search = Apart(made.cp, _parameters(limits), _ignore)
        ended = self._search.run()
        _count(best, ended)
        if ended.status == "INFEASIBLE":
            best.raise_to(value + 1)
        elif ended.solution:
            best.offer(made.plan(ended.solution))
        if ended.status in ("INFEASIBLE", "OPTIMAL", "FEASIBLE"):
            self._failed = 0
        else:
            self._failed, self._share = self._failed + 1, self._share * PATIENCE


def _parameters(limits: Limits) -> Any:
    chosen = within(dataclasses.replace(limits, threads=1)).parameters
    chosen.use_pb_resolution = True
    # Presolve and the linear relaxation make constraints that cutting planes cannot use.
    chosen.cp_model_presolve, chosen.linearization_level = False, 0
    return chosen


def _count(best: Best, ended: Ended) -> None:
    best.spend(ended.work)
    if ended.status == "MODEL_INVALID":
        raise SolverError("cp-sat calls the time-indexed model invalid")
    if ended.status == "ABORTED":
        best.work["aborted_proofs"] = best.work.get("aborted_proofs", 0.0) + 1


def _ignore(_: float) -> None:
    """A bound that says nothing."""
