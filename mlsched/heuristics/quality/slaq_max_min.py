"""SLAQ's max-min variant (Section 4.3, "maximizing the minimum quality"): each core to the job of the LARGEST loss.

The paper prints i = argmin_j Loss_j for the job that gets the next core, against its own text ("the only way we can
improve it is to reduce the loss value" of "the worst job"): the worst job is the argmax, and that is what is built.
Every job that runs starts with `least` cores; ties go to the job that arrived first; a job at its cap leaves the
queue, though the worst loss can then fall no further. Optimal for `worst_loss` (proof in docs/quality.md).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.quality._select import select
from mlsched.instances.quality import Instance, Plan


@answerer("slaq-max-min", problem="quality", objectives=("worst_loss",), warm_start=True, paper="SLAQ Section 4.3")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Each core to the job of the largest predicted loss (weighted)."""
    return instance.plan(select(instance, instance.loss, differences=False))
