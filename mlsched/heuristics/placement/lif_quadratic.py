"""LIF-Quad: least interference first by a quadratic model of slowdown (Harmony Section VI-B)."""

from __future__ import annotations

import numpy as np

from mlsched.core.params import within
from mlsched.core.registry import answerer
from mlsched.heuristics.placement import _lif
from mlsched.heuristics.placement._room import place_all
from mlsched.instances.placement import Instance, Plan


@answerer("lif-quadratic", problem="placement", paper="Harmony Section VI-B, LIF-Quad")
def answer(instance: Instance, *, rng: np.random.Generator, samples: int = 200, noise: float = 0.0) -> Plan:
    """Each task to the server of least predicted slowdown, quadratic in the CPU and network use of others.

    samples: profiled co-locations a type, from which least squares fits the coefficients; noise: relative standard
    deviation of the measurements.
    """
    within("samples", samples, 1, 10**6)
    within("noise", noise, 0, 10)
    models = _lif.fit(instance, rng, _lif.quadratic, samples, noise)
    return place_all(instance, _lif.least_interference(instance, _lif.quadratic, models))
