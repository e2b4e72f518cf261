"""What the steps of an exact search of one objective know and may still spend; searches on several threads share it."""

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

#: Deterministic time that is booked for each row of a model that is built, whether it is then searched or not.
BUILDING = 1e-5


class State:
    """The incumbent, the lower bound, and the limits, the time among them until `deadline`.

    Values are in minimisation form: an objective to maximise enters negated (`sign`). `stopped`, once it is set, ends
    the search as a limit does.
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
        #: Whether there is no plan at all, as is proved.
        self.infeasible = False
        #: Processes for the searches by cutting planes, one after the other; whoever made the state closes them.
        self.helpers = Helpers()
        self._stopped, self._lock = stopped, threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether the incumbent is proved to be optimal, or that there is no plan."""
        return self.infeasible or (self.upper is not None and self.lower is not None and self.lower >= self.upper)

    @property
    def incumbent(self) -> int:
        """The value of the incumbent, where there is one."""
        assert self.upper is not None
        return self.upper

    def raise_lower(self, bound: int) -> None:
        """No plan that is better than the incumbent has a value below `bound`."""
        with self._lock:
            # A relaxation of plans of at most `upper` may prove more than that, when there is none better.
            bound = bound if self.upper is None else min(bound, self.upper)
            self.lower = bound if self.lower is None else max(self.lower, bound)

    def offer(self, plan: Timetable) -> None:
        """A plan, which the judge values; it is kept when it is better than the incumbent."""
        value = self.sign * self.layout.instance.evaluate(plan)[self.objective]
        with self._lock:
            if self.upper is None or value < self.upper:
                self.plan, self.upper = plan, value

    def refuse_all(self) -> None:
        """There is no plan at all, as a solver says."""
        if self.plan is not None:
            raise SolverError("cp-sat denies that a plan exists, and a plan is known")
        self.infeasible = True

    def spend(self, work: float) -> None:
        """Book deterministic time."""
        with self._lock:
            self.work[WORK] += work

    def aborted(self) -> None:
        """Count a search that ended in one of CP-SAT's own checks."""
        with self._lock:
            self.work["aborted_proofs"] = self.work.get("aborted_proofs", 0.0) + 1

    def remaining(self, share: float = 1.0) -> Limits:
        """A share of the limits, no more than what remains of them."""
        limit, seconds, work = self.limits.seconds, self.seconds(), self.limits.work
        if limit is not None and seconds is not None:
            seconds = max(1e-3, min(share * limit, seconds))
        if work is not None:
            work = max(1e-3, min(share * work, work - self.work[WORK]))
        return dataclasses.replace(self.limits, seconds=seconds, work=work)

    def at_most(self, work: float | None) -> Limits:
        """What remains of the limits, and of it no more than so much deterministic time (None: all)."""
        remaining = self.remaining()
        if work is None:
            return remaining
        return dataclasses.replace(remaining, work=work if remaining.work is None else min(work, remaining.work))

    def seconds(self) -> float | None:
        """Wall seconds that remain, 0 or less when they are over; None without a limit."""
        return self.deadline.remaining()

    @property
    def over(self) -> bool:
        """Whether a limit is reached, or whoever asked wants no more."""
        if self._stopped is not None and self._stopped.is_set():
            return True
        work = self.limits.work
        return self.deadline.passed() or (work is not None and self.work[WORK] >= work)

    @property
    def done(self) -> bool:
        """Whether nothing more is to be done: closed, or over."""
        return self.closed or self.over

    def outcome(self) -> Outcome:
        """What is known, in the objective's own sense."""
        if self.infeasible:
            return Outcome("infeasible", None, None, "proof", self.work)
        bound = None if self.lower is None else self.sign * self.lower
        if self.closed:
            return Outcome("optimal", self.plan, bound, "proof", self.work)
        stopped = stopped_by(False, self.limits, self.work)
        # A bound without a plan is not reported.
        if self.plan is None:
            return Outcome("unknown", None, None, stopped, self.work)
        return Outcome("feasible", self.plan, bound, stopped, self.work)
