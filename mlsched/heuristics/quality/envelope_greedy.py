"""Greedy on the concave envelopes of the gains: jumps of several cores, by gain per core.

Ours, not the paper's. Algorithm 1 looks one core ahead; where gains are not concave (whole iterations, caps of O(1/k^2)
curves) this rule looks at every number of cores and takes the jump of the highest gain per core. All jumps above the
price at which they no longer fit are taken at once; the cores that remain go, one jump after another, to the best that
still fits. The loss against the optimum is below the value of a single jump. Cores that bring nothing stay unused.
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
    """Jumps of several cores, the highest gain per core first."""
    problem = choices(instance)
    _, bought = clearing_price(problem)
    return instance.plan(fill(problem, bought) + instance.least)
