"""Rules and behaviour of the iteration engine, beyond those common to the worlds of task graphs."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.params import Number, Range
from mlsched.simulation.taskgraph import options

#: Beyond this spread, uniform draws around a mean could be negative.
MOST_SPREAD = 0.57


@dataclasses.dataclass(frozen=True)
class Options(options.Options):
    """Options of the simulator `iterations` of `taskgraph`, in addition to the options of `tasks`.

    Attributes:
        usage: "demand": tasks use their demand. "drawn": use is random, and all tasks that use an overloaded resource
            slow down by (usage / capacity)^p.
        overload_power: p, the power of that slowdown, at most 5.
        usage_spread: Relative standard deviation of drawn use, around the mean of the workload.
        usage_every: Ticks between two draws.
        usage_at_start: Draw again when a task starts, moves or resumes.
        usage_seed: Seed of the draws. All schedulers meet the same use with the same seed.
        restart: Work that a job keeps when its node fails. "checkpoint": its complete iterations. "scratch": nothing.
    """

    usage: Literal["demand", "drawn"] = "demand"
    overload_power: Annotated[int, Range(1, 5)] = 1
    usage_spread: Annotated[float, Range(0, MOST_SPREAD)] = 0.2
    usage_every: Number = 60
    usage_at_start: bool = True
    usage_seed: Annotated[int, Range(0)] = 0
    restart: Literal["checkpoint", "scratch"] = "checkpoint"
