"""The readings of the FitGpp paper that change results: one field each, with the default that brings its tables."""

from __future__ import annotations

import dataclasses

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED


@dataclasses.dataclass(frozen=True)
class Options:
    """How the preemption world behaves.

    te_first: TE jobs go to the top of the queue (False: one queue for both kinds, the paper's FIFO).
    preemption_limit: P, how often a BE job may be preempted.
    blocking: what a TE job that waits for its victims holds up: "all" - every job behind it; "be" - BE jobs, while
        later TE jobs pass; "none" - nobody: its node's room is reserved and the queue goes on with the rest.
    elsewhere: such a TE job may start on another node that has room before its victims are gone.
    during_grace: "work" - a victim's work counts until it releases (it may even finish); "paused" - it stops at the
        signal.
    snapshot: a victim without grace period rewinds to its last multiple of so many seconds of work.
    grace_weight: s of Eq. 3 in the instances' `total_score`, thousandths.
    asked: "head" - one TE job a decision, as the paper; "all" - all waiting TE jobs jointly.
    """

    te_first: bool = True
    preemption_limit: int = 1
    blocking: str = "all"
    elsewhere: bool = True
    during_grace: str = "work"
    snapshot: int = 180
    grace_weight: int = 4000
    asked: str = "head"

    def __post_init__(self) -> None:
        for name, choices in (("blocking", ("all", "be", "none")), ("during_grace", ("work", "paused")),
                              ("asked", ("head", "all"))):  # fmt: skip
            if getattr(self, name) not in choices:
                raise InvalidInput(f"{name} = {getattr(self, name)!r}: must be one of {', '.join(choices)}")
        for name, low, high in (("preemption_limit", 0, UNLIMITED), ("snapshot", 1, 10**9), ("grace_weight", 0, 10**9)):
            if not low <= getattr(self, name) <= high:
                raise InvalidInput(f"{name} = {getattr(self, name)}: must be between {low} and {high}")
