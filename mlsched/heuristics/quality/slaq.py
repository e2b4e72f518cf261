"""SLAQ, Algorithm 1: core by core to the job whose predicted loss falls most by one core more.

Every job that runs starts with `least` cores (lines 6 to 10; the paper: 1). Each further core goes to the job of the
largest weighted loss reduction for exactly one more core (lines 2 to 4 and 11 to 16). As printed, it stops only when
the cores are used up, so cores that bring nothing are given out too.

What is ours:
- Loss reductions come from the instance's table: normalised (4.1), rounded down to whole ppm, and never falling with
  more cores. Algorithm 1 calls the predictor for every core.
- Ties, which the paper leaves open, go to the job that arrived first.
- A job at its cap leaves the queue; the paper has no caps.
- Where there are fewer cores than jobs, the last arrivals wait; line 8 of the algorithm would go below zero.
- The weight of a job multiplies its loss reduction (4.3, "prioritize jobs").
- The sentence "the scheduler prefers jobs with highest value of dl_j/a_j" (4.3) is not followed: the gain per core of
  all a_j cores is not the gain of one core more, by which Algorithm 1 orders its queue.

Looking one core ahead is optimal where gains are concave and not otherwise: with whole iterations a single core often
completes nothing, and the job is passed over for good (docs/problems/quality.md).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.quality._select import select
from mlsched.instances.quality import Instance, Plan


@solver("slaq", problem="quality", objectives=("total_loss_reduction",), warm_start=True, paper="SLAQ, Algorithm 1")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Each core to the job of the largest predicted loss reduction from one core more."""
    return instance.plan(select(instance, instance.gain, differences=True))
