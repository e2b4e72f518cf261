"""A bound that the statement of the workers problem gives without a search."""

from __future__ import annotations

import numpy as np

from mlsched.instances.workers.instance import Instance


def total_jct(instance: Instance) -> int:
    """Every job has the workers and PSs with which it is fastest, as if there were enough; or waits if that is less."""
    fastest = instance.cost.min(axis=(1, 2), initial=np.iinfo(np.int64).max)
    return int(np.minimum(fastest, instance.waiting).sum())


TRIVIAL_BOUNDS = {"total_jct": total_jct}
