"""Greedy max-min fairness, round by round: the job with the least of its usual rate runs next, on its fastest type.

Schedulers without a solver use this instead of Gavel's program (Gandiva_fair and Gavel's own mechanism pick jobs so).
Jobs that do not fit are skipped. Ties: the older job.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


@solver("worst-served", problem="rounds", objectives=("least_served",), warm_start=True, paper="none")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Run the job with the least of its usual rate, per weight and age, in its fastest configuration; repeat."""
    room = Room(instance)
    share = instance.weight.astype(np.float64) * instance.usual * (instance.age + instance.length)
    for j in np.lexsort((-instance.age, instance.done / share)).tolist():
        room.take_fastest(j)
    return room.plan()
