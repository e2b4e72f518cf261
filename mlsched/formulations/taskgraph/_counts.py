"""How many of a job's similar runs have started by a time: literals "at least m have".

The workers of a training job differ in little: their durations are equal and so is their demand for GPUs. What cutting
planes learn from a conflict is mostly about how many of them are under way, whichever they are; over literals that
count, that is learned once and not for every choice of m workers. Without counts: 2 instead of 4 of 6 hard
`six-replicas` proved, 1.3 times the work on `eight-replicas`.
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
    """Runs of one iteration of a job that are counted together, two at least, and how long each takes."""

    runs: tuple[Run, ...]
    duration: int


class Counts:
    """Rows that count the runs of a group that have started, for windows of starts that are known."""

    def __init__(self, started: Started, rows: Rows) -> None:
        self._started, self._rows, self._layout = started, rows, started.layout
        #: The group of each run that is in one.
        self._group: dict[Run, Group] = {}
        #: By group, from the first time at which a run may have started: that at least 1, 2, ... have.
        self._tallies: dict[Group, tuple[int, list[list[Literal]]]] = {}
        for group in _groups(self._layout):
            self._group.update(dict.fromkeys(group.runs, group))
            first = min(started.window[run][0] for run in group.runs)
            last = max(started.window[run][1] for run in group.runs)
            counted: list[list[Literal]] = []
            for t in range(first, last + 1):
                counted.append(self._at_least_of([started.by(run, t) for run in group.runs]))
                for before, after in zip(counted[-2], counted[-1], strict=True) if t > first else ():
                    rows.clause(no(before), after)
            self._tallies[group] = first, counted

    def _at_least_of(self, literals: list[Literal]) -> list[Literal]:
        """For m = 1, 2, ... whether at least m of some literals hold."""
        certain = [1] * sum(v for v in literals if isinstance(v, int))
        known = [v for v in literals if not isinstance(v, int)]
        never = [0] * (len(literals) - len(certain) - len(known))
        if len({v.index for v in known}) <= 1:
            return [*certain, *known, *never]
        bits = [self._rows.cp.new_bool_var("") for _ in known]
        self._rows.rising(bits[::-1])
        for sign in (1, -1):
            self._rows.at_least([*((sign, v) for v in bits), *((-sign, v) for v in known)], 0)
        for m, bit in enumerate(bits, 1):
            # Implied, but the equation alone does not propagate them without branching.
            self._rows.at_least([(-m, bit), *((1, v) for v in known)], 0)
            self._rows.at_least([(len(known) - m + 1, bit), *((-1, v) for v in known)], 1 - m)
        return [*certain, *bits, *never]

    def _started_of(self, group: Group, t: int) -> list[Literal]:
        """For m = 1, 2, ... whether at least m runs of a group have started by t."""
        first, counted = self._tallies[group]
        return [0] * len(group.runs) if t < first else counted[min(t - first, len(counted) - 1)]

    def all_ended(self, runs: Collection[Run], t: int) -> list[Literal]:
        """Literals that all hold if and only if some runs have all ended by t: one for a whole group."""
        asked = set(runs)
        whole = dict.fromkeys(g for run in runs if (g := self._group.get(run)) and asked.issuperset(g.runs))
        ended = [self._started_of(group, t - group.duration)[-1] for group in whole]
        counted = {run for group in whole for run in group.runs}
        return ended + [self._started.ended(run, t) for run in runs if run not in counted]

    def add_order(self) -> None:
        """Implied: what all runs of a group wait for has ended when the first of them starts."""
        for group, (first, counted) in self._tallies.items():
            sources = [[(u, i) for u, i, _ in self._layout.sources(*run)] for run in group.runs]
            window = self._started.window
            common = [run for run in sources[0] if run in window and all(run in others for others in sources)]
            for n, literals in enumerate(counted):
                for ended in self.all_ended(common, first + n):
                    self._rows.clause(no(literals[0]), ended)

    def demands(self, pool: Pool, t: int, active: dict[Run, Terms]) -> list[tuple[int, Terms]]:
        """What runs under way at t demand of a pool; whole groups of equal demand are counted."""
        demands: list[tuple[int, Terms]] = []
        seen: set[Group] = set()
        for run, terms in active.items():
            demand, group = pool.demand.get(run[0], 0), self._group.get(run)
            if group is None or any(pool.demand.get(k, 0) != demand for k, _ in group.runs):
                demands += [(demand, terms)] if demand else []
            elif demand and group not in seen:
                seen.add(group)
                begun, ended = self._started_of(group, t), self._started_of(group, t - group.duration)
                demands.append((demand, [*((1, v) for v in begun), *((-1, v) for v in ended)]))
        return demands


def _groups(layout: Layout) -> list[Group]:
    """Runs of one iteration that last as long, follow as many others one after the other, and demand as much of the
    resource of which demands differ least (mostly GPUs)."""
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
