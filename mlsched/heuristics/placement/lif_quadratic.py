"""LIF-Quad: least interference first by a quadratic model of slowdown (Harmony Section VI-B)."""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.placement import _lif
from mlsched.instances.placement import Instance, Plan


@answerer("lif-quadratic", problem="placement", information="profiled", paper="Harmony Section VI-B, LIF-Quad")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    samples: int = 200,
    noise: float = 0.0,
    score: str = "excess",
    tie: str = "index",
) -> Plan:
    """Each task to the server of least predicted slowdown, quadratic in the CPU and network use of others.

    samples: profiled co-locations a type, from which least squares fits the coefficients. noise: relative standard
    deviation of the measurements. score: what the slowdowns of a server's tasks add up to: "excess" over running alone,
    the "increase" of that by the new task, or "slowdown", which counts 1 for every task. tie: which of the servers with
    the least score: the first by "index", a "random" one, the "least-loaded". See `_lif` for the paper's words and for
    what is simplified. Needs the use of "cpu" and "bandwidth" among the instance's pressures.
    """
    return _lif.place(instance, rng, _lif.quadratic, samples=samples, noise=noise, score=score, tie=tie)
