"""What the iteration engine allows and how it behaves, beyond what the worlds of task graphs have in common."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.params import Number, Range
from mlsched.simulation.taskgraph import options

#: Beyond this, what is drawn evenly about a mean could be below 0.
MOST_SPREAD = 0.57


@dataclasses.dataclass(frozen=True)
class Options(options.Options):
    """How the iteration engine behaves; what is not said here is as in the task engine.

    usage: "demand" - tasks use what they demand; "drawn" - what they use is drawn anew every `usage_every` ticks,
        evenly about the workload's mean use, with a relative standard deviation of `usage_spread`; where more is used
        than there is, everything slows down (`usage.py`).
    usage_at_start: whether it is drawn anew also when a task starts, moves or goes on after a pause.
    usage_seed: of the draws; one seed gives all rules the same.
    restart: what a job keeps whose node fails: "checkpoint" - its whole iterations; "scratch" - nothing.
    """

    usage: Literal["demand", "drawn"] = "demand"
    usage_spread: Annotated[float, Range(0, MOST_SPREAD)] = 0.2
    usage_every: Number = 60
    usage_at_start: bool = True
    usage_seed: Annotated[int, Range(0)] = 0
    restart: Literal["checkpoint", "scratch"] = "checkpoint"
