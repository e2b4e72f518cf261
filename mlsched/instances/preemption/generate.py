"""Random preemption instances: states like the simulated clock's decisions, and harder ones.

Demands follow calibration Z of the FitGpp workload: means and standard deviations of normal distributions, rounded and
truncated to a node. The paper prints the distributions only as an image, so these are a calibration, not a recovery.
Presets are frozen: measurements and tests quote them by name.

fill="first-fit" draws a state of the simulated cluster: jobs of both kinds come, are placed first fit, and leave, until
a TE job fits nowhere. `single`, `surge`, `paper` and `paper-surge` use it; docs/problems/preemption.md compares them
with the clock's decisions. fill="packed" leaves little free and cuts BE jobs to the remaining room, so that one victim
often does not suffice: `small` and `exhausted` are harder than the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Preset
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.params import Count, CountOrNone, Range, Share
from mlsched.instances.preemption import _state
from mlsched.instances.preemption.demand import BE_DEMAND, MINIMAL, NODE, RESOURCES, draw_demand, truncated_normal
from mlsched.instances.preemption.instance import Instance

#: A state of the clock: first fit, without reservations, and FitGpp has preempted one job in a hundred.
CLOCK: Mapping[str, int | float | str] = {"fill": "first-fit", "saturation": 0.0, "limit_share": 0.01, "te_scale": 1.0}
PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("small", "brute force answers within 5 s", {"nodes": 3, "jobs": 9, "tes": 2}),
        Preset("single", "one TE job, as FitGpp asks", {"nodes": 6, "jobs": 15, "tes": 1, **CLOCK}),
        Preset("surge", "several TE jobs compete for few nodes", {"nodes": 8, "jobs": 20, "tes": 6, **CLOCK}),
        Preset("paper", "the paper's cluster, one TE job", {"nodes": 84, "jobs": 206, "tes": 1, **CLOCK}),
        Preset("paper-surge", "16 TE jobs at once", {"nodes": 84, "jobs": 206, "tes": 16, **CLOCK}),
        Preset(
            "exhausted", "most jobs are at the preemption limit", {"nodes": 6, "jobs": 24, "tes": 4, "limit_share": 0.7}
        ),
    )
}
#: fill="first-fit": execution times of the BE jobs that run at a given time, s: N(30, 10) minutes, weighted by length.
#: A uniform part of each is left.
LENGTH_BIASED = (2000.0, 566.0, 1.0, 86400.0)


@validate_arguments
def generate(
    rng: np.random.Generator,
    *,
    nodes: Count = 3,
    jobs: CountOrNone = 9,
    tes: Count = 2,
    fill: Literal["packed", "first-fit"] = "packed",
    saturation: Share = 0.9,
    limit_share: Share = 0.2,
    limit: Count = 1,
    te_scale: Annotated[float, Range(0, 1000)] = 0.6,
    longest_grace: Count = 20,
) -> Instance:
    """Draw an instance.

    Args:
        rng: Source of randomness.
        nodes: Number of nodes.
        jobs: Number of running BE jobs.
        tes: Number of waiting TE jobs.
        fill: "packed" or "first-fit", see the module's docstring. With "first-fit" the first TE job fits nowhere.
        saturation: Share of the resources not used by BE jobs that reservations take, 0 to 1 (everything is taken).
        limit: The preemption limit.
        limit_share: Probability that a BE job is at the preemption limit.
        te_scale: Factor on TE demands.
        longest_grace: Truncation of grace periods, minutes.
    """
    capacity = np.tile(np.array(NODE, dtype=np.int64), (nodes, 1))
    asking = None
    if fill == "first-fit":
        job_node, job_demand, unused, asking = _state.asking(rng, nodes, jobs, te_scale)
    else:
        job_node, job_demand, unused = _packed_nodes(rng, capacity, jobs)
    free = np.floor(unused * rng.uniform(0, 1, unused.shape) ** (saturation / (1.001 - saturation))).astype(np.int64)
    grace = np.ceil(truncated_normal(rng, 3, 1.25, 0, longest_grace, jobs)) * 60
    at_limit = rng.uniform(size=jobs) < limit_share
    te_demand = _state.te_demand(rng, tes, te_scale)
    preemptions = np.where(at_limit, limit, rng.integers(0, limit, jobs))
    if asking is None:
        remaining = truncated_normal(rng, 1800, 600, 1, 86400, jobs)
    else:
        te_demand[0] = asking
        remaining = rng.uniform(size=jobs) * truncated_normal(rng, *LENGTH_BIASED, jobs)
    return Instance(
        resources=RESOURCES,
        node_capacity=capacity,
        node_free=free,
        node_draining=np.zeros_like(free),
        job_node=job_node,
        job_demand=job_demand,
        job_grace=grace.astype(np.int64),
        job_preemptions=preemptions,
        job_remaining=np.rint(remaining).astype(np.int64),
        te_demand=te_demand,
        preemption_limit=limit,
    )


def _packed_nodes(rng: np.random.Generator, capacity: IntArray, jobs: int) -> tuple[IntArray, IntArray, IntArray]:
    """Put `jobs` random BE jobs on random nodes, each cut to the node's free room; also return the final free room."""
    remaining = capacity.copy()
    demands = draw_demand(rng, BE_DEMAND, jobs)
    hosts = rng.integers(0, len(capacity), jobs)
    for j in range(jobs):
        roomy = np.flatnonzero((remaining >= MINIMAL).all(axis=1))
        if roomy.size == 0:
            raise InvalidInput(f"jobs = {jobs}: {len(capacity)} nodes are full after {j}; use fewer jobs or more nodes")
        if not (remaining[hosts[j]] >= MINIMAL).all():
            hosts[j] = rng.choice(roomy)
        demands[j] = np.minimum(demands[j], remaining[hosts[j]])
        remaining[hosts[j]] -= demands[j]
    return hosts, demands, remaining
