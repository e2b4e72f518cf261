"""The interpretations of the Harmony paper that change results: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """How the placement world behaves.

    most_jobs: N, most concurrent jobs. most_new: N', most jobs placed at one scheduling event.
    window: how many of the waiting jobs are in a question, in arrival order; 0: all of them.
    departure: when a job that is done leaves. "wake" - at the next scheduling event, with the default cadence the end
        of its interval: until then its servers are not free and it goes on disturbing its neighbours, so that speeds
        are those of the interval (Eq. 1); "instant" - at once: its neighbours speed up, its servers are free from the
        next wake on.
    """

    most_jobs: Annotated[int, Range(1, UNLIMITED)] = UNLIMITED
    most_new: Annotated[int, Range(1, UNLIMITED)] = UNLIMITED
    window: Annotated[int, Range(0, UNLIMITED)] = 0
    departure: Literal["scheduling_event", "instant"] = "scheduling_event"
