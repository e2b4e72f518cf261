"""The clock: the same question asked over and over as jobs arrive, and the worlds in which it is asked.

A world is a sub-package that exports one `Simulation`; it is found by scanning, like problems and answerers.
"""

from __future__ import annotations

import functools

from mlsched.core.errors import UnknownName
from mlsched.core.registry import scan
from mlsched.simulation.run import Run, Simulation


@functools.cache
def simulations() -> dict[str, Simulation]:
    """Problem name -> its simulation."""
    return {s.problem: s for s in scan("mlsched.simulation", "SIMULATION", Simulation)}


def simulation(problem: str) -> Simulation:
    """The simulation of a problem, or UnknownName."""
    if problem not in simulations():
        raise UnknownName(f"{problem} has no simulated world; there are {', '.join(sorted(simulations()))}")
    return simulations()[problem]


__all__ = ["Run", "Simulation", "simulation", "simulations"]
