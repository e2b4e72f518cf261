"""How long all other jobs take: windows of starts for total_jct, where critical paths leave them wide.

In a plan of total_jct at most U a job completes by U less what the others take at least. That is much more than the sum
of their critical paths where they compete, and the linear relaxation of the jobs without one of them says so. The LP of
all jobs does not: its prices make a late job pay for room that the others no longer need.
"""

from __future__ import annotations

import time

from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.solvers.taskgraph.best import Best
from mlsched.solvers.taskgraph.bounds.relaxation import least_of


def narrow(best: Best, shared: list[Pool], share: float) -> None:
    """Raise `others` of the layout for plans as good as the best one known, within a share of the limits' seconds."""
    layout, upper = best.layout, best.plan_value
    seconds = best.left(share).seconds
    until = None if seconds is None else time.perf_counter() + seconds
    for j in range(layout.jobs):
        if best.closed or best.over or (until is not None and time.perf_counter() >= until):
            return
        rest = [other for other in range(layout.jobs) if other != j]
        found = least_of(layout, shared, upper, rest, None if until is None else until - time.perf_counter())
        if found is not None:
            layout.others[j] = max(layout.others[j], found)
