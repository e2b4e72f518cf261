"""SLAQ, Algorithm 1: core by core to the job whose predicted loss falls most by one core more.

Every job that runs starts with `least` cores (the paper: 1). Each further core goes to the job of the largest weighted
loss reduction for exactly one more core; ties, which the paper leaves open, go to the job that arrived first. As
printed, it stops only when the cores are used up, so cores that bring nothing are given out too; a job at its cap
(caps are not in the paper) leaves the queue.

Looking one core ahead is optimal where gains are concave and not otherwise: with whole iterations a single core often
completes nothing, and the job is passed over for good (docs/quality.md).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.quality._select import select
from mlsched.instances.quality import Instance, Plan


@answerer("slaq", problem="quality", objectives=("total_loss_reduction",), warm_start=True, paper="SLAQ, Algorithm 1")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Each core to the job of the largest predicted loss reduction from one core more."""
    return instance.plan(select(instance, instance.gain, differences=True))
