"""A rule: the largest job first, to the machine with the least load (LPT, Graham 1969)."""

import numpy as np

from balance.instances import Instance, Plan
from mlsched.core.registry import solver


@solver("lpt", problem="balance", paper="Graham 1969", warm_start=True)
def lpt(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Place the largest job first, on the machine with the least load; its own machine wins a tie."""
    load, machine = [0] * instance.machines, instance.before.tolist()
    for j in np.argsort(-instance.work, kind="stable").tolist():
        machine[j] = min(range(instance.machines), key=lambda m: (load[m], m != instance.before[j], m))
        load[machine[j]] += int(instance.work[j])
    return Plan(machine=machine)
