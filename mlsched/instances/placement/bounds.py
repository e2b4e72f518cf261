"""A bound that the statement of the placement problem gives without a search."""

from __future__ import annotations

import numpy as np

from mlsched.instances.placement.instance import Instance


def total_speed(instance: Instance) -> int:
    """Bound the total speed: no job slows down another, and the fastest new jobs are placed, as many as allowed."""
    places = max(0, min(instance.most_new, instance.most_jobs - len(instance.run_speed)))
    fastest = np.sort(instance.job_speed)[::-1][:places]
    return int(instance.run_speed.sum() + fastest.sum())


TRIVIAL_BOUNDS = {"total_speed": total_speed}
