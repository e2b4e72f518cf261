"""Pools that know which tasks fit on a node together, found where a relaxation violates them.

A pattern is a set of tasks that one node can hold at once. For any weights w >= 0, the runs under way on node n weigh
at most W_n = max over patterns of n of w(pattern), so all runs under way weigh at most sum_n W_n: a pool. Given how
much of each task a relaxation has under way at some time, the weights that it violates most solve a small LP. Whatever
weights the LP returns are rounded to integers, and W_n is computed by enumeration: the pool is valid in any case.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import Pool

#: Patterns that are listed; with more, there are no pools of this kind.
MOST_PATTERNS = 5000
#: Weights are integers up to this.
FINE = 1000


class Packing:
    """The maximal patterns of every kind of node, as 0/1 rows over `tasks`."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.tasks = [
            k
            for k in range(layout.tasks)
            if layout.duration[k]
            and layout.allowed[k]
            and layout.mandatory[layout.job[k]] > layout.finished[layout.job[k]]
        ]
        self.patterns: list[tuple[int, IntArray]] = []
        self.usable = layout.nodes > 1 and len(self.tasks) > 1 and not layout.fixed
        if not self.usable:
            return
        kinds: dict[tuple[tuple[int, ...], tuple[bool, ...]], int] = {}
        for n in range(layout.nodes):
            able = tuple(n in layout.allowed[k] for k in self.tasks)
            kind = tuple(layout.capacity[n]), able
            kinds[kind] = kinds.get(kind, 0) + 1
        left = MOST_PATTERNS
        for (capacity, able), count in kinds.items():
            found = self._maximal(capacity, able, left)
            if found is None:
                self.usable = False
                return
            left -= len(found)
            self.patterns.append((count, found))

    def _maximal(self, capacity: tuple[int, ...], able: tuple[bool, ...], most: int) -> IntArray | None:
        """Maximal sets of tasks that fit; None when they are more than `most` (or take too many steps)."""
        demand = np.array([self.layout.demand[k] for k in self.tasks], dtype=np.int64).reshape(len(self.tasks), -1)
        found: list[list[int]] = []
        stack: list[tuple[int, list[int], IntArray]] = [(0, [], np.array(capacity, dtype=np.int64))]
        steps = 0
        while stack:
            at, chosen, room = stack.pop()
            steps += 1
            if steps > 40 * MOST_PATTERNS or len(found) > most:
                return None
            fits = np.flatnonzero((demand <= room).all(axis=1) & np.array(able))
            free = [int(v) for v in fits if v not in chosen]
            if not free:
                found.append(chosen)
                continue
            for v in free:
                if v >= at:
                    stack.append((v + 1, [*chosen, v], room - demand[v]))
        rows = np.zeros((len(found), len(self.tasks)), dtype=np.int64)
        for row, chosen in enumerate(found):
            rows[row, chosen] = 1
        return rows

    def violated(self, active: Any) -> Pool | None:
        """The pool that `active` (how much of each task is under way) violates most; None when it violates none."""
        from scipy.optimize import linprog

        # max w.active - sum_kinds count * W  subject to  w(P) <= W_kind, sum count * W = 1, w >= 0.
        tasks, kinds = len(self.tasks), len(self.patterns)
        blocks = []
        for index, (_, rows) in enumerate(self.patterns):
            cap = np.zeros((len(rows), kinds))
            cap[:, index] = -1
            blocks.append(np.hstack([rows, cap]))
        equal = np.concatenate([np.zeros(tasks), [float(count) for count, _ in self.patterns]])[None]
        above = np.vstack(blocks)
        cost = np.concatenate([-np.asarray(active, dtype=np.float64), np.zeros(kinds)])
        solved = linprog(
            cost, A_ub=above, b_ub=np.zeros(len(above)), A_eq=equal, b_eq=[1.0], bounds=(0, None), method="highs"
        )
        if solved.status != 0 or -solved.fun < 1 + 1e-3:
            return None
        found = solved.x[:tasks]
        weight = np.floor(found / found.max() * FINE + 1e-6).astype(np.int64)
        return self.pool(weight)

    def pool(self, weight: IntArray) -> Pool:
        """The pool of integer weights, its capacity by enumeration."""
        room = sum(count * int((rows @ weight).max(initial=0)) for count, rows in self.patterns)
        demand = {k: int(w) for k, w in zip(self.tasks, weight, strict=True) if w}
        return Pool(room, demand)
