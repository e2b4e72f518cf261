"""The rows of quotas: rules 5, 8 and 9 of the judge.

Usage of a queue is its own use plus the use of each child beyond its local quota, max(0, usage - local). An upper limit
on usage (rules 5 and 8) takes a variable for each such maximum that may be above it. A lower limit (rule 9) takes one
that a binary keeps at or below the maximum.

Rule 9 needs an order of eviction. It exists if each foreign queue with victims has a last victim with which it still
exceeds its quota, and the last below a cohort is the last below its own queue. Units of the same queue and use are a
kind, any of which can be the last. So there is a binary for each queue and kind below it, one for each contested flavor
that may be exceeded, and one for each queue with victims.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from mlsched_admission.formulations._program import Program, Sum, sum_of_terms
from mlsched_admission.instances import Instance
from mlsched_admission.instances.quotas import NO_LIMIT, Quotas

#: Terms of a sum from which on a variable replaces it.
LONG = 16


@dataclasses.dataclass
class QuotaRows:
    """Writes the rows.

    Attributes:
        start: Variable of the first of alike jobs, the number of them that start.
        evict: Variable of each unit that may be evicted.
    """

    program: Program
    instance: Instance
    quotas: Quotas
    start: dict[int, int]
    evict: dict[int, int]

    def __post_init__(self) -> None:
        self._own_use: dict[tuple[int, int], Sum] = {}
        self._own_below: dict[tuple[int, int], Sum] = {}
        self._above: dict[tuple[int, int], Sum] = {}
        self._below: dict[tuple[int, int, int], Sum] = {}
        self._beyond: dict[tuple[int, int, int], Sum] = {}

    def state_limits(self) -> None:
        """State rule 8. If a queue uses too much already, its row applies only to the jobs that use the flavor."""
        stated = set()
        for j, start in self.start.items():
            uses = self.instance.job_use[j]
            path = self.quotas.path_to_root(int(self.instance.job_queue[j]))
            for f in [f for f, use in enumerate(uses.tolist()) if use]:
                for q in path:
                    limit, now = int(self.quotas.allowed[q, f]), int(self.quotas.used[q, f])
                    if limit >= NO_LIMIT or (q, f) in stated:
                        continue
                    if now <= limit:
                        stated.add((q, f))
                        self.program.add_at_most(self._usage_at_most(q, f), limit, "quota", q, f)
                    else:
                        self.program.add_conditional(
                            self.program.add_indicator(start), self._usage_at_most(q, f), limit, "quota", q, f, j
                        )

    def without_borrowing(self, j: int) -> int:
        """Return a variable that may be 1 only if job `j` starts within the subtree quota of its queue (rule 5)."""
        ends = self.program.add_variable("unborrowed", j)
        self.program.add_at_most(Sum({ends: 1, self.start[j]: -1}), 0, "unborrowed_starts", j)
        q = int(self.instance.job_queue[j])
        for f in [f for f, use in enumerate(self.instance.job_use[j].tolist()) if use]:
            self.program.add_conditional(
                ends, self._usage_at_most(q, f), int(self.quotas.subtree[q, f]), "unborrowed_usage", j, f
            )
        return ends

    def _own_usage(self, q: int, f: int) -> Sum:
        """Return the queue's own use."""
        if (q, f) not in self._own_use:
            instance = self.instance
            jobs, units = (instance.job_queue == q).tolist(), (instance.unit_queue == q).tolist()
            terms = [(int(instance.job_use[j, f]), s) for j, s in self.start.items() if jobs[j]]
            terms += [(-int(instance.unit_use[u, f]), x) for u, x in self.evict.items() if units[u]]
            self._own_use[q, f] = sum_of_terms(terms, int(instance.quota_used[q, f]))
        return self._own_use[q, f]

    def _child_queues(self, q: int) -> list[int]:
        return [c for c, above in enumerate(self.quotas.parent) if above == q]

    def _usage_at_most(self, q: int, f: int) -> Sum:
        """Return an upper limit on the usage of a queue; variables of the program can make it equal."""
        if (q, f) not in self._above:
            usage = self._own_usage(q, f)
            for c in self._child_queues(q):
                below = self._usage_at_most(c, f).plus_multiple(Sum(constant=-int(self.quotas.local[c, f])))
                usage = usage.plus_multiple(self._positive_part(below, c, f))
            self._above[q, f] = usage
        return self._above[q, f]

    def _positive_part(self, part: Sum, q: int, f: int) -> Sum:
        """Return an upper limit on max(0, part)."""
        if not any(part.terms.values()):
            return Sum(constant=max(0, part.constant))
        if (largest := self.program.largest_value(part)) <= 0:
            return Sum()
        positive = self.program.add_variable("beyond", q, f, high=largest)
        self.program.add_at_most(part.plus_multiple(Sum({positive: -1})), 0, "beyond_quota", q, f)
        return Sum({positive: 1})

    def order_of_eviction(self) -> None:
        """State rule 9, for the only job."""
        flavors = [int(f) for f in self.quotas.contested(0)]
        own = set(self.quotas.path_to_root(int(self.instance.job_queue[0])))
        for u, x in self.evict.items():
            if not any(int(self.instance.unit_use[u, f]) for f in flavors):
                self.program.add_at_most(Sum({x: 1}), 0, "contested", u)
        kinds: dict[tuple[int, ...], list[int]] = defaultdict(list)
        uses, homes = self.instance.unit_use.tolist(), self.instance.unit_queue.tolist()
        for u in self.evict:
            kinds[homes[u], *uses[u]].append(u)
        last: dict[int, dict[int, int]] = {}
        for q in self.quotas.upwards:
            if q not in own:
                below = [units for (home, *_), units in kinds.items() if q in self.quotas.path_to_root(home)]
                last[q] = self._last_victims(q, flavors, below, last)

    def _last_victims(
        self, q: int, flavors: list[int], below: list[list[int]], last: dict[int, dict[int, int]]
    ) -> dict[int, int]:
        """Map the first unit of a kind to a variable: 1 if one of the kind is the last victim below queue `q`."""
        last_victims = {}
        for u, *more in below:
            last_victims[u] = here = self.program.add_variable("last", q, u)
            home = int(self.instance.unit_queue[u])
            inside = [self.evict[v] for v in (u, *more)] if home == q else [last[self._child_towards(q, home)][u]]
            self.program.add_at_most(sum_of_terms([(1, here), *((-1, x) for x in inside)]), 0, "last_inside", q, u)
            exceeded = [self._may_exceed_quota(q, f, u) for f in flavors]
            row = sum_of_terms([(1, here), *((-1, e) for e in exceeded if e is not None)])
            self.program.add_at_most(row, 0, "last_exceeds", q, u)
        if below:
            loses = self.program.add_variable("loses", q)
            self.program.add_at_most(
                sum_of_terms([(1, loses), *((-1, here) for here in last_victims.values())]), 0, "has_last", q
            )
            for x, u in {self.evict[u]: u for units in below for u in units}.items():
                self.program.add_at_most(Sum({x: 1, loses: -1}), 0, "loses_unit", q, u)
        return last_victims

    def _child_towards(self, q: int, home: int) -> int:
        path = self.quotas.path_to_root(home)
        return path[path.index(q) - 1]

    def _may_exceed_quota(self, q: int, f: int, u: int) -> int | None:
        """Return a variable that may be 1 only if `q` exceeds its quota with victim `u` still there; None if
        impossible.
        """
        usage = self._at_most_usage(q, f, u)
        needed = int(self.quotas.subtree[q, f]) + 1
        if self.program.largest_value(usage) < needed:
            return None
        exceeds = self.program.add_variable("exceeds", q, f, u)
        self.program.add_conditional(exceeds, Sum().plus_multiple(usage, -1), -needed, "exceeds_quota", q, f, u)
        return exceeds

    def _at_most_usage(self, q: int, f: int, u: int) -> Sum:
        """Return a lower limit on the usage of a queue with victim `u` (-1: none) still there; variables can make it
        equal.
        """
        if (q, f, u) in self._below:
            return self._below[q, f, u]
        usage, home = self._own_at_most(q, f), int(self.instance.unit_queue[u]) if u >= 0 else -1
        if home == q:
            usage = usage.plus_multiple(Sum(constant=int(self.instance.unit_use[u, f])))
        path = self.quotas.path_to_root(home)
        for c in self._child_queues(q):
            usage = usage.plus_multiple(self._usage_at_least(c, f, u if c in path else -1))
        self._below[q, f, u] = usage
        return usage

    def _own_at_most(self, q: int, f: int) -> Sum:
        """Return a lower limit on the queue's own use: one variable if it is a long sum, which a row per unit would
        repeat.
        """
        if (q, f) not in self._own_below:
            self._own_below[q, f] = own = self._own_usage(q, f)
            least = own.constant + sum(c for c in own.terms.values() if c < 0)
            if len(own.terms) > LONG and least >= 0:
                uses = self.program.add_variable("uses", q, f, high=self.program.largest_value(own))
                self.program.add_at_most(Sum({uses: 1}).plus_multiple(own, -1), 0, "uses_at_most", q, f)
                self._own_below[q, f] = Sum({uses: 1})
        return self._own_below[q, f]

    def _usage_at_least(self, q: int, f: int, u: int) -> Sum:
        """Return a lower limit, at least 0, on the queue's use beyond its local quota with victim `u` still there."""
        if (q, f, u) not in self._beyond:
            part = self._at_most_usage(q, f, u).plus_multiple(Sum(constant=-int(self.quotas.local[q, f])))
            self._beyond[q, f, u] = self._at_most_positive(part, q, f, u)
        return self._beyond[q, f, u]

    def _at_most_positive(self, part: Sum, *name: int) -> Sum:
        """Return a sum that is at most max(0, part), and may reach it."""
        if not any(part.terms.values()):
            return Sum(constant=max(0, part.constant))
        if (largest := self.program.largest_value(part)) <= 0:
            return Sum()
        amount, on = self.program.add_variable("held", *name, high=largest), self.program.add_variable("holds", *name)
        self.program.add_at_most(Sum({amount: 1, on: -largest}), 0, "held_on", *name)
        self.program.add_conditional(on, Sum({amount: 1}).plus_multiple(part, -1), 0, "held_usage", *name)
        return Sum({amount: 1})
