"""The readings of the FitGpp paper that change results: one field each, with the default that brings its tables."""

from __future__ import annotations

import dataclasses

from mlsched.core.fields import UNLIMITED
from mlsched.core.params import one_of, within


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
    ask_again: a TE job that was told to wait is asked for again at the next wake after some job has left a node
        ("change"; before that nothing new is possible), or at every wake ("tick").
    """

    te_first: bool = True
    preemption_limit: int = 1
    blocking: str = "all"
    elsewhere: bool = True
    during_grace: str = "work"
    snapshot: int = 180
    grace_weight: int = 4000
    asked: str = "head"
    ask_again: str = "change"

    def __post_init__(self) -> None:
        one_of("blocking", self.blocking, ("all", "be", "none"))
        one_of("during_grace", self.during_grace, ("work", "paused"))
        one_of("asked", self.asked, ("head", "all"))
        one_of("ask_again", self.ask_again, ("change", "tick"))
        within("preemption_limit", self.preemption_limit, 0, UNLIMITED)
        within("snapshot", self.snapshot, 1, 10**9)
        within("grace_weight", self.grace_weight, 0, 10**9)
