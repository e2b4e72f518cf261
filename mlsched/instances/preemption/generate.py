"""Random preemption instances with knobs for how hard they press.

Demands follow calibration Z of the FitGpp workload (means and standard deviations of normal distributions that are
rounded and truncated to a node; the paper prints the distributions only as an image, so these are a calibration, not
a recovery). Presets are frozen: measurements and tests quote them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlsched.core.contract import Preset
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.params import within
from mlsched.instances.preemption.instance import Instance

RESOURCES = ("cpu", "ram", "gpu")
#: One node of the paper's cluster: CPUs, GB of RAM, GPUs (Section 4.1).
NODE = (32, 256, 8)
#: (mean, standard deviation) a resource, and the smallest demand; the largest is a whole node.
BE_DEMAND = ((-1.0, 6.5), (-2.5, 26.6), (2.8, 1.0))
TE_DEMAND = ((4.4, 14.9), (73.5, 21.4), (0.34, 1.36))
LEAST = (1, 1, 0)

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("small", "brute force answers within 5 s", {"nodes": 3, "jobs": 9, "tes": 2}),
        Preset("single", "one TE job, as FitGpp asks", {"nodes": 6, "jobs": 24, "tes": 1}),
        Preset("surge", "several TE jobs compete for few nodes", {"nodes": 8, "jobs": 32, "tes": 6}),
        Preset("paper", "the paper's cluster, one TE job", {"nodes": 84, "jobs": 300, "tes": 1, "te_scale": 1.0}),
        Preset("paper-surge", "16 TE jobs at once", {"nodes": 84, "jobs": 300, "tes": 16, "te_scale": 1.0}),
        Preset(
            "exhausted", "most jobs are at the preemption limit", {"nodes": 6, "jobs": 24, "tes": 4, "limit_share": 0.7}
        ),
    )
}


def draw_demand(
    rng: np.random.Generator, kind: tuple[tuple[float, float], ...], count: int, margin: float = 0.0
) -> IntArray:
    """`count` demand vectors (count x 3): normal, rejected outside [least - margin, node + margin], rounded to nearest.

    A margin of half a unit is the same as rounding before the test.
    """
    columns = []
    for (mean, sd), low, high in zip(kind, LEAST, NODE, strict=True):
        drawn = truncated_normal(rng, mean, sd, low - margin, high + margin, count)
        columns.append(np.clip(np.rint(drawn), low, high))
    return np.stack(columns, axis=1).astype(np.int64)


def truncated_normal(
    rng: np.random.Generator, mean: float, sd: float, low: float, high: float, count: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """`count` normal draws, each drawn again while it is outside [low, high]."""
    found = rng.normal(mean, sd, count)
    while (outside := (found < low) | (found > high)).any():
        found[outside] = rng.normal(mean, sd, int(outside.sum()))
    return found


def generate(
    rng: np.random.Generator,
    *,
    nodes: int = 3,
    jobs: int = 9,
    tes: int = 2,
    saturation: float = 0.9,
    limit_share: float = 0.2,
    limit: int = 1,
    te_scale: float = 0.6,
    longest_grace: int = 20,
) -> Instance:
    """Draw an instance.

    nodes, jobs, tes: how many nodes, running BE jobs and waiting TE jobs. saturation: share of what the BE jobs leave
    free that reservations take, 0 (none) to 1 (nothing is free). limit_share: chance that a BE job is at the
    preemption limit `limit`. te_scale: factor on TE demands. longest_grace: truncation of grace periods, minutes.
    """
    for name, value, least in (("nodes", nodes, 1), ("jobs", jobs, 0), ("tes", tes, 1), ("limit", limit, 1)):
        within(name, value, least)
    within("longest_grace", longest_grace, 1)
    within("saturation", saturation, 0, 1)
    within("limit_share", limit_share, 0, 1)
    within("te_scale", te_scale, 0, 1000)
    capacity = np.tile(np.array(NODE, dtype=np.int64), (nodes, 1))
    job_node, job_demand, left = _place(rng, capacity, jobs)
    free = np.floor(left * rng.uniform(0, 1, left.shape) ** (saturation / (1.001 - saturation))).astype(np.int64)
    grace = np.ceil(truncated_normal(rng, 3, 1.25, 0, longest_grace, jobs)) * 60
    at_limit = rng.uniform(size=jobs) < limit_share
    te_demand = np.minimum(np.rint(draw_demand(rng, TE_DEMAND, tes) * te_scale).astype(np.int64), NODE)
    return Instance(
        resources=RESOURCES,
        node_capacity=capacity,
        node_free=free,
        node_draining=np.zeros_like(free),
        job_node=job_node,
        job_demand=job_demand,
        job_grace=grace.astype(np.int64),
        job_preemptions=np.where(at_limit, limit, rng.integers(0, limit, jobs)),
        job_remaining=np.rint(truncated_normal(rng, 1800, 600, 1, 86400, jobs)).astype(np.int64),
        te_demand=te_demand,
        preemption_limit=limit,
    )


def _place(rng: np.random.Generator, capacity: IntArray, jobs: int) -> tuple[IntArray, IntArray, IntArray]:
    """Put `jobs` random BE jobs on random nodes, each cut to what its node has left; also returns what stays free."""
    left = capacity.copy()
    wanted = draw_demand(rng, BE_DEMAND, jobs)
    hosts = rng.integers(0, len(capacity), jobs)
    for j in range(jobs):
        roomy = np.flatnonzero((left >= LEAST).all(axis=1))
        if roomy.size == 0:
            raise InvalidInput(
                f"jobs = {jobs}: {len(capacity)} nodes are full after {j}; ask for fewer jobs or more nodes"
            )
        if not (left[hosts[j]] >= LEAST).all():
            hosts[j] = rng.choice(roomy)
        wanted[j] = np.minimum(wanted[j], left[hosts[j]])
        left[hosts[j]] -= wanted[j]
    return hosts, wanted, left
