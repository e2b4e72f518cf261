"""Rows over "has started by t" and "is on node n": order, capacity and their links, in 0/1 variables alone.

None of these rows has enforcement literals, which cutting planes and linear relaxations know nothing of. Places must be
single nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlsched.formulations.taskgraph._counts import Counts
from mlsched.formulations.taskgraph._cp_model import Run
from mlsched.formulations.taskgraph._rows import Terms, no


class TimeRows(Counts):
    """What models in such rows share."""

    # -- order ---------------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Rule 4: what a run waits for has ended when it starts, transfers between nodes included."""
        layout = self.layout
        self._count()
        for _, i, k in layout.runs():
            low, high = self._window[k, i]
            before: list[Run] = []
            for u, source, delay in layout.sources(k, i):
                if source >= layout.first[layout.job[k]]:
                    before.append((u, source))
                    self._transfer((u, source), (k, i), delay)
                elif delay:
                    # Not before the transfer from home has ended, unless there is none.
                    over = self._started((k, i), layout.last_end[u] + delay - 1)
                    self._clause(no(over), no(self._away(k, i, layout.home[u])))
            for t in range(low, high + 1):
                for ended in self._ended(before, t):
                    self._clause(no(self._started((k, i), t)), ended)
        self._order_groups()

    def _transfer(self, source: Run, run: Run, delay: int) -> None:
        """A run starts a delay after another one has ended, unless both are on one node."""
        apart = self._apart(source, run) if delay else 0
        if isinstance(apart, int) and not apart:
            return
        low, high = self._window[run]
        for t in range(low, high + 1):
            sent = self._started(source, t - self.layout.duration[source[0]] - delay)
            self._clause(no(self._started(run, t)), no(apart), sent)

    # -- capacity ------------------------------------------------------------------------------------------------------

    def _active(self, run: Run, t: int) -> Terms:
        """Literals whose weighted sum is 1 while the run is under way, or none where it cannot be."""
        begun, ended = self._started(run, t), self._started(run, t - self.layout.duration[run[0]])
        if isinstance(begun, int):
            if not begun or (isinstance(ended, int) and ended):
                return []
        elif not isinstance(ended, int) and begun.index == ended.index:
            return []
        return [(1, begun), (-1, ended)]

    def _in_room(self, first: int, end: int) -> None:
        """Rule 5 from time `first` to before `end`: on each node, and of all nodes together in every shared pool."""
        layout = self.layout
        lasting = [(k, i) for _, i, k in layout.runs() if layout.duration[k]]
        for t in range(first, end):
            active = {run: terms for run in lasting if (terms := self._active(run, t))}
            for n in range(layout.nodes):
                self._node(n, t, active)
            self._somewhere(t, active)
            for pool in self._shared:
                self._room(self._under_way(pool, t, active), pool.capacity)

    def _node(self, n: int, t: int, active: dict[Run, Terms]) -> None:
        """The capacities of a node at a time."""
        layout = self.layout
        may = [run for run in active if n in self.where[run]]
        tasks = {run[0] for run in may}
        for r, room in enumerate(layout.capacity[n]):
            # A task's runs follow one another.
            if sum(layout.demand[k][r] for k in tasks) > room:
                used = [run for run in may if layout.demand[run[0]][r]]
                self._room([(layout.demand[run[0]][r], self._on(run, n, t, active[run])) for run in used], room)

    def _room(self, used: Sequence[tuple[int, Terms]], room: int) -> None:
        """The demands of what is under way fit."""
        if used:
            unit = math.gcd(*(q for q, _ in used))
            self._at_least([(-q // unit * w, v) for q, terms in used for w, v in terms], -(room // unit))

    def _on(self, run: Run, n: int, t: int, active: Terms) -> Terms:
        """1 at least while the run is under way on node n."""
        choice = self.where[run][n]
        if isinstance(choice, int):
            return active
        if (run, n, t) not in self._here:
            here = self._here[run, n, t] = self.cp.new_bool_var("")
            self._clause(no(here), choice)
            self._at_least([(1, here), (-1, choice), *((-w, v) for w, v in active)], -1)
        return [(1, self._here[run, n, t])]

    def _somewhere(self, t: int, active: dict[Run, Terms]) -> None:
        """Implied: what is under way is so on one of its nodes."""
        for run, terms in active.items():
            here = [self._here.get((run, n, t)) for n in self.where[run]]
            if all(v is not None for v in here):
                self._at_least([*((1, v) for v in here), *((-w, v) for w, v in terms)], 0)
