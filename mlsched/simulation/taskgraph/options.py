"""What the task-graph world allows and tells its schedulers: one field each."""

from __future__ import annotations

import dataclasses
from typing import Literal

from mlsched.core.arguments import ValidatedFields


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """How the task-graph world behaves.

    pausing: "none" - a run, once started, goes on to its end; "keep" - a paused run goes on later with the work it has
        done; "restart" - it starts again from nothing. Jobs can be held up between two iterations in any case.
    movement: "given" - what the workload says ("none" or "between_iterations"; of a log "anytime", where runs may
        pause, and "none" where they may not); or one of these, or "anytime" - runs may go on elsewhere, and migrate
        while they run. Each of both costs the `pause_cost` of the workload or, by iterations, of the job.
    asked: "choice" - at events at which something could start, pause or move; "events" - at every event.
    information: "observed" - durations are estimates until a task has run once; "oracle" - they are the true ones.
    """

    pausing: Literal["none", "keep", "restart"] = "none"
    movement: Literal["given", "none", "between_iterations", "anytime"] = "given"
    information: Literal["observed", "oracle"] = "observed"
    asked: Literal["choice", "events"] = "choice"
