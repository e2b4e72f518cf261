"""Hull greedy: climb the convex hulls of all jobs at once, the largest saving per unit of priced resources first."""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.formulations.workers.columns import columns
from mlsched.heuristics.workers._hull import hull_greedy
from mlsched.instances.workers import Instance, Plan


@solver(
    "hull-greedy",
    problem="workers",
    objectives=("total_jct",),
    warm_start=True,
    paper="none; greedy for the multiple-choice knapsack (Sinha, Zoltners 1979)",
)
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Climb each job's lower convex hull of size and cost, the steepest step first, then improve single jobs."""
    choice = columns(instance)
    return choice.plan(hull_greedy(choice))
