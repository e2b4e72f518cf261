"""Optimus: one worker or PS more, each time where it saves most time for what it takes.

Paper: Peng, Bao, Chen, Wu, Guo, "Optimus", EuroSys 2018, Section 4.1. Each job first gets one worker and one PS, in
arrival order; a job whose pair does not fit waits. Then the job and task of the largest marginal gain

    (predicted time to finish - the same with one task more) / amount of the task's dominant resource

is served, ties to the PS, while the best gain is not negative and the cluster's resources last. Optimus decides every
600 s; when it is asked is the run's matter (`scheduling_events`), not the rule's.

When it stops decides most of how good it is, and there are three interpretations:

- `full`, the default: it goes on with the next best task that fits, until none does. The paper stops because resources
  have run out. In its own cluster every task takes CPU cores and memory, so that when they have run out nothing fits
  any more, and all interpretations are one. On a cluster where only workers take GPUs the others stop as soon as the
  GPUs are gone and leave the cores idle that PSs would use. A baseline is taken at full strength: this is what the rule
  does where it was designed, and what others must beat.
- `misfit`: it stops when the best task does not fit, even if others would. So the program that its authors published.
- `used-up`: it stops when any resource is used up. So the sentence with which Chic describes it (Section 6.1).

What is simpler here than there: the work left and the time of an iteration are known, where Optimus fits them to loss
and speed as jobs run; the cluster is one pool, where Section 4.2 places tasks on servers; stragglers and unbalanced PSs
(Section 5) do not occur. The amount of the dominant resource is in the units of the instance, as in the authors'
program: GPUs for one task and cores for another, so that the order of jobs depends on the units in which resources are
counted; `amount=share` does not. The dominant resource is the first of equals.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers._climb import STOPS, climb, dominant_amounts
from mlsched.heuristics.workers._room import Room
from mlsched.instances.workers import Instance, Plan


@solver("optimus", problem="workers", objectives=("total_jct",), paper="Optimus Section 4.1")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    stop: Annotated[str, STOPS] = "full",
    at_zero: bool = True,
    amount: Literal["units", "share"] = "units",
) -> Plan:
    """One task at a time where it saves most for what it takes of its dominant resource.

    stop: "full" (nothing fits any more), "misfit" (the chosen task does not fit) or "used-up" (some resource is used
    up; until then tasks that do not fit are passed over). at_zero: go on while the best gain is 0, stop below. amount:
    of the dominant resource in "units" or as "share" of the capacity.
    """
    room = Room(instance)
    room.start()
    climb(room, dominant_amounts(room, share=amount == "share"), stop=stop, at_zero=at_zero)
    return room.plan()
