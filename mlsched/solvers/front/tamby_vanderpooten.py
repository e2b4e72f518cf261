"""Defining-point search over the zones of the search region, for any number of objectives.

Tamby, Vanderpooten, "Enumeration of the nondominated set of multiobjective discrete optimization problems", INFORMS
Journal on Computing 33(1) (2021), Algorithm 2: take the zone u and the objective k with the largest projection, and
minimise f_k with f_j < u_j for j != k. f_k itself has no bound. So the points that define u_k are solutions of the
sub-problem, and one of them starts it. The answer gives a new point or closes every zone that it covers (their
Proposition on V_k).

They solve one sub-problem per zone. Here zones of the same u_k, defined by the same points, are solved together: f in
one of their boxes. Such disjunctions are known from Sylva, Crema, EJOR 158 (2004), where no known point may dominate f
(a binary for each objective and point), and from Lokman, Koksalan, J. Global Optim. 57 (2013), where one of the bounds
that the points imply must be satisfied, for a fixed k. New here: only the zones of one u_k are united, so that a known
optimum remains a solution, and a proof follows for each zone. There is at most one solve for each point and each value
u_k, instead of one for each zone.

The first p sub-problems are unbounded: they give the ideal point and the first points.

Several sub-problems may run at once, preferably about zones that the other answers do not affect.
Within a time limit, each has a share of it. After all zones were searched, the open zones are searched again, with a
larger share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.solvers.front.crew import Crew
from mlsched.solvers.front.search import Search, Stop
from mlsched.solvers.front.zones import BIG, Zones


def run(search: Search) -> None:
    """Search every non-dominated point; a zone whose sub-problems all fail remains open."""
    search.take_turns()
    zones = Zones(search.low, search.high)
    floor = np.array([-BIG if v is None else v for v in search.low], dtype=np.int64)
    free = list(range(search.size)) if search.scalar.favourite is None else [search.scalar.favourite]
    with Crew(search) as crew:
        while True:
            while (
                crew.room
                and not search.turn_over
                and (question := _next_question(search, zones, floor, free, crew)) is not None
            ):
                if search.recallable and not search.recalls(*question):
                    free = _recall_journal(search, zones, floor, free)
                    continue
                crew.submit(*question)
                free = free[1:]
            if not crew.asked:
                if search.cut and len(zones):
                    if not search.longer():
                        raise Stop("time limit")
                    zones.failed[:] = 0
                    continue
                return
            k, bounds, explored = crew.next()
            if explored.failed:
                zones.fail(k, bounds)
                continue
            if explored.point is not None:
                zones.insert(np.array(explored.point, dtype=np.int64))
            zones.prove(k, bounds, np.full(len(bounds), explored.lower_bound))
            if explored.lower_bound != BIG and (bounds == BIG).all():
                floor[k] = search.low[k] = explored.lower_bound


def _next_question(
    search: Search, zones: Zones, floor: IntArray, free: list[int], crew: Crew
) -> tuple[int, Any] | None:
    """Return the next question; None at the end, or if the first point must be known before."""
    if not len(zones) or any(search.recalls(*one) for one in crew.asked):
        return None  # the journal's answers follow immediately
    if free:
        return free[0], np.full((1, search.size), BIG, dtype=np.int64)
    if crew.asked and not search.points:
        return None
    selected = zones.select(floor, search.scalar.most_boxes, crew.asked, search.scalar.favourite)
    return None if selected is None else (selected[1], zones.upper[selected[0]])


def _recall_journal(search: Search, zones: Zones, floor: IntArray, free: list[int]) -> list[int]:
    """Apply the journal's answers to the zones; return the objectives that still need an unbounded solve."""
    for one in search.recall():
        for k, bounds, lower in one.implies(search.high):
            zones.prove(k, bounds, lower)
            if one.proved and (np.delete(bounds, k, axis=1) == BIG).all() and lower.max() < BIG:
                floor[k] = search.low[k] = max(int(floor[k]), int(lower.max()))
    for point in search.points:
        zones.insert(np.array(point, dtype=np.int64))
    return [k for k in free if not any(point[k] == floor[k] for point in search.points)]
