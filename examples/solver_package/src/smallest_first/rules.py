"""Suspend the smallest jobs first: for each waiting job, on the first node where that makes room."""

from __future__ import annotations

import numpy as np

import mlsched
from mlsched.instances.preemption import Instance, Plan


@mlsched.solver("smallest-first", problem="preemption", kind="heuristic", paper="none")
def answer(instance: Instance, *, rng: np.random.Generator, most: int = 3) -> Plan:
    """Suspend at most `most` jobs on a node, those with the least demand first, until a waiting job fits."""
    free = instance.node_free.astype(np.int64)
    size = (instance.job_demand / np.maximum(instance.node_capacity[instance.job_node], 1)).sum(axis=1)
    running = np.argsort(size, kind="stable")
    victims: list[int] = []
    te_node = []
    for demand in instance.te_demand:
        place, taken = -1, list[int]()
        for node in range(len(free)):
            room, taken = free[node].copy(), []
            for job in running.tolist():
                if (room >= demand).all() or len(taken) == most:
                    break
                if instance.job_node[job] == node and instance.preemptible[job] and job not in victims:
                    room = room + instance.job_demand[job]
                    taken.append(job)
            if (room >= demand).all():
                free[node], place = room - demand, node
                break
        victims += taken if place >= 0 else []
        te_node.append(place)
    return Plan(te_node=te_node, victims=sorted(victims))
