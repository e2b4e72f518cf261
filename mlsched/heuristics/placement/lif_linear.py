"""LIF-Line: least interference first by a linear model of slowdown (Harmony Section VI-B)."""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.placement import interference
from mlsched.instances.placement import Instance, Plan


@solver("lif-linear", problem="placement", information="profiled", paper="Harmony Section VI-B, LIF-Line")
def answer(instance: Instance, *, rng: np.random.Generator, given: interference.Settings) -> Plan:
    """Place each task on the server of least predicted slowdown, linear in the CPU and network use of others.

    given: `interference.Settings`. See `interference` for the simplifications. Needs the use of "cpu" and "bandwidth"
    among the instance's pressures.
    """
    return interference.place(instance, rng, interference.linear, given)
