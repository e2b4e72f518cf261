"""Quota trees as arrays, and limits, for models, heuristics and readers. The judge has its own (`judge_quotas.py`)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mlsched.core.fields import EXACT, IntArray
from mlsched_admission.instances.instance import Instance

#: Placeholder for an unlimited amount.
NO_LIMIT = 4 * EXACT


class Quotas:
    """The quota trees of an instance; arrays have shape (queues, flavors). See rules 8 and 9 of the judge.

    Attributes:
        subtree: Subtree quota.
        local: Part of it that other queues cannot use.
        allowed: Total limit of a queue, borrowing included (`NO_LIMIT` if it is unlimited).
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self.parent = instance, instance.quota_parent.tolist()
        depth = [len(self.path_to_root(q)) for q in range(len(self.parent))]
        #: Children before their parents.
        self.upwards = sorted(range(len(self.parent)), key=lambda q: -depth[q])
        self.subtree = instance.quota_nominal.copy()
        self.local = np.zeros_like(self.subtree)
        for q in self.upwards:
            lend = instance.quota_lend[q]
            self.local[q] = np.where(lend >= 0, np.maximum(self.subtree[q] - lend, 0), 0)
            if self.parent[q] >= 0:
                self.subtree[self.parent[q]] += self.subtree[q] - self.local[q]
        root = np.array([above < 0 for above in self.parent], dtype=bool)[:, None]
        borrow = np.where(root, 0, instance.quota_borrow)
        self.allowed = np.where(borrow >= 0, self.subtree + borrow, NO_LIMIT)

    def path_to_root(self, q: int) -> list[int]:
        """Return the queues from a queue to its root; empty for -1."""
        path = []
        while q >= 0:
            path.append(q)
            q = self.parent[q]
        return path

    def usage_of(self, own: IntArray) -> IntArray:
        """Return the usage of each queue, of those below it too; `own` is each queue's own use."""
        usage = own.copy()
        for q in self.upwards:
            if self.parent[q] >= 0:
                usage[self.parent[q]] += np.maximum(usage[q] - self.local[q], 0)
        return usage

    @functools.cached_property
    def used(self) -> IntArray:
        """Return the present usage."""
        return self.usage_of(self.instance.quota_used)

    def changed_use(self, starting: Any, evicted: Any) -> IntArray:
        """Return each queue's own use if these jobs start and these units are evicted."""
        instance, own = self.instance, self.instance.quota_used.copy()
        for j in starting:
            if instance.job_queue[j] >= 0:
                own[instance.job_queue[j]] += instance.job_use[j]
        for u in evicted:
            if instance.unit_queue[u] >= 0:
                own[instance.unit_queue[u]] -= instance.unit_use[u]
        return own

    def fitting_flavors(self, own: IntArray, j: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return the flavors (true or false each) for which the path above job `j` is within its limits, or j's use is
        0.
        """
        path = self.path_to_root(int(self.instance.job_queue[j]))
        within = (self.usage_of(own)[path] <= self.allowed[path]).all(axis=0)
        return np.asarray(within | (self.instance.job_use[j] == 0))

    def borrows(self, own: IntArray, j: int) -> bool:
        """Return whether job `j`'s queue uses more than its subtree quota of a flavor that the job uses."""
        q = int(self.instance.job_queue[j])
        over = self.usage_of(own)[q] > self.subtree[q]
        return bool((over & (self.instance.job_use[j] > 0)).any())

    def contested(self, j: int) -> IntArray:
        """Return the flavors named as contested, or lacking for job `j` now; without any, all its flavors (rule 9)."""
        if self.instance.contested.any():
            return np.flatnonzero(self.instance.contested)
        uses = self.instance.job_use[j] > 0
        if int(self.instance.job_queue[j]) < 0:
            return np.flatnonzero(uses)
        lacking = uses & ~self.fitting_flavors(self.changed_use([j], []), j)
        return np.flatnonzero(lacking if lacking.any() else uses)

    def exceeded_quotas(self) -> list[tuple[int, int]]:
        """Return (queue, flavor) with excessive usage before any start."""
        return [(int(q), int(f)) for q, f in np.argwhere(self.used > self.allowed)]


def within_limits(instance: Instance, starting: list[int], evicted: list[int]) -> bool:
    """Return whether the limits of rule 7 are satisfied if these jobs start and these units are evicted."""
    if not len(instance.limit_left):
        return True
    use = instance.limit_job[:, starting].sum(axis=1)
    released = instance.limit_unit[:, evicted].sum(axis=1)
    return not bool(((use > 0) & (use > instance.limit_left + released)).any())
