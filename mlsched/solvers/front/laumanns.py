"""The adaptive epsilon-constraint method.

Laumanns, Thiele, Zitzler, "An efficient, adaptive parameter variation scheme for metaheuristics based on the
epsilon-constraint method", EJOR 169 (2006), Section 4: the values f_2 .. f_p of the n points found so far cut objective
space into a grid of at most (n + 1)^(p - 1) cells. A cell's upper corner bounds f_2 .. f_p while f_1 is minimised. The
solution y clears all cells below that corner and not below y; each new point refines the grid. The method needs
O(n^(p-1)) solves and is the reference for the other methods.

The grid is a boolean array, so that a slice of cells is scanned or cleared at once.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import BoolArray, IntArray
from mlsched.solvers.front.search import Search
from mlsched.solvers.front.zones import BIG

#: Largest grid: the method does not scale beyond it.
CELLS = 50_000_000


def run(search: Search) -> None:
    """Search every non-dominated point."""
    size = search.size - 1
    # cuts[j]: ascending lower ends of the cells along f_{j+1}; a cell ends where the next begins.
    cuts = [np.array([-BIG], dtype=np.int64) for _ in range(size)]
    cleared = np.zeros((1,) * size, dtype=bool)
    while not cleared.all():
        # From the largest upper corner down: then later solutions never dominate earlier ones.
        last = np.array(cleared.shape) - 1
        cell = last - np.array(np.unravel_index(int(np.argmin(np.flip(cleared))), cleared.shape))
        bounds = np.full(search.size, BIG, dtype=np.int64)
        for j in range(size):
            bounds[j + 1] = BIG if cell[j] == last[j] else cuts[j][cell[j] + 1]
        explored = search.explore(0, bounds)
        point = explored.point
        if point is None or explored.failed:
            # The cell is empty, or the solve failed: then the cell remains open in the certificate and is not searched
            # again.
            cleared[tuple(slice(c if explored.failed else 0, c + 1) for c in cell)] = True
            continue
        tops = cell
        for j in range(size):
            cuts[j], cleared, shifted = _add_cut(cuts[j], cleared, j, point[j + 1], int(tops[j]))
            tops[j] = shifted
        if cleared.size > CELLS:
            search.failures.append(f"laumanns: the grid has {cleared.size} cells; use method='tamby-vanderpooten'")
            return
        first = [int(np.searchsorted(cuts[j], point[j + 1])) for j in range(size)]
        cleared[tuple(slice(a, b + 1) for a, b in zip(first, tops, strict=True))] = True


def _add_cut(cuts: IntArray, cleared: BoolArray, axis: int, at: int, top: int) -> tuple[IntArray, BoolArray, int]:
    """Add a cut to one axis; return the cuts, the cleared cells, and the last cell below the bound.

    Both halves of a divided cell are cleared if the cell was cleared. `top` is the last cell before the cut.
    """
    place = int(np.searchsorted(cuts, at))
    if place < len(cuts) and cuts[place] == at:
        return cuts, cleared, top
    doubled = np.insert(cleared, place, np.take(cleared, place - 1, axis=axis), axis=axis)
    return np.insert(cuts, place, at), doubled, top + (place <= top + 1)
