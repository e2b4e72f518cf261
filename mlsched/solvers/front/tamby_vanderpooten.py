"""Defining-point search over the zones of the search region, for any number of objectives.

Tamby, Vanderpooten, "Enumeration of the nondominated set of multiobjective discrete optimization problems", INFORMS
Journal on Computing 33(1) (2021), Algorithm 2: take the zone u and the objective k with the largest projection;
minimise f_k with f_j < u_j for j != k, without a bound on f_k, so that the points that define u_k keep the sub-problem
feasible and start it. The answer closes every zone below it (their Proposition on V_k) or gives a new point.

The first p sub-problems have no bounds at all: they give the ideal point and p first points in one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.solvers.front.search import Search
from mlsched.solvers.front.zones import BIG, Zones


def run(search: Search) -> None:
    """Every non-dominated point; a zone whose sub-problems all fail is left open."""
    zones = Zones(search.low, search.high)
    floor = np.array([-BIG if v is None else v for v in search.low], dtype=np.int64)
    for k in range(search.size):
        if len(zones):
            least = _explore(search, zones, k, np.full(search.size, BIG, dtype=np.int64), None)
            if least is not None:
                floor[k] = search.low[k] = least
    while (chosen := zones.select(floor)) is not None:
        zone, k = chosen
        _explore(search, zones, k, zones.upper[zone].copy(), zone)


def _explore(search: Search, zones: Zones, k: int, bounds: Any, zone: int | None) -> int | None:
    """Ask, and let the zones know; the least f_k if there is any."""
    found = search.explore(k, bounds)
    if found.failed:
        if zone is not None:
            zones.blocked[zone, k] = True
        return None
    if found.point is not None:
        zones.insert(np.array(found.point, dtype=np.int64))
    zones.prove(k, bounds, found.least)
    return None if found.least == BIG else found.least
