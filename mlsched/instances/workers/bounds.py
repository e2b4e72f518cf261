"""A bound that the statement of the workers problem gives without a search."""

from __future__ import annotations

import numpy as np

from mlsched.instances.workers.instance import Instance


def total_jct(instance: Instance) -> int:
    """Bound the total JCT: every job has its fastest workers and PSs, without competition, or waits if that is less."""
    fastest = instance.cost.min(axis=(1, 2), initial=np.iinfo(np.int64).max)
    return int(np.minimum(fastest, instance.waiting).sum())


TRIVIAL_BOUNDS = {"total_jct": total_jct}
