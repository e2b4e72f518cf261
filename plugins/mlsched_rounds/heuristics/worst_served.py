"""Greedy max-min fairness, round by round: whoever has had least of his usual rate runs next, on his fastest type.

What schedulers without a solver do instead of Gavel's program (Gandiva_fair and Gavel's own mechanism pick jobs so).
Jobs that do not fit are passed over. Ties: the older job.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


@solver("worst-served", problem="rounds", objectives=("least_served",), warm_start=True, paper="none")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """The job that has had least of its usual rate, per weight and age, runs next, in its fastest configuration."""
    room = Room(instance)
    share = instance.weight.astype(np.float64) * instance.usual * (instance.age + instance.length)
    for j in np.lexsort((-instance.age, instance.done / share)).tolist():
        room.take_fastest(j)
    return room.plan()
