"""SLAQ's max-min variant (Section 4.3, "maximizing the minimum quality"): each core to the job of the LARGEST loss.

The paper prints i = argmin_j Loss_j for the job that gets the next core, against its own text ("the only way we can
improve it is to reduce the loss value" of "the worst job"). The worst job is the argmax, which is implemented here.

Our other additions:
- Losses of different jobs are compared as in 6.2: 1 at a job's start and 0 at its final loss, which is predicted.
  Section 4.1 normalises only changes of losses, and 4.3 does not define the compared losses.
- The weight of a job multiplies its loss, as weights do in weighted max-min fairness (4.3).
- Every running job starts with `least` cores (the paper: 1), jobs beyond the cores wait, and ties go to the job that
  arrived first.
- A job at its cap leaves the queue, though the worst loss then cannot fall further; the paper does not have caps.

Optimal for `worst_loss` (proof in research/notes/quality.md).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.quality._select import select
from mlsched.instances.quality import Instance, Plan


@solver("slaq-max-min", problem="quality", objectives=("worst_loss",), warm_start=True, paper="SLAQ Section 4.3")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Give each core to the job of the largest predicted loss (weighted)."""
    return instance.plan(select(instance, instance.loss, differences=False))
