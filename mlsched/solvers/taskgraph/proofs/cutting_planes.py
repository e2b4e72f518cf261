"""A bound of total_jct by conflicts that teach cutting planes, on the time-indexed model.

It runs in a process of its own, because learning cutting planes may abort CP-SAT.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed, size
from mlsched.solvers.backends.limits import within
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.taskgraph.best import Best


class CuttingPlanes:
    """The time-indexed model, searched on one thread to raise the bound of `best`; see `Proof`.

    CP-SAT grows a tree of bounds (`optimize_with_lb_tree_search`), for which the sum of Boolean "job j is complete by
    t" is made.
    """

    def __init__(self, made: TimeIndexed, limits: Limits, best: Best) -> None:
        self._made, self._best, self._begun = made, best, time.perf_counter()
        assert made.upper is not None
        #: The value that the windows of starts were made for.
        self._upper = made.upper
        #: Set by whoever stops this to begin again.
        self.again = False
        made.cp.minimize(made.terms["total_jct"])
        chosen = parameters(limits)
        chosen.optimize_with_lb_tree_search = True
        self._search = Apart(made.cp, chosen, self._rise, self._upper - made.constant["total_jct"])

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
        self._best.raise_to(round(bound) + self._made.constant["total_jct"])
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
        ended = counted(self._search, best)
        if ended.status == "INFEASIBLE":
            raise SolverError(f"cp-sat finds no plan of total_jct {self._upper}, which a plan attains")
        if ended.solution:
            best.offer(self._made.plan(ended.solution))
        if ended.bound is not None and ended.status in ("OPTIMAL", "FEASIBLE"):
            self._rise(ended.bound)


def parameters(limits: Limits) -> Any:
    """CP-SAT's parameters for cutting planes."""
    chosen = within(dataclasses.replace(limits, threads=1)).parameters
    chosen.use_pb_resolution = True
    # Presolve and the linear relaxation make constraints that cutting planes cannot use.
    chosen.cp_model_presolve, chosen.linearization_level = False, 0
    return chosen


def searched(search: Apart) -> Ended:
    """Run a search, whose model must be valid."""
    ended = search.run()
    if ended.status == "MODEL_INVALID":
        raise SolverError("cp-sat calls a model for cutting planes invalid")
    return ended


def counted(search: Apart, best: Best) -> Ended:
    """Run a search and count its work."""
    ended = searched(search)
    best.spend(ended.work)
    if ended.status == "ABORTED":
        best.work["aborted_proofs"] = best.work.get("aborted_proofs", 0.0) + 1
    return ended
