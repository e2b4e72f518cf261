"""Rules of the task-graph world and information of its schedulers: one field each."""

from __future__ import annotations

import dataclasses
from typing import Literal

from mlsched.core.arguments import ValidatedFields


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """Options of the simulator `tasks` of `taskgraph`.

    Attributes:
        pausing: "none": a started run continues to its end. "keep": a paused run resumes with its work. "restart": it
            loses its work. A job can always wait between two iterations.
        movement: Nodes on which runs may resume. "given": as the workload states (for logs "anytime" with pauses, else
            "none"). "none", "between_iterations", or "anytime", which also allows migration. Moves cost `pause_cost`.
        asked: "choice": call the scheduler at events at which something could start, pause or move. "events": at all.
        information: "observed": durations are estimates until a task has run once. "oracle": true durations.
    """

    pausing: Literal["none", "keep", "restart"] = "none"
    movement: Literal["given", "none", "between_iterations", "anytime"] = "given"
    information: Literal["observed", "oracle"] = "observed"
    asked: Literal["choice", "events"] = "choice"
