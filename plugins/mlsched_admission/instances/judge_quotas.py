"""The judge's rules of quotas.

8. For every job that starts, every flavor it uses, every queue p from its own to the root: usage(p) with the plan <=
   subtree quota(p) + borrowing limit(p) (0 at the root). Subtree quota = nominal + sum over the children of (their
   subtree quota - local); local = max(0, subtree quota - lending limit), 0 without a limit; usage = own use + sum over
   the children of max(0, usage - local).
9. With `above_nominal` (one waiting job; Kueue's classical preemption): every victim uses a contested flavor: one that
   `contested` names; if it names none, one of which the job's use does not fit now; if all fit, any that the job
   uses. And there is an order in which the victims are evicted such that, whenever one goes, its queue and each queue
   above it, below the first that is also above the job's, uses more than its subtree quota of some contested flavor.

Such an order exists exactly where, in each of these queues p that has victims below it, one of them can be the last to
go: with all others gone, p still exceeds its quota; and the last below p is also the last below the child of p that it
is under. (What goes earlier goes while p uses more.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlsched_admission.instances.instance import Instance


class Tree:
    """The quota tree of one flavor, as Python integers."""

    def __init__(self, instance: Instance, f: int) -> None:
        self.parent = instance.quota_parent.tolist()
        self.children: dict[int, list[int]] = defaultdict(list)
        for q, above in enumerate(self.parent):
            self.children[above].append(q)
        self.nominal, self.used = instance.quota_nominal[:, f].tolist(), instance.quota_used[:, f].tolist()
        self.lend, self.borrow = instance.quota_lend[:, f].tolist(), instance.quota_borrow[:, f].tolist()

    def path_to_root(self, q: int) -> list[int]:
        """Return the queues from a queue to its root."""
        return [] if q < 0 else [q, *self.path_to_root(self.parent[q])]

    def local_quota(self, q: int) -> int:
        return max(0, self.subtree_quota(q) - self.lend[q]) if self.lend[q] >= 0 else 0

    def subtree_quota(self, q: int) -> int:
        return int(self.nominal[q] + sum(self.subtree_quota(c) - self.local_quota(c) for c in self.children[q]))

    def usage_of(self, q: int, change: dict[int, int]) -> int:
        """Return the usage, with `change` added to the queues' own use."""
        own = self.used[q] + change.get(q, 0)
        return int(own + sum(max(0, self.usage_of(c, change) - self.local_quota(c)) for c in self.children[q]))

    def total_limit(self, q: int) -> int | None:
        """Return the total limit of the queue; None if it is unlimited."""
        if self.parent[q] < 0:
            return self.subtree_quota(q)
        return None if self.borrow[q] < 0 else self.subtree_quota(q) + self.borrow[q]

    def exceeded_limits(self, q: int, change: dict[int, int]) -> list[tuple[int, int, int]]:
        """Return (queue, usage, allowed) for each queue on the path to the root that exceeds its limit."""
        usages = [(p, self.usage_of(p, change), self.total_limit(p)) for p in self.path_to_root(q)]
        return [(p, usage, limit) for p, usage, limit in usages if limit is not None and usage > limit]


def _change_of_use(instance: Instance, f: int, starting: Sequence[int], evicted: Sequence[int]) -> dict[int, int]:
    """Return the change of each queue's use of flavor `f` under a plan."""
    change: dict[int, int] = defaultdict(int)
    for j in starting:
        change[int(instance.job_queue[j])] += int(instance.job_use[j, f])
    for u in evicted:
        change[int(instance.unit_queue[u])] -= int(instance.unit_use[u, f])
    return change


def _flavors_of(instance: Instance, j: int) -> list[int]:
    return [f for f, use in enumerate(instance.job_use[j].tolist()) if use > 0]


def over_quota(instance: Instance, starting: Sequence[int], evicted: Sequence[int]) -> list[str]:
    """Yield the errors of rule 8."""
    faults: dict[tuple[int, int], str] = {}
    for j in starting:
        for f in _flavors_of(instance, j):
            change = _change_of_use(instance, f, starting, evicted)
            for p, usage, limit in Tree(instance, f).exceeded_limits(int(instance.job_queue[j]), change):
                faults[p, f] = f"queue {p} uses {usage} of flavor {f}: expected at most {limit}"
    return list(faults.values())


def queue_borrows(instance: Instance, j: int, starting: Sequence[int], evicted: Sequence[int]) -> bool:
    q = int(instance.job_queue[j])
    for f in _flavors_of(instance, j):
        tree = Tree(instance, f)
        if tree.usage_of(q, _change_of_use(instance, f, starting, evicted)) > tree.subtree_quota(q):
            return True
    return False


def contested_flavors(instance: Instance, j: int) -> list[int]:
    """Return the flavors for which job `j` would need preemption (rule 9)."""
    if flavors := [f for f, flag in enumerate(instance.contested.tolist()) if flag]:
        return flavors
    queue, uses = int(instance.job_queue[j]), _flavors_of(instance, j)
    lacking = [f for f in uses if Tree(instance, f).exceeded_limits(queue, {queue: int(instance.job_use[j, f])})]
    return lacking or uses


def not_reclaimable(instance: Instance, evicted: Sequence[int]) -> list[tuple[int, str]]:
    """Check rule 9: some order evicts each victim while the queues above it exceed their quota."""
    flavors = contested_flavors(instance, 0)
    faults = [
        (u, f"unit {u} is evicted: it uses no flavor that job 0 lacks")
        for u in evicted
        if not any(int(instance.unit_use[u, f]) for f in flavors)
    ]
    if faults:
        return faults
    above_job = set(Tree(instance, 0).path_to_root(int(instance.job_queue[0])))
    trees = {f: Tree(instance, f) for f in flavors}
    after = {f: _change_of_use(instance, f, (), evicted) for f in flavors}

    def exceeds_quota(p: int, u: int) -> bool:
        """Return whether queue p exceeds its quota just before u, the last victim below p, is evicted."""
        q = int(instance.unit_queue[u])
        for f, tree in trees.items():
            with_it = {**after[f], q: after[f].get(q, 0) + int(instance.unit_use[u, f])}
            if tree.usage_of(p, with_it) > tree.subtree_quota(p):
                return True
        return False

    def last_victims_below(p: int) -> list[int]:
        """Return the possible last victims below p; empty without a possible last one."""
        below = [u for u in evicted if int(instance.unit_queue[u]) == p]
        for child in trees[flavors[0]].children[p]:
            below += last_victims_below(child)
        able = [u for u in below if p in above_job or exceeds_quota(p, u)]
        if below and not able:
            faults.append(
                (below[-1], f"queue {p} does not exceed its quota of what job 0 lacks when its last victim goes")
            )
        return able

    for root in trees[flavors[0]].children[-1]:
        last_victims_below(root)
    return faults
