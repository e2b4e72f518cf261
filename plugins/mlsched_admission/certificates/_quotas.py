"""Rules 5, 8 and 9 of the admission problem in 0-1 variables: quotas.

Usage of a queue is its own use and, for each child, max(0, usage - local). An upper limit on usage uses a number in
binary digits that is at least the maximum; a lower limit uses one that is at most the maximum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.certificates.formula import Formula, Term

if TYPE_CHECKING:
    from mlsched_admission.instances.instance import Instance

#: Terms and a constant.
Amount = tuple[list[Term], int]


def state_quotas(formula: Formula, instance: Instance, start: list[int], evict: list[int]) -> None:
    """Add the constraints of quotas to a formula with these variables of jobs and units."""
    rows = _Quotas(formula, instance, start, evict)
    for j in range(len(start)):
        rows.state_limits(j)
    rows.without_borrowing()
    if instance.above_nominal:
        rows.state_eviction_order()


class _Quotas:
    def __init__(self, formula: Formula, instance: Instance, start: list[int], evict: list[int]) -> None:
        self.formula, self.instance, self.start, self.evict = formula, instance, start, evict
        self.parent = instance.quota_parent.tolist()
        self.flavors = range(instance.job_use.shape[1])

    # --- constant numbers ---------------------------------------------------------------------------------------------

    def _path_to_root(self, q: int) -> list[int]:
        return [] if q < 0 else [q, *self._path_to_root(self.parent[q])]

    def _children(self, q: int) -> list[int]:
        return [c for c, above in enumerate(self.parent) if above == q]

    def _local_quota(self, q: int, f: int) -> int:
        lend = int(self.instance.quota_lend[q, f])
        return 0 if lend < 0 else max(0, self._subtree_quota(q, f) - lend)

    def _subtree_quota(self, q: int, f: int) -> int:
        from_children = sum(self._subtree_quota(c, f) - self._local_quota(c, f) for c in self._children(q))
        return int(self.instance.quota_nominal[q, f]) + from_children

    def _total_limit(self, q: int, f: int) -> int | None:
        if self.parent[q] < 0:
            return self._subtree_quota(q, f)
        borrow = int(self.instance.quota_borrow[q, f])
        return None if borrow < 0 else self._subtree_quota(q, f) + borrow

    def _usage_now(self, q: int, f: int, more: dict[int, int] | None = None) -> int:
        own = int(self.instance.quota_used[q, f]) + (more or {}).get(q, 0)
        return own + sum(max(0, self._usage_now(c, f, more) - self._local_quota(c, f)) for c in self._children(q))

    def _flavors_of(self, j: int) -> list[int]:
        return [f for f in self.flavors if int(self.instance.job_use[j, f])]

    # --- numbers that depend on the plan ------------------------------------------------------------------------------

    def _own_usage(self, q: int, f: int, staying_unit: int = -1) -> Amount:
        instance = self.instance
        terms = [(int(instance.job_use[j, f]), s) for j, s in enumerate(self.start) if int(instance.job_queue[j]) == q]
        terms += [
            (-int(instance.unit_use[u, f]), x)
            for u, x in enumerate(self.evict)
            if u != staying_unit and int(instance.unit_queue[u]) == q
        ]
        return [(c, x) for c, x in terms if c], int(instance.quota_used[q, f])

    def _binary_number(self, meaning: str, largest: int) -> list[Term]:
        """Return the binary digits of a new number from 0 to at least `largest`."""
        digits = range(max(0, largest).bit_length())
        return [(2**i, self.formula.variable(f"digit {i} of {meaning}")) for i in digits]

    def _usage_at_least(self, q: int, f: int) -> Amount:
        """Return a number that is at least the usage of queue q."""
        terms, constant = self._own_usage(q, f)
        for c in self._children(q):
            below, below_constant = self._usage_at_least(c, f)
            below_constant -= self._local_quota(c, f)
            if not below:
                constant += max(0, below_constant)
                continue
            number = self._binary_number(f"what queue {c} adds of flavor {f}", _largest_sum(below, below_constant))
            negative = [(-a, x) for a, x in number]
            self.formula.at_most("rule 8: usage", [*below, *negative], -below_constant)
            terms = [*terms, *number]
        return terms, constant

    def _usage_at_most(self, q: int, f: int, u: int) -> Amount:
        """Return a number that is at most the usage of queue q while unit u is still there."""
        terms, constant = self._own_usage(q, f, u)
        for c in self._children(q):
            below, below_constant = self._usage_at_most(c, f, u)
            below_constant -= self._local_quota(c, f)
            if not below:
                constant += max(0, below_constant)
                continue
            largest = _largest_sum(below, below_constant)
            number = self._binary_number(f"what queue {c} adds at least of flavor {f} with unit {u}", largest)
            positive = self.formula.variable(f"queue {c} adds of flavor {f} with unit {u}")
            for _, digit in number:
                self.formula.implies("rule 9: usage", digit, positive)
            # number <= below + constant, unless it is 0
            free = sum(a for a, _ in number) + sum(-a for a, _ in below if a < 0) - below_constant
            self._add_conditional(
                "rule 9: usage", positive, [*number, *((-a, x) for a, x in below)], below_constant, max(0, free)
            )
            terms = [*terms, *number]
        return terms, constant

    def _add_conditional(self, family: str, condition: int, terms: list[Term], most: int, excess: int) -> None:
        """Add terms <= most if the condition is 1; the terms are always at most `most + excess`."""
        self.formula.at_most(family, _merge_terms([*terms, (excess, condition)]), most + excess)

    # --- the rules -----------------------------------------------------------------------------------------------

    def state_limits(self, j: int) -> None:
        """State rule 8."""
        for f in self._flavors_of(j):
            for q in self._path_to_root(int(self.instance.job_queue[j])):
                if (limit := self._total_limit(q, f)) is not None:
                    terms, constant = self._usage_at_least(q, f)
                    excess = max(0, _largest_sum(terms, constant) - limit)
                    self._add_conditional("rule 8: quotas", self.start[j], terms, limit - constant, excess)

    def without_borrowing(self) -> None:
        """State rule 5 for jobs that may evict if they end without borrowing."""
        ends = {}
        for j, s in enumerate(self.start):
            if not any(int(w) == 2 for w in self.instance.may[j]):
                continue
            ends[j] = self.formula.variable(f"job {j} starts and ends without borrowing")
            self.formula.implies("rule 5: without borrowing", ends[j], s)
            q = int(self.instance.job_queue[j])
            for f in self._flavors_of(j):
                terms, constant = self._usage_at_least(q, f)
                quota = self._subtree_quota(q, f)
                excess = max(0, _largest_sum(terms, constant) - quota)
                self._add_conditional("rule 5: without borrowing", ends[j], terms, quota - constant, excess)
        for u, x in enumerate(self.evict):
            may = [int(row[u]) for row in self.instance.may]
            if 2 in may:
                by = [ends[j] if w == 2 else self.start[j] for j, w in enumerate(may) if w]
                self.formula.at_least("rule 5: who may evict whom", [*((1, v) for v in by), (-1, x)], 0)

    def state_eviction_order(self) -> None:
        """State rule 9, for job 0, the only one."""
        queue, uses = int(self.instance.job_queue[0]), self._flavors_of(0)
        contested = [f for f in self.flavors if int(self.instance.contested[f])]
        flavors = contested or [f for f in uses if self._lacks_quota(queue, f)] or uses
        for u, x in enumerate(self.evict):
            if not any(int(self.instance.unit_use[u, f]) for f in flavors):
                self.formula.at_most("rule 9: victims use what the job lacks", [(1, x)], 0)
        own = self._path_to_root(queue)
        for root in self._children(-1):
            self._last_victims(root, flavors, own)

    def _lacks_quota(self, queue: int, f: int) -> bool:
        more = {queue: int(self.instance.job_use[0, f])}
        limits = [(self._usage_now(q, f, more), self._total_limit(q, f)) for q in self._path_to_root(queue)]
        return any(limit is not None and now > limit for now, limit in limits)

    def _last_victims(self, q: int, flavors: list[int], own: list[int]) -> dict[int, int]:
        """Return unit -> the variable that is 1 if it may be the last victim below queue q."""
        below = {u: x for u, x in enumerate(self.evict) if int(self.instance.unit_queue[u]) == q}
        for c in self._children(q):
            below |= self._last_victims(c, flavors, own)
        if q in own:
            return below
        last = {}
        for u, before in below.items():
            last[u] = self.formula.variable(f"unit {u} is the last victim below queue {q}")
            self.formula.implies("rule 9: the last victim", last[u], before)
            over = []
            for f in flavors:
                over.append(self.formula.variable(f"queue {q} exceeds its quota of flavor {f} with unit {u}"))
                terms, constant = self._usage_at_most(q, f, u)
                needed = self._subtree_quota(q, f) + 1
                least = constant + sum(a for a, _ in terms if a < 0)
                negative = [(-a, x) for a, x in terms]
                self._add_conditional(
                    "rule 9: above quota", over[-1], negative, constant - needed, max(0, needed - least)
                )
            self.formula.at_least("rule 9: above quota", [*((1, o) for o in over), (-1, last[u])], 0)
        for u in [u for u in range(len(self.evict)) if q in self._path_to_root(int(self.instance.unit_queue[u]))]:
            self.formula.at_least(
                "rule 9: some victim is the last", [*((1, v) for v in last.values()), (-1, self.evict[u])], 0
            )
        return last


def _largest_sum(terms: list[Term], constant: int) -> int:
    return constant + sum(a for a, _ in terms if a > 0)


def _merge_terms(terms: list[Term]) -> list[Term]:
    """Merge terms of the same variable."""
    sums: dict[int, int] = {}
    for a, x in terms:
        sums[x] = sums.get(x, 0) + a
    return [(a, x) for x, a in sums.items()]
