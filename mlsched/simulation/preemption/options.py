"""Interpretations of the FitGpp paper that change results: one field each; the defaults reproduce its tables."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """Options of the simulator of `preemption`.

    Attributes:
        te_first: Serve TE jobs before all others. False: one queue for both kinds, as the paper's FIFO.
        preemption_limit: P, how often a BE job may be preempted.
        blocking: The jobs that a TE job blocks while its victims stop. "all": every job behind it. "be": BE jobs only.
            "none": no job; the queue continues with the resources that are not reserved.
        elsewhere: Start such a TE job on another node that has room earlier.
        during_grace: "work": a victim continues to work until it releases its resources, and may finish. "paused": it
            stops at the signal.
        snapshot: A victim without a grace period keeps its work up to the last multiple of this many seconds.
        grace_weight: s of Eq. 3 in the objective `total_score`, in thousandths.
        asked: "head": one TE job per decision, as in the paper. "all": all waiting TE jobs jointly.
        ask_again: Repeat the question for a TE job that has to wait. "change": once a job has left a node. "tick": at
            every scheduling event.
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
