"""Interpretations of the FitGpp paper that change results: a field each, with the default that brings its tables."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
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
    ask_again: a TE job that was told to wait is asked for again at the next scheduling event after some job has left a
        node ("change"; before that nothing new is possible), or at every scheduling event ("tick").
    """

    te_first: bool = True
    preemption_limit: Annotated[int, Range(0, UNLIMITED)] = 1
    blocking: Literal["all", "be", "none"] = "all"
    elsewhere: bool = True
    during_grace: Literal["work", "paused"] = "work"
    snapshot: Annotated[int, Range(1, 10**9)] = 180
    grace_weight: Annotated[int, Range(0, 10**9)] = 4000
    asked: Literal["head", "all"] = "head"
    ask_again: Literal["change", "tick"] = "change"
