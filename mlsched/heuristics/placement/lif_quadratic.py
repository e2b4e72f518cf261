"""LIF-Quad: least interference first by a quadratic model of slowdown (Harmony Section VI-B)."""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.placement import _lif
from mlsched.instances.placement import Instance, Plan


@solver("lif-quadratic", problem="placement", information="profiled", paper="Harmony Section VI-B, LIF-Quad")
def answer(instance: Instance, *, rng: np.random.Generator, given: _lif.Settings) -> Plan:
    """Each task to the server of least predicted slowdown, quadratic in the CPU and network use of others.

    given: `_lif.Settings`. See `_lif` for the paper's words and for what is simplified. Needs the use of "cpu" and
    "bandwidth" among the instance's pressures.
    """
    return _lif.place(instance, rng, _lif.quadratic, given)
