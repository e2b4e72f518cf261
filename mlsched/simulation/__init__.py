"""The clock and the simulated worlds: one decision problem is posed repeatedly as jobs arrive.

A world is a sub-package with the name of its problem that exports one `Simulation`. Worlds are found by scanning, like
problems and solvers.
"""

from __future__ import annotations

import functools

from mlsched.core.errors import UnknownName
from mlsched.core.lazy_mapping import LazyMapping
from mlsched.core.registry import package_of, registry, scan_exports, scan_problems
from mlsched.simulation.run import Run, Simulation


@functools.cache
def simulations() -> LazyMapping[str, Simulation]:
    """Return problem name -> its first simulation. A look-up imports only the world of that problem."""
    return LazyMapping(lambda: registry().problems, str, _first_simulations)


def _first_simulations(problem: str) -> dict[str, Simulation]:
    if problem not in registry().problems:
        return {}
    return {s.problem: s for s in scan_problems("simulation", "SIMULATION", Simulation, problem)}


@functools.cache
def further_simulations(problem: str) -> tuple[Simulation, ...]:
    """Return the simulations of a problem's other simulators, which are sub-packages of its first."""
    return (
        tuple(scan_exports(package_of("simulation", problem), "SIMULATION", Simulation))
        if problem in simulations()
        else ()
    )


@functools.cache
def every_simulation() -> tuple[Simulation, ...]:
    """Return all simulations: the first of each problem, then those of other simulators."""
    return (*simulations().values(), *(s for problem in simulations() for s in further_simulations(problem)))


def simulations_of(problem: str) -> tuple[Simulation, ...]:
    """Return the simulations of a problem, its first one first; empty if the problem has no world."""
    return (simulations()[problem], *further_simulations(problem)) if problem in simulations() else ()


def of_logs(problem: str | None = None) -> Simulation:
    """Return the simulation that runs a job log: the given problem's, by default the simulation that replays logs."""
    replaying = [s for s in every_simulation() if s.replays_logs and problem in (None, s.problem)]
    return replaying[0] if replaying else simulation(str(problem))


def simulation(problem: str, simulator: str | None = None) -> Simulation:
    """Return the simulation of a problem, optionally by simulator name.

    Raises:
        UnknownName: The problem has no such simulation.
    """
    if problem not in simulations():
        raise UnknownName(f"{problem} is not simulated; there are {', '.join(sorted(simulations()))}")
    if simulator is None:
        return simulations()[problem]
    having = {s.simulator: s for s in simulations_of(problem) if s.simulator}
    if simulator not in having:
        there = f"there are {', '.join(having)}" if having else "there is only one: leave it out"
        raise UnknownName(f"unknown simulator '{simulator}' of {problem}; {there}")
    return having[simulator]


__all__ = ["Run", "Simulation", "every_simulation", "of_logs", "simulation", "simulations", "simulations_of"]
