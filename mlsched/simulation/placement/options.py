"""Interpretations of the Harmony paper that change results: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """Options of the simulator of `placement`.

    Attributes:
        most_jobs: N, the maximum number of concurrent jobs.
        most_new: N', the maximum number of jobs placed at one scheduling event.
        window: Number of waiting jobs in a decision, in order of arrival; 0: all.
        departure: The time at which a finished job leaves. "scheduling_event": at the next scheduling event; until
            then it uses its servers and slows its neighbours, so that speeds are constant in an interval (Eq. 1).
            "instant": at once.
    """

    most_jobs: Annotated[int, Range(1, UNLIMITED)] = UNLIMITED
    most_new: Annotated[int, Range(1, UNLIMITED)] = UNLIMITED
    window: Annotated[int, Range(0, UNLIMITED)] = 0
    departure: Literal["scheduling_event", "instant"] = "scheduling_event"
