"""What the iteration engine allows and how it behaves, beyond what the worlds of task graphs have in common."""

from __future__ import annotations

import dataclasses

from mlsched.core.params import one_of, within
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
    """

    usage: str = "demand"
    usage_spread: float = 0.2
    usage_every: int = 60
    usage_at_start: bool = True
    usage_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("usage", self.usage, ("demand", "drawn"))
        within("usage_spread", self.usage_spread, 0, MOST_SPREAD)
        within("usage_every", self.usage_every, 1)
        within("usage_seed", self.usage_seed, 0)
