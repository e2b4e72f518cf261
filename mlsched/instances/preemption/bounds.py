"""Bounds that the statement of the preemption problem gives without a search."""

from __future__ import annotations

import functools

import numpy as np

from mlsched.instances.preemption.instance import Instance


def _deferred(objective: str, instance: Instance) -> int:
    """Count the TE jobs that fit on no node even without its preemptible jobs; they are deferred."""
    room = instance.node_free + instance.node_draining
    able = instance.preemptible
    np.add.at(room, instance.job_node[able], instance.job_demand[able])
    hopeless = sum(not (demand <= room).all(axis=1).any() for demand in instance.te_demand)
    return instance.primary(objective).weight * int(hopeless)


TRIVIAL_BOUNDS = {
    name: functools.partial(_deferred, name) for name in ("total_score", "victim_count", "max_grace_period")
}
