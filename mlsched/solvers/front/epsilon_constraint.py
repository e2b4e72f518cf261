"""Two objectives: sweep the front from the least f_1 down f_2, a solve a point and one to close.

Haimes, Lasdon, Wismer (1971), with the bound taken from the point just found, so that no point is met twice.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.solvers.front.search import Search
from mlsched.solvers.front.zones import BIG


def run(search: Search) -> None:
    """Every non-dominated point; from the other end too if a sub-problem fails on the way."""
    if search.size != 2:
        raise InvalidInput(f"method = 'epsilon-constraint': is for 2 objectives, not {search.size}; leave it out")
    if not _sweep(search, 0):
        _sweep(search, 1)


def _sweep(search: Search, k: int) -> bool:
    """Minimise f_k under ever tighter bounds on the other; False when a sub-problem failed."""
    other = 1 - k
    bounds = np.full(2, BIG, dtype=np.int64)
    while True:
        before = len(search.points)
        found = search.explore(k, bounds)
        if found.failed:
            return False
        low = search.low[other]
        if found.point is None or len(search.points) == before or found.point[other] == low:
            return True
        bounds[other] = found.point[other]
