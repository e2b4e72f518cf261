"""SLAQ, Algorithm 1: give each core to the job with the largest predicted loss reduction from it.

Every running job starts with `least` cores (lines 6 to 10; the paper: 1). Each further core goes to the job of the
largest weighted loss reduction for exactly one more core (lines 2 to 4 and 11 to 16). As printed, it stops only when
the cores are used up, so cores without a gain are also given out.

Our additions:
- Loss reductions come from the instance's table: normalised (4.1), rounded down to ppm, and never falling with more
  cores. Algorithm 1 calls the predictor for every core.
- Ties, which the paper leaves open, go to the job that arrived first.
- A job at its cap leaves the queue; the paper does not have caps.
- With fewer cores than jobs, the last arrivals wait; line 8 of the algorithm would become negative.
- The weight of a job multiplies its loss reduction (4.3, "prioritize jobs").
- The sentence "the scheduler prefers jobs with highest value of dl_j/a_j" (4.3) is not followed. The gain per core of
  all a_j cores differs from the gain of one more core, by which Algorithm 1 orders its queue.

Looking one core ahead is optimal if gains are concave, and not otherwise. With integer iterations, a single core
often completes no iteration, and the job is skipped permanently (docs/problems/quality.md).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.quality._select import select
from mlsched.instances.quality import Instance, Plan


@solver("slaq", problem="quality", objectives=("total_loss_reduction",), warm_start=True, paper="SLAQ, Algorithm 1")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Give each core to the job of the largest predicted loss reduction from one core more."""
    return instance.plan(select(instance, instance.gain, differences=True))
