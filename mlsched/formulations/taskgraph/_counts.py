"""Counts of a job's similar runs that have started by a time: literals "at least m have".

The workers of a training job are similar: they have equal durations and GPU demands. Cutting planes from a conflict
mostly depend on how many of them are under way. With literals that count, CP-SAT learns such a plane once and not for
every choice of m workers. Without counts: 2 instead of 4 of 6 hard `six-replicas` proved, 1.3 times the work on
`eight-replicas`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import NamedTuple

from mlsched.formulations.taskgraph._choices import Literal, Run
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._rows import Rows, Terms, no
from mlsched.formulations.taskgraph._started import Started


class Group(NamedTuple):
    """Runs of one iteration of a job that are counted together, at least two, and the duration of each."""

    runs: tuple[Run, ...]
    duration: int


class Counts:
    """Rows that count the started runs of a group, for known windows of starts."""

    def __init__(self, started: Started, rows: Rows) -> None:
        self._started, self._rows, self._layout = started, rows, started.layout
        #: Group of each run in a group.
        self._group: dict[Run, Group] = {}
        #: By group, from the first possible start: literals that at least 1, 2, ... runs have started.
        self._tallies: dict[Group, tuple[int, list[list[Literal]]]] = {}
        for group in _groups(self._layout):
            self._group.update(dict.fromkeys(group.runs, group))
            first = min(started.window[run][0] for run in group.runs)
            last = max(started.window[run][1] for run in group.runs)
            columns: list[list[Literal]] = []
            for t in range(first, last + 1):
                columns.append(self._at_least_of([started.by(run, t) for run in group.runs]))
                for before, after in zip(columns[-2], columns[-1], strict=True) if t > first else ():
                    rows.clause(no(before), after)
            self._tallies[group] = first, columns

    def _at_least_of(self, literals: list[Literal]) -> list[Literal]:
        """Return literals for m = 1, 2, ...: at least m of some literals are true."""
        certain = [1] * sum(v for v in literals if isinstance(v, int))
        present = [v for v in literals if not isinstance(v, int)]
        never = [0] * (len(literals) - len(certain) - len(present))
        if len({v.index for v in present}) <= 1:
            return [*certain, *present, *never]
        bits = [self._rows.cp.new_bool_var("") for _ in present]
        self._rows.rising(bits[::-1])
        for sign in (1, -1):
            self._rows.at_least([*((sign, v) for v in bits), *((-sign, v) for v in present)], 0)
        for m, bit in enumerate(bits, 1):
            # Implied, but the equation by itself only propagates them by branching.
            self._rows.at_least([(-m, bit), *((1, v) for v in present)], 0)
            self._rows.at_least([(len(present) - m + 1, bit), *((-1, v) for v in present)], 1 - m)
        return [*certain, *bits, *never]

    def _started_of(self, group: Group, t: int) -> list[Literal]:
        """Return literals for m = 1, 2, ...: at least m runs of a group have started by t."""
        first, columns = self._tallies[group]
        return [0] * len(group.runs) if t < first else columns[min(t - first, len(columns) - 1)]

    def all_ended(self, runs: Collection[Run], t: int) -> list[Literal]:
        """Return literals that are all true if and only if some runs have all ended by t: one for a complete group."""
        requests = set(runs)
        whole = dict.fromkeys(g for run in runs if (g := self._group.get(run)) and requests.issuperset(g.runs))
        end_literals = [self._started_of(group, t - group.duration)[-1] for group in whole]
        columns = {run for group in whole for run in group.runs}
        return end_literals + [self._started.ended(run, t) for run in runs if run not in columns]

    def add_order(self) -> None:
        """Add implied rows: the common predecessors of a group have ended when its first run starts."""
        for group, (first, columns) in self._tallies.items():
            sources = [[(u, i) for u, i, _ in self._layout.sources(*run)] for run in group.runs]
            window = self._started.window
            common = [run for run in sources[0] if run in window and all(run in others for others in sources)]
            for n, literals in enumerate(columns):
                for end_literals in self.all_ended(common, first + n):
                    self._rows.clause(no(literals[0]), end_literals)

    def demands(self, pool: Pool, t: int, active: dict[Run, Terms]) -> list[tuple[int, Terms]]:
        """Return the demands on a pool of the runs under way at t; complete groups of equal demand are counted."""
        demands: list[tuple[int, Terms]] = []
        earlier: set[Group] = set()
        for run, terms in active.items():
            demand, group = pool.demand.get(run[0], 0), self._group.get(run)
            if group is None or any(pool.demand.get(k, 0) != demand for k, _ in group.runs):
                demands += [(demand, terms)] if demand else []
            elif demand and group not in earlier:
                earlier.add(group)
                opened, end_literals = self._started_of(group, t), self._started_of(group, t - group.duration)
                demands.append((demand, [*((1, v) for v in opened), *((-1, v) for v in end_literals)]))
        return demands


def _groups(layout: Layout) -> list[Group]:
    """Group the runs of one iteration with equal duration, equally many successors in a chain and equal demand.

    The demand is of the resource whose demands differ least (mostly GPUs).
    """
    resources = range(len(layout.instance.resources))
    alike = min(resources, key=lambda r: len({demand[r] for demand in layout.demand}), default=None)
    depth = [0] * layout.tasks
    for k in itertools.chain.from_iterable(layout.order):
        depth[k] = max((depth[u] + 1 for u, _, lag, _, _ in layout.into[k] if not lag), default=0)
    groups: dict[tuple[int, ...], list[Run]] = {}
    for j, i, k in layout.runs():
        if alike is not None and layout.duration[k]:
            groups.setdefault((j, i, depth[k], layout.duration[k], layout.demand[k][alike]), []).append((k, i))
    return [Group(tuple(runs), key[3]) for key, runs in groups.items() if len(runs) > 1]
