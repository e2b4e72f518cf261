"""Preemption instances whose scores and optima were worked out by hand.

`small()`: two nodes of 8 cpu and 4 gpu. Sizes (Eq. 1) of the three jobs: sqrt(1/2), 5/8, sqrt(9/8); divided by the
largest: 2/3, 0.5892557, 1. With s = 4 and grace periods 60, 120, 0 (Eq. 3): 2.666667, 4.589256, 1.

    node 0: free (1, 0), job 0 (4, 2) grace 60, job 1 (3, 2) grace 120
    node 1: free (2, 1), job 2 (6, 3) grace 0
"""

from __future__ import annotations

from mlsched.instances.preemption import Instance

SCORES = [2_666_667, 4_589_256, 1_000_000]
#: D of each objective: one more than all three jobs together.
WAITING = {"total_score": 1 + sum(SCORES), "victim_count": 4, "max_grace_period": 121}

SMALL = {
    "resources": ["cpu", "gpu"],
    "node_capacity": [[8, 4], [8, 4]],
    "node_free": [[1, 0], [2, 1]],
    "node_draining": [[0, 0], [0, 0]],
    "job_node": [0, 0, 1],
    "job_demand": [[4, 2], [3, 2], [6, 3]],
    "job_grace": [60, 120, 0],
    "job_preemptions": [0, 0, 0],
    "job_remaining": [100, 300, 200],
    "te_demand": [[5, 2]],
}


def small(**changes) -> Instance:
    """The instance of this module's docstring, with some fields changed."""
    return Instance(**{**SMALL, **changes})


def row(loads: list[int], demands: list[int], grace: list[int] | None = None, **changes) -> Instance:
    """One resource, two full nodes: jobs 0, 1, ... of the given loads on node 0, then as many of the same on node 1."""
    k = len(loads)
    fields = {
        "resources": ["gpu"],
        "node_capacity": [[sum(loads)], [sum(loads)]],
        "node_free": [[0], [0]],
        "node_draining": [[0], [0]],
        "job_node": [0] * k + [1] * k,
        "job_demand": [[load] for load in loads * 2],
        "job_grace": grace or [0] * (2 * k),
        "job_preemptions": [0] * (2 * k),
        "job_remaining": [60] * (2 * k),
        "te_demand": [[d] for d in demands],
    }
    return Instance(**{**fields, **changes})
