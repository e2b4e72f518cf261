"""Fair: equal shares of the cores, the baseline of the paper's evaluation (Section 6.1).

"Work-conserving", it "evenly divides available resources to all active jobs" and "dynamically adjusts" when jobs come
and go. Our additions:
- Cores above a job's cap are shared among the others; the paper does not have caps.
- If the cores do not divide evenly, the jobs that arrived first get one core more.
- Shares are adjusted at the decisions of the clock, with the paper's epochs as for SLAQ;
  `scheduling_events=events+interval:3` also adjusts both when jobs come and go.
- Weights are ignored: the paper's baseline does not have any.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.instances.quality import Instance, Plan


@solver("fair", problem="quality", paper="SLAQ Section 6.1")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Give equal shares under the caps, without idle cores (not recommended: no better than cores at random)."""
    caps = instance.most[instance.running]
    # The highest level that fits: every job gets it, or its cap.
    low, high = instance.least, int(caps.max(initial=instance.least))
    while low < high:
        level = (low + high + 1) // 2
        if int(np.minimum(caps, level).sum()) <= instance.available:
            low = level
        else:
            high = level - 1
    shares = np.minimum(caps, low)
    more = np.flatnonzero(caps > low)[: max(0, instance.available - int(shares.sum()))]
    shares[more] += 1
    return instance.plan(shares)
