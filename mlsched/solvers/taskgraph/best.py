"""What the steps of an exact search know and may still spend; searches on several threads share it."""

from __future__ import annotations

import dataclasses
import threading
import time

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.backends.limits import WORK


class Best:
    """The best plan and the best bound so far, and the limits, of which the clock started at `started`."""

    def __init__(
        self,
        layout: Layout,
        limits: Limits,
        started: float,
        objective: str = "total_jct",
        stopped: threading.Event | None = None,
    ) -> None:
        self._stopped = stopped
        self.layout, self.limits, self.started, self.objective = layout, limits, started, objective
        self.work: dict[str, float] = {WORK: 0.0}
        self.plan: Timetable | None = None
        self.upper: int | None = None
        self.lower = 0
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether the plan is proved to be best."""
        return self.upper is not None and self.lower >= self.upper

    @property
    def plan_value(self) -> int:
        """The value of the best plan, where there is one."""
        assert self.upper is not None
        return self.upper

    def raise_to(self, bound: int) -> None:
        """No plan that is better than the best known has a value below `bound`."""
        with self._lock:
            # A relaxation of plans of at most `upper` may prove more than that, when there is none better.
            self.lower = max(self.lower, bound if self.upper is None else min(bound, self.upper))

    def offer(self, plan: Timetable) -> None:
        """A plan that the judge values; it is kept when it is better."""
        value = self.layout.instance.evaluate(plan)[self.objective]
        with self._lock:
            if self.upper is None or value < self.upper:
                self.plan, self.upper = plan, value

    def spend(self, work: float) -> None:
        """Count deterministic time."""
        with self._lock:
            self.work[WORK] += work

    def left(self, share: float = 1.0) -> Limits:
        """A share of the limits, no more than what is left of them."""
        seconds, work = self.limits.seconds, self.limits.work
        if seconds is not None:
            seconds = max(1e-3, min(share * seconds, seconds - (time.perf_counter() - self.started)))
        if work is not None:
            work = max(1e-3, min(share * work, work - self.work[WORK]))
        return dataclasses.replace(self.limits, seconds=seconds, work=work)

    @property
    def over(self) -> bool:
        """Whether a limit is reached, or whoever asked wants no more."""
        if self._stopped is not None and self._stopped.is_set():
            return True
        seconds, work = self.limits.seconds, self.limits.work
        late = seconds is not None and time.perf_counter() - self.started >= seconds
        return late or (work is not None and self.work[WORK] >= work)
