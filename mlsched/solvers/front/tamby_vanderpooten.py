"""Defining-point search over the zones of the search region, for any number of objectives.

Tamby, Vanderpooten, "Enumeration of the nondominated set of multiobjective discrete optimization problems", INFORMS
Journal on Computing 33(1) (2021), Algorithm 2: take the zone u and the objective k with the largest projection;
minimise f_k with f_j < u_j for j != k, without a bound on f_k, so that the points that define u_k keep the sub-problem
feasible and start it. The answer closes every zone below it (their Proposition on V_k) or gives a new point.

Theirs is a sub-problem a zone. Here zones with the same u_k, which the same points define, are asked together: f in one
of their boxes. Such disjunctions are known from Sylva, Crema, EJOR 158 (2004) (no known point dominates f: a binary an
objective and point) and Lokman, Koksalan, J. Global Optim. 57 (2013) (one of the bounds that the points imply, for a
fixed k). To unite just the zones of one u_k, so that the known optimum stays in, and to read off a proof a zone, is
ours: a zone a solve becomes at most a point or a value u_k a solve.

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
            least = _explore(search, zones, k, np.full((1, search.size), BIG, dtype=np.int64))
            if least is not None:
                floor[k] = search.low[k] = least
    while (selected := zones.select(floor, search.scalar.most_boxes)) is not None:
        chosen, k = selected
        _explore(search, zones, k, zones.upper[chosen], chosen)


def _explore(search: Search, zones: Zones, k: int, bounds: Any, chosen: Any = None) -> int | None:
    """Ask, and let the zones know; the least f_k if there is any."""
    found = search.explore(k, bounds)
    if found.failed:
        if chosen is not None:
            zones.fail(chosen, k)
        return None
    if found.point is not None:
        zones.insert(np.array(found.point, dtype=np.int64))
    zones.prove(k, bounds, np.full(len(bounds), found.least))
    return None if found.least == BIG else found.least
