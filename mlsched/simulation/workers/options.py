"""Interpretations of the Chic paper that change the results of a run: one field each."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range


@dataclasses.dataclass(frozen=True)
class Options(ValidatedFields):
    """Options of the simulator of `workers`.

    Attributes:
        window: I, the number of jobs in a decision, in order of arrival; 0: all. Other jobs wait, and their arrivals
            cause no decision while the window is full (Chic, Section 4.2).
        floor: Jobs that lose the iteration in progress when shares change. "always": every job (Eq. 7). "changed":
            jobs whose numbers change. "never": no job, except for less than a thousandth of an iteration.
    """

    window: Annotated[int, Range(0, UNLIMITED)] = 0
    floor: Literal["always", "changed", "never"] = "always"
