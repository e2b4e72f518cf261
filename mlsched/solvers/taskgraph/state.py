"""State of an exact search of one objective: results and remaining limits, shared by all threads."""

from __future__ import annotations

import dataclasses
import threading

from mlsched.core.deadline import Deadline
from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.backends.limits import WORK, stopped_by
from mlsched.solvers.backends.process import Helpers

#: Deterministic time that is charged for each row of a built model, with or without a search.
BUILDING = 1e-5


class State:
    """The incumbent, the lower bound, and the limits, including the time until `deadline`.

    Values are minimised: an objective to maximise is negated (`sign`). When `stopped` is set, it ends
    the search like a limit.
    """

    def __init__(
        self, layout: Layout, objective: str, limits: Limits, deadline: Deadline, stopped: threading.Event | None = None
    ) -> None:
        self.layout, self.objective, self.limits, self.deadline = layout, objective, limits, deadline
        self.sign = 1 if layout.instance.objective(objective).sense == "min" else -1
        self.work: dict[str, float] = {WORK: 0.0}
        self.plan: Timetable | None = None
        self.upper: int | None = None
        self.lower: int | None = None
        #: Whether the instance is proved infeasible.
        self.infeasible = False
        #: Processes for the searches by cutting planes, one after the other; the creator of the state closes them.
        self.helpers = Helpers()
        self._stopped, self._lock = stopped, threading.Lock()

    @property
    def closed(self) -> bool:
        """Return whether the incumbent is proved optimal, or the instance infeasible."""
        return self.infeasible or (self.upper is not None and self.lower is not None and self.lower >= self.upper)

    @property
    def incumbent(self) -> int:
        """Return the value of the incumbent, which must exist."""
        assert self.upper is not None
        return self.upper

    def raise_lower(self, bound: int) -> None:
        """Raise the lower bound: every plan better than the incumbent has a value of at least `bound`."""
        with self._lock:
            # A relaxation restricted to plans of at most `upper` may prove more, if it is infeasible.
            bound = bound if self.upper is None else min(bound, self.upper)
            self.lower = bound if self.lower is None else max(self.lower, bound)

    def offer(self, plan: Timetable) -> None:
        """Offer a plan, which the judge values; keep it if it is better than the incumbent."""
        value = self.sign * self.layout.instance.evaluate(plan)[self.objective]
        with self._lock:
            if self.upper is None or value < self.upper:
                self.plan, self.upper = plan, value

    def refuse_all(self) -> None:
        """Record a solver's proof of infeasibility."""
        if self.plan is not None:
            raise SolverError("cp-sat denies that a plan exists, and a plan is known")
        self.infeasible = True

    def spend(self, work: float) -> None:
        """Charge deterministic time."""
        with self._lock:
            self.work[WORK] += work

    def aborted(self) -> None:
        """Count a search that ended in one of CP-SAT's own checks."""
        with self._lock:
            self.work["aborted_proofs"] = self.work.get("aborted_proofs", 0.0) + 1

    def remaining(self, share: float = 1.0) -> Limits:
        """Return a share of the limits, at most the remaining limits."""
        limit, seconds, work = self.limits.seconds, self.seconds(), self.limits.work
        if limit is not None and seconds is not None:
            seconds = max(1e-3, min(share * limit, seconds))
        if work is not None:
            work = max(1e-3, min(share * work, work - self.work[WORK]))
        return dataclasses.replace(self.limits, seconds=seconds, work=work)

    def at_most(self, work: float | None) -> Limits:
        """Return the remaining limits with at most `work` deterministic time (None: all)."""
        remaining = self.remaining()
        if work is None:
            return remaining
        return dataclasses.replace(remaining, work=work if remaining.work is None else min(work, remaining.work))

    def seconds(self) -> float | None:
        """Return the remaining wall seconds, 0 or less at the end; None without a limit."""
        return self.deadline.remaining()

    @property
    def over(self) -> bool:
        """Return whether a limit is reached, or the caller has stopped the search."""
        if self._stopped is not None and self._stopped.is_set():
            return True
        work = self.limits.work
        return self.deadline.passed() or (work is not None and self.work[WORK] >= work)

    @property
    def done(self) -> bool:
        """Return whether the search is closed or over."""
        return self.closed or self.over

    def outcome(self) -> Outcome:
        """Return the result, in the objective's own sense."""
        if self.infeasible:
            return Outcome("infeasible", None, None, "proof", self.work)
        bound = None if self.lower is None else self.sign * self.lower
        if self.closed:
            return Outcome("optimal", self.plan, bound, "proof", self.work)
        reason = stopped_by(False, self.limits, self.work)
        # A bound without a plan is not reported.
        if self.plan is None:
            return Outcome("unknown", None, None, reason, self.work)
        return Outcome("feasible", self.plan, bound, reason, self.work)
