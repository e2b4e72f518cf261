"""Rows over "has started by t" and "is on node n": order, capacity and their links, in only 0/1 variables.

All rows are without enforcement literals. Places must be single nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlsched.formulations.taskgraph._choices import Choices, Literal, Run
from mlsched.formulations.taskgraph._counts import Counts
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._rows import Rows, Terms, no
from mlsched.formulations.taskgraph._started import Started


class TimeRows:
    """Order and capacity of the runs in `started`; `counts` if runs are counted."""

    def __init__(self, choices: Choices, rows: Rows, started: Started, counts: Counts | None) -> None:
        self._choices, self._rows, self._started, self._counts = choices, rows, started, counts
        self._layout = choices.layout
        #: Cached literals: a run is under way on a node at a time.
        self._here: dict[tuple[Run, int, int], Literal] = {}

    def add_order(self) -> None:
        """Add rule 4: predecessors have ended when a run starts, transfers between nodes included."""
        layout, rows, start_task = self._layout, self._rows, self._started
        all_ended = start_task.all_ended if self._counts is None else self._counts.all_ended
        for j, i, k in layout.runs():
            first, last = start_task.window[k, i]
            before: list[Run] = []
            for u, source, delay in layout.sources(k, i):
                if source >= layout.finished[j]:
                    before.append((u, source))
                    self._add_transfer((u, source), (k, i), delay)
                elif delay:
                    # Not before the transfer from home has ended, if any.
                    early = start_task.by((k, i), layout.last_end[u] + delay - 1)
                    rows.clause(no(early), no(self._choices.away((k, i), layout.home[u])))
            for t in range(first, last + 1):
                for end_literals in all_ended(before, t):
                    rows.clause(no(start_task.by((k, i), t)), end_literals)
        if self._counts is not None:
            self._counts.add_order()

    def _add_transfer(self, source: Run, run: Run, delay: int) -> None:
        """Let a run start a delay after another has ended, unless both are on one node."""
        apart = self._choices.apart(source, run) if delay else 0
        if isinstance(apart, int) and not apart:
            return
        first, last = self._started.window[run]
        for t in range(first, last + 1):
            self._rows.clause(no(self._started.by(run, t)), no(apart), self._started.ended(source, t - delay))

    def add_capacity(self, first: int, end: int, shared: Sequence[Pool]) -> None:
        """Add rule 5 from time `first` to before `end`: on each node, and over all nodes in every shared pool."""
        layout = self._layout
        lasting = [(k, i) for _, i, k in layout.runs() if layout.duration[k]]
        for t in range(first, end):
            active = {run: terms for run in lasting if (terms := self._started.under_way(run, t))}
            for n in range(layout.nodes):
                self._add_node_rows(n, t, active)
            self._add_somewhere_rows(t, active)
            for pool in shared:
                if self._counts is not None:
                    self._add_capacity_row(self._counts.demands(pool, t, active), pool.capacity)
                else:
                    demands = [(pool.demand.get(k, 0), terms) for (k, _), terms in active.items()]
                    self._add_capacity_row([(demand, terms) for demand, terms in demands if demand], pool.capacity)

    def _add_node_rows(self, n: int, t: int, active: dict[Run, Terms]) -> None:
        """Add the capacities of node n at time t; `active`: run -> terms that are 1 while it is under way."""
        layout = self._layout
        may = [run for run in active if n in self._choices.where[run]]
        tasks = {run[0] for run in may}
        for r, room in enumerate(layout.capacity[n]):
            # A task's runs follow one another.
            if sum(layout.demand[k][r] for k in tasks) > room:
                use = [run for run in may if layout.demand[run[0]][r]]
                self._add_capacity_row(
                    [(layout.demand[run[0]][r], self._on_node_terms(run, n, t, active[run])) for run in use], room
                )

    def _add_capacity_row(self, used: Sequence[tuple[int, Terms]], room: int) -> None:
        """Add a row: the demands of the runs under way fit."""
        if used:
            unit = math.gcd(*(q for q, _ in used))
            self._rows.at_least([(-q // unit * w, v) for q, terms in used for w, v in terms], -(room // unit))

    def _on_node_terms(self, run: Run, n: int, t: int, active: Terms) -> Terms:
        """Return terms that are at least 1 while the run is under way on node n."""
        choice = self._choices.where[run][n]
        if isinstance(choice, int):
            return active
        if (run, n, t) not in self._here:
            here = self._here[run, n, t] = self._rows.cp.new_bool_var("")
            self._rows.clause(no(here), choice)
            self._rows.at_least([(1, here), (-1, choice), *((-w, v) for w, v in active)], -1)
        return [(1, self._here[run, n, t])]

    def _add_somewhere_rows(self, t: int, active: dict[Run, Terms]) -> None:
        """Add implied rows: a run under way is on one of its nodes."""
        for run, terms in active.items():
            here = [self._here.get((run, n, t)) for n in self._choices.where[run]]
            if all(v is not None for v in here):
                self._rows.at_least([*((1, v) for v in here), *((-w, v) for w, v in terms)], 0)
