"""The interpretations of the SLAQ paper that change results: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """How the quality world behaves.

    epoch: T, seconds ahead that the tables look. The run's `scheduling_events` says when the question is really asked:
        set both ("interval:T"). The clock counts whole seconds, so epochs below 1 s are not simulated.
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

    epoch: Annotated[int, Range(1, 86400)] = 3
    progress: Literal["fluid", "carry"] = "fluid"
    normalise: Literal["change", "range"] = "change"
    newcomer: Literal["unit", "flat"] = "unit"
    information: Literal["observed", "oracle"] = "observed"
    hints: Literal["stop", "fit", "unknown"] = "stop"
    predictor: Literal["fit", "strawman"] = "fit"
    least: Annotated[int, Range(0, UNLIMITED)] = 1
    spare: Literal["idle", "share"] = "idle"
    others: Literal["reservation", "fair"] = "reservation"
