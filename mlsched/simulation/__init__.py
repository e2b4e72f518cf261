"""The clock: the same question asked over and over as jobs arrive, and the worlds in which it is asked.

A world is a sub-package of a problem's name that exports one `Simulation`; it is found by scanning, like problems and
solvers.
"""

from __future__ import annotations

import functools

from mlsched.core.errors import UnknownName
from mlsched.core.lazy_mapping import LazyMapping
from mlsched.core.registry import package_of, registry, scan_exports, scan_problems
from mlsched.simulation.run import Run, Simulation


@functools.cache
def simulations() -> LazyMapping[str, Simulation]:
    """Problem name -> its simulation; of several, the first. A look-up imports that problem's world alone."""
    return LazyMapping(lambda: registry().problems, str, _first_of)


def _first_of(problem: str) -> dict[str, Simulation]:
    if problem not in registry().problems:
        return {}
    return {s.problem: s for s in scan_problems("simulation", "SIMULATION", Simulation, problem)}


@functools.cache
def further_simulations(problem: str) -> tuple[Simulation, ...]:
    """The simulations of a problem of another simulator than its first, in sub-packages of that."""
    return (
        tuple(scan_exports(package_of("simulation", problem), "SIMULATION", Simulation))
        if problem in simulations()
        else ()
    )


@functools.cache
def every_simulation() -> tuple[Simulation, ...]:
    """All simulations: of each problem its first, and then those of another simulator."""
    return (*simulations().values(), *(s for problem in simulations() for s in further_simulations(problem)))


def simulations_of(problem: str) -> tuple[Simulation, ...]:
    """The simulations of a problem, its first one first; none where the problem has no world."""
    return (simulations()[problem], *further_simulations(problem)) if problem in simulations() else ()


def of_logs(problem: str | None = None) -> Simulation:
    """The simulation that runs a log of jobs: of the problem, where one is named, else the one that replays logs."""
    replaying = [s for s in every_simulation() if s.replays_logs and problem in (None, s.problem)]
    return replaying[0] if replaying else simulation(str(problem))


def simulation(problem: str, simulator: str | None = None) -> Simulation:
    """The simulation of a problem, by its simulator where one is named; or UnknownName."""
    if problem not in simulations():
        raise UnknownName(f"{problem} has no simulated world; there are {', '.join(sorted(simulations()))}")
    if simulator is None:
        return simulations()[problem]
    having = {s.simulator: s for s in simulations_of(problem) if s.simulator}
    if simulator not in having:
        there = f"there are {', '.join(having)}" if having else "there is only one: leave it out"
        raise UnknownName(f"{problem} has no simulator '{simulator}'; {there}")
    return having[simulator]


__all__ = ["Run", "Simulation", "every_simulation", "of_logs", "simulation", "simulations", "simulations_of"]
