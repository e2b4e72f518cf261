"""Random horizons: a cluster full of BE jobs with more in the queue, and TE jobs that arrive as a Poisson process.

Demands, execution times and grace periods follow the FitGpp workload (calibration Z). Presets are frozen: measurements
and tests quote them by name; never change one, add another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Generator, Preset
from mlsched.core.params import Count, CountOrNone, Positive, Range
from mlsched.instances.preemption._state import te_demand
from mlsched.instances.preemption.demand import (
    BE_DEMAND,
    BE_MINUTES,
    GRACE_MINUTES,
    NODE,
    RESOURCES,
    TE_MINUTES,
    draw_demand,
    truncated_normal,
)
from mlsched.instances.preemption.horizon import MOST_PREEMPTIONS, Horizon

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("run-small", "a run on 2 nodes: enumeration takes seconds", {"nodes": 2, "jobs": 7, "tes": 2}),
        Preset("run", "a run on 2 nodes, TE jobs as in the paper", {"nodes": 2, "jobs": 10, "tes": 6}),
        Preset("run-large-te", "the same, TE demands doubled", {"nodes": 2, "jobs": 10, "tes": 6, "te_scale": 2.0}),
        Preset("run-wide", "a run on 3 nodes: more victims to choose from", {"nodes": 3, "jobs": 12, "tes": 4}),
    )
}


@validate_arguments
def generate_horizon(
    rng: np.random.Generator,
    *,
    nodes: Count = 2,
    jobs: CountOrNone = 10,
    tes: CountOrNone = 6,
    gap: Positive = 5.0,
    te_scale: Annotated[float, Range(0, 1000)] = 1.0,
    limit: Annotated[int, Range(0, MOST_PREEMPTIONS)] = 1,
    during_grace: Literal["work", "paused"] = "work",
) -> Horizon:
    """Draw a horizon.

    Args:
        rng: Source of randomness.
        nodes: Number of nodes.
        jobs: Number of BE jobs, all submitted at time 0.
        tes: Number of TE jobs.
        gap: Mean minutes between TE jobs; the first comes after such a gap, when the nodes are full.
        te_scale: Factor on TE demands.
        limit: P, the preemption limit.
        during_grace: "work" or "paused", see `Horizon`.
    """
    te = np.array([0] * jobs + [1] * tes, dtype=np.int64)
    arrival = np.cumsum(rng.exponential(60 * gap, tes))
    execution = [truncated_normal(rng, *BE_MINUTES, jobs), truncated_normal(rng, *TE_MINUTES, tes)]
    demand = [draw_demand(rng, BE_DEMAND, jobs), te_demand(rng, tes, te_scale)]
    return Horizon(
        resources=RESOURCES,
        node_capacity=np.tile(np.array(NODE, dtype=np.int64), (nodes, 1)),
        submit=np.concatenate([np.zeros(jobs), np.rint(arrival)]).astype(np.int64),
        te=te,
        execution=np.maximum(np.rint(np.concatenate(execution) * 60), 1).astype(np.int64),
        demand=np.concatenate(demand),
        grace=(np.ceil(truncated_normal(rng, *GRACE_MINUTES, jobs + tes)) * 60).astype(np.int64),
        preemption_limit=limit,
        during_grace=during_grace,
    )


HORIZONS = (Generator(generate_horizon, PRESETS),)
