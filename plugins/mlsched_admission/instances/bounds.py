"""Bounds from the statement of the admission problem without a search."""

from __future__ import annotations

import functools

import numpy as np

from mlsched_admission.instances.instance import Instance


def _bound_of_hopeless_jobs(objective: str, instance: Instance) -> int:
    """Return the bound of jobs with a pod that fits on none of the nodes after all possible departures."""
    leaving = (instance.may > 0).any(axis=0) | (instance.unit_movable == 1)
    room = instance.node_free + instance.node_draining
    pods = leaving[instance.pod_unit]
    np.add.at(room, instance.pod_node[pods], instance.pod_demand[pods])
    waits = {
        int(job)
        for job, demand, nodes in zip(instance.shape_job, instance.shape_demand, instance.shape_nodes, strict=True)
        if not (((demand <= room) | (demand == 0)).all(axis=1) & (nodes == 1)).any()
    }
    return instance.primary(objective).weight * int(instance.waiting_weight[sorted(waits)].sum())


TRIVIAL_BOUNDS = {o.name: functools.partial(_bound_of_hopeless_jobs, o.name) for o in Instance.objectives}
