"""Two objectives: sweep the front from the point of smallest f_1 to that of smallest f_2.

Haimes, Lasdon, Wismer (1971): each solve minimises f_1 with f_2 below its value at the last point, so that it finds the
next point; one more solve closes the front. If two sub-problems may run at once, a second sweep starts from the other
end until the two meet. Within a time limit, `any_time` sweeps all regions in turns.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.solvers.front import any_time
from mlsched.solvers.front.crew import Crew
from mlsched.solvers.front.search import Explored, Search
from mlsched.solvers.front.zones import BIG


def run(search: Search) -> None:
    """Search every non-dominated point; if a sub-problem fails, the other end is swept as well."""
    if search.size != 2:
        raise InvalidInput(f"method = 'epsilon-constraint': is for 2 objectives, not {search.size}; leave it out")
    if search.limited:
        any_time.run(search)
        return
    sweeps = (_Sweep(search, 0), _Sweep(search, 1))
    # First replay the journal's answers of both sweeps, independent of whether one or two were running when it was
    # written.
    if any(sweep.repeat(other) for sweep, other in (sweeps, sweeps[::-1])):
        return
    search.recall()  # the rest, which may help the certificate: first stages without their second
    to_come = [sweep for sweep in sweeps if not sweep.failed]
    with Crew(search) as crew:
        while to_come and crew.room:
            crew.submit(*to_come.pop(0).question)
        while crew.asked:
            k, _, explored = crew.next()
            if sweeps[k].closed(explored, sweeps[1 - k]):
                return
            if not explored.failed:
                crew.submit(*sweeps[k].question)
            elif to_come:
                crew.submit(*to_come.pop(0).question)


class _Sweep:
    """One sweep: it minimises f_k under increasingly tight bounds on the second objective."""

    def __init__(self, search: Search, k: int) -> None:
        self._search, self._k, self._other = search, k, 1 - k
        self._bounds: Array = np.full((1, 2), BIG, dtype=np.int64)
        self._met: set[tuple[int, ...]] = set()
        self.failed = False

    @property
    def question(self) -> tuple[int, IntArray]:
        """Return the objective to minimise next, and the bounds."""
        return self._k, self._bounds

    def closed(self, explored: Explored, other: _Sweep) -> bool:
        """Return whether the answer closes the front: no point is beyond it, or the other sweep has met this one.

        Otherwise the next question is about smaller values of the other objective, unless the answer has failed.
        """
        point, self.failed = explored.point, explored.failed
        if self.failed:
            return False
        if point is None or point in other._met or point[self._other] == self._search.low[self._other]:
            return True
        self._met.add(point)
        self._bounds = self._bounds.copy()
        self._bounds[0, self._other] = point[self._other]
        return False

    def repeat(self, other: _Sweep) -> bool:
        """Continue while the journal has the answers; return whether that closes the front."""
        while self._search.recalls(*self.question) and not self.failed:
            if self.closed(self._search.explore(*self.question), other):
                return True
        return False
