"""The interpretations of the Chic paper that change what a run comes to: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """How the workers world behaves.

    window: I, how many jobs, the first in arrival order, are asked about; the others wait as backlog, and their
        arrivals wake nobody while the window is full (Chic, Section 4.2). 0: all jobs, as for Optimus.
    floor: what a re-schedule costs: "always" - every job loses the iteration it has started (Eq. 7), whoever decides
        and whatever he decides; "changed" - only a job whose workers or PSs change; "never" - nothing is lost but
        what lies below a thousandth of an iteration.
    """

    window: Annotated[int, Range(0, UNLIMITED)] = 0
    floor: Literal["always", "changed", "never"] = "always"
