"""The clock: the same question asked over and over as jobs arrive, and the worlds in which it is asked.

A world is a sub-package of a problem's name that exports one `Simulation`; it is found by scanning, like problems and
answerers. The other sub-packages are not scanned: `environments` needs gymnasium, which is optional.
"""

from __future__ import annotations

import functools

from mlsched.core.errors import UnknownName
from mlsched.core.registry import registry, scan
from mlsched.simulation.run import Run, Simulation


@functools.cache
def simulations() -> dict[str, Simulation]:
    """Problem name -> its simulation; of several, the first."""
    found = scan("mlsched.simulation", "SIMULATION", Simulation, among=registry().problems)
    return {s.problem: s for s in found}


@functools.cache
def every_simulation() -> tuple[Simulation, ...]:
    """All simulations: of each problem its first, and those of other physics, in sub-packages of the problem's."""
    others = [scan(f"mlsched.simulation.{problem}", "SIMULATION", Simulation) for problem in simulations()]
    return (*simulations().values(), *(s for found in others for s in found))


def of_logs(problem: str | None = None) -> Simulation:
    """The simulation that runs a log of jobs: of the problem, where one is named, else the one that replays logs."""
    replaying = [s for s in every_simulation() if s.replays_logs and problem in (None, s.problem)]
    return replaying[0] if replaying else simulation(str(problem))


def simulation(problem: str, physics: str | None = None) -> Simulation:
    """The simulation of a problem, by its physics where one is named; or UnknownName."""
    if problem not in simulations():
        raise UnknownName(f"{problem} has no simulated world; there are {', '.join(sorted(simulations()))}")
    if physics is None:
        return simulations()[problem]
    having = {s.physics: s for s in every_simulation() if s.problem == problem and s.physics}
    if physics not in having:
        there = f"there are {', '.join(having)}" if having else "there is only one: leave it out"
        raise UnknownName(f"{problem} has no physics '{physics}'; {there}")
    return having[physics]


__all__ = ["Run", "Simulation", "every_simulation", "of_logs", "simulation", "simulations"]
