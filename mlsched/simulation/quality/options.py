"""Interpretations of the SLAQ paper that change results: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """Options of the simulator of `quality`.

    Attributes:
        epoch: T, the seconds that the tables look ahead. Set `scheduling_events` to the same interval.
        progress: Work of 1.5 iterations counts as "fluid": 1.5 iterations, with an interpolated loss. "carry": one
            iteration; the remaining work counts for the next.
        normalise: Unit of the gains. "change": the largest change of the loss in one iteration so far (Section 4.1).
            "range": first minus predicted final loss (Section 6.2).
        newcomer: Gain of a job that has not reported a change of its loss. "unit": its first iteration gains 1, further
            iterations 0. "flat": 0, as the fit of one loss predicts.
        information: "observed": predict losses from reported losses. "oracle": use the true curve.
        hints: Use of target losses (Section 7). "stop": predicted losses end at the target. "fit": the fitted curve
            approaches it as well. "unknown": ignore targets.
        predictor: "fit": weighted curve fitting. "strawman": repeat the last change (the baseline of Section 4.2.2).
        least: Fewest cores of a running job. Jobs for which there are too few cores wait in order of arrival.
        spare: Cores that a plan leaves. "idle": unused. "share": one each in turn to jobs below their caps.
        others: Jobs without machine learning. "reservation": they get their request (Section 4.3). "fair": at most an
            equal share.
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
