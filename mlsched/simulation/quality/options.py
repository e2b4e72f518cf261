"""The readings of the SLAQ paper that change results: one field each."""

from __future__ import annotations

import dataclasses

from mlsched.core.fields import UNLIMITED
from mlsched.core.params import one_of, within


@dataclasses.dataclass(frozen=True)
class Options:
    """How the quality world behaves.

    epoch: T, seconds ahead that the tables look. The run's `wake` says when the question is really asked: set both
        ("interval:T"). The clock counts whole seconds, so epochs below 1 s are not simulated.
    progress: what has been trained after c S core-seconds and a half: "fluid" - one iteration and a half, its loss
        between those of its neighbours; "carry" - one iteration, the rest of the work counts for the next.
    normalise: unit of the gains: "change" - the largest change of loss in one iteration so far (4.1); "range" - the
        first less the predicted final loss, the unit in which Section 6.2 reports.
    newcomer: a job that has reported no change of loss yet: "unit" - its first iteration will bring the largest change
        so far, by definition, and nothing is known beyond; "flat" - the fit of a single loss, which promises nothing.
    information: "observed" - losses are predicted from those reported so far; "oracle" - the true curve, newcomers'
        first change included.
    hints: what the scheduler makes of the jobs' target losses (Section 7): "stop" - predicted losses end there, and no
        final loss is below it; "fit" - the fitted curve approaches it as well; "unknown" - nothing.
    predictor: "fit" - weighted curve fitting; "strawman" - the last change for ever (4.2.2).
    least: fewest cores of a job that runs; jobs for which they are not there wait in arrival order.
    spare: cores that a plan leaves: "idle", or "share" - one each in turn to the running jobs below their caps.
    others: non-ML jobs hold "reservation" - what they ask for, as far as there is; "fair" - at most an equal share.
    """

    epoch: int = 3
    progress: str = "fluid"
    normalise: str = "change"
    newcomer: str = "unit"
    information: str = "observed"
    hints: str = "stop"
    predictor: str = "fit"
    least: int = 1
    spare: str = "idle"
    others: str = "reservation"

    def __post_init__(self) -> None:
        within("epoch", self.epoch, 1, 86400)
        within("least", self.least, 0, UNLIMITED)
        one_of("progress", self.progress, ("fluid", "carry"))
        one_of("normalise", self.normalise, ("change", "range"))
        one_of("newcomer", self.newcomer, ("unit", "flat"))
        one_of("information", self.information, ("observed", "oracle"))
        one_of("hints", self.hints, ("stop", "fit", "unknown"))
        one_of("predictor", self.predictor, ("fit", "strawman"))
        one_of("spare", self.spare, ("idle", "share"))
        one_of("others", self.others, ("reservation", "fair"))
