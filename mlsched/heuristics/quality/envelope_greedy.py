"""Greedy on the concave envelopes of the gains: jumps of several cores, by gain per core.

Ours, not the paper's. Algorithm 1 looks one core ahead. This rule looks at every number of cores and takes the jump
of the highest gain per core, which helps if gains are not concave (integer iterations, caps of O(1/k^2) curves). All
jumps above the price at which they exceed the cores are taken at once. The remaining cores go, one jump after
another, to the best jump that still fits. The loss against the optimum is below the value of a single jump. Cores
without a gain stay unused.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.formulations.quality.relaxation import choices, clearing_price, fill
from mlsched.instances.quality import Instance, Plan


@solver(
    "envelope-greedy",
    problem="quality",
    objectives=("total_loss_reduction",),
    warm_start=True,
    paper="ours, for the objective of SLAQ Section 4.3",
)
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Give jumps of several cores, the highest gain per core first."""
    problem = choices(instance)
    _, purchase = clearing_price(problem)
    return instance.plan(fill(problem, purchase) + instance.least)
