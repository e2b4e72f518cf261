"""Optimus: one worker or PS more, each time where it saves most time for what it takes.

Paper: Peng, Bao, Chen, Wu, Guo, "Optimus", EuroSys 2018, Section 4.1. Each job first gets one worker and one PS, in
arrival order. Then the job and task of the largest marginal gain

    (predicted time to finish - the same with one task more) / amount of the task's dominant resource

is served, ties to the PS, until the best gain is negative or the chosen task does not fit. Optimus decides every 600 s;
when it is asked is the run's matter (`wake`), not the rule's.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.params import one_of
from mlsched.core.registry import answerer
from mlsched.heuristics.workers._climb import STOPS, climb, dominant_amounts
from mlsched.heuristics.workers._room import Room
from mlsched.instances.workers import Instance, Plan


@answerer("optimus", problem="workers", objectives=("total_jct",), warm_start=True, paper="Optimus Section 4.1")
def answer(
    instance: Instance, *, rng: np.random.Generator, stop: str = "misfit", at_zero: bool = True, amount: str = "units"
) -> Plan:
    """One task at a time where it saves most for what it takes of its dominant resource.

    stop: "misfit" (the chosen task does not fit), "used-up" (some resource is used up; others that do not fit are
    passed over) or "full" (nothing fits any more). at_zero: go on while the best gain is 0, stop below. amount: of the
    dominant resource in "units" or as "share" of the capacity.
    """
    one_of("stop", stop, STOPS)
    one_of("amount", amount, ("units", "share"))
    room = Room(instance)
    room.start()
    climb(room, dominant_amounts(room, share=amount == "share"), stop=stop, at_zero=at_zero)
    return room.plan()
