"""What the task-graph world allows and tells its schedulers: one field each."""

from __future__ import annotations

import dataclasses

from mlsched.core.params import one_of


@dataclasses.dataclass(frozen=True)
class Options:
    """How the task-graph world behaves.

    pausing: "none" - a run, once started, goes on to its end; "keep" - a paused run goes on later with the work it has
        done; "restart" - it starts again from nothing. Jobs can be held up between two iterations in any case.
    movement: "given" - what the workload's horizon says ("none" or "between_iterations"); or one of these, or
        "anytime" - runs may also migrate while they run.
    information: "observed" - durations are estimates until a task has run once; "oracle" - they are the true ones.
    """

    pausing: str = "none"
    movement: str = "given"
    information: str = "observed"

    def __post_init__(self) -> None:
        one_of("pausing", self.pausing, ("none", "keep", "restart"))
        one_of("movement", self.movement, ("given", "none", "between_iterations", "anytime"))
        one_of("information", self.information, ("observed", "oracle"))
