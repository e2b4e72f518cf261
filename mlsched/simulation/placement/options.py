"""The readings of the Harmony paper that change results: one field each."""

from __future__ import annotations

import dataclasses

from mlsched.core.fields import UNLIMITED
from mlsched.core.params import one_of, within


@dataclasses.dataclass(frozen=True)
class Options:
    """How the placement world behaves.

    most_jobs: N, most concurrent jobs. most_new: N', most jobs placed at one wake.
    window: how many of the waiting jobs are in a question, in arrival order; 0: all of them.
    departure: when a job that is done leaves. "wake" - at the next wake, with the default cadence the end of its
        interval: until then its servers are not free and it goes on disturbing its neighbours, so that speeds are
        those of the interval (Eq. 1); "instant" - at once: its neighbours speed up, its servers are free from the next
        wake on.
    """

    most_jobs: int = UNLIMITED
    most_new: int = UNLIMITED
    window: int = 0
    departure: str = "wake"

    def __post_init__(self) -> None:
        within("most_jobs", self.most_jobs, 1, UNLIMITED)
        within("most_new", self.most_new, 1, UNLIMITED)
        within("window", self.window, 0, UNLIMITED)
        one_of("departure", self.departure, ("wake", "instant"))
