"""Optimus: repeatedly add the worker or PS that saves most time per unit of its dominant resource.

Paper: Peng, Bao, Chen, Wu, Guo, "Optimus", EuroSys 2018, Section 4.1. Each job first gets one worker and one PS, in
arrival order; a job whose pair does not fit waits. Then the job and task of the largest marginal gain

    (predicted time to finish - the same with one task more) / amount of the task's dominant resource

is served, ties to the PS, while the best gain is not negative and the cluster's resources last. Optimus decides every
600 s; here the run sets the decision times (`scheduling_events`).

The stopping rule has the largest effect on the result. There are three interpretations:

- `full`, the default: it continues with the next best task that fits, until none does. The paper stops because
  resources have run out. In its own cluster every task takes CPU cores and memory, so all interpretations are equal
  there. On a cluster in which only workers take GPUs, the others stop as soon as the GPUs are used and leave idle
  cores that PSs could use. A baseline is taken at full strength: this is the rule's behaviour on the cluster of its
  design, which others must beat.
- `misfit`: it stops when the best task does not fit, even if others would. The authors' published program does this.
- `used-up`: it stops when any resource is used up, as Chic describes it (Section 6.1).

Simplifications: the remaining work and the time of an iteration are known; Optimus fits them to loss and speed as
jobs run. The cluster is one pool; Section 4.2 places tasks on servers. Stragglers and unbalanced PSs (Section 5) do
not occur. The amount of the dominant resource is in the units of the instance, as in the authors' program: GPUs for
one task and cores for another. So the order of jobs depends on the units of the resources; `amount=share` removes
this dependence. Of equal resources, the first is dominant.
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
    """Give one task at a time to the job that saves most per unit of the task's dominant resource.

    stop: "full" (until all tasks fail to fit), "misfit" (the chosen task does not fit) or "used-up" (some resource is
    used up; until then tasks that do not fit are skipped). at_zero: continue while the best gain is 0, stop below.
    amount: of the dominant resource in "units" or as "share" of the capacity.
    """
    room = Room(instance)
    room.start()
    climb(room, dominant_amounts(room, share=amount == "share"), stop=stop, at_zero=at_zero)
    return room.plan()
