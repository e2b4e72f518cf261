"""Quota trees as arrays, and limits, for models, rules and readers. The judge has its own (`judge_quotas.py`)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mlsched.core.fields import EXACT, IntArray
from mlsched_admission.instances.instance import Instance

#: Stands for an amount that nothing limits.
NO_LIMIT = 4 * EXACT


class Quotas:
    """The quota trees of an instance. Arrays are queues x flavors.

    `subtree`: subtree quota. `local`: the part of it that no other queue can use. `allowed`: what a queue may use in
    all, borrowing included (`NO_LIMIT` where nothing limits it). Rules 8 and 9 of the judge say what these are.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self.parent = instance, instance.quota_parent.tolist()
        depth = [len(self.path(q)) for q in range(len(self.parent))]
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

    def path(self, q: int) -> list[int]:
        """From a queue to its root; nothing for -1."""
        path = []
        while q >= 0:
            path.append(q)
            q = self.parent[q]
        return path

    def usage(self, own: IntArray) -> IntArray:
        """Usage of each queue, of those below it too, where `own` is what each queue itself uses."""
        usage = own.copy()
        for q in self.upwards:
            if self.parent[q] >= 0:
                usage[self.parent[q]] += np.maximum(usage[q] - self.local[q], 0)
        return usage

    @functools.cached_property
    def used(self) -> IntArray:
        """Usage as it is now."""
        return self.usage(self.instance.quota_used)

    def changed(self, started: Any, evicted: Any) -> IntArray:
        """What each queue itself uses when these jobs start and these units are evicted."""
        instance, own = self.instance, self.instance.quota_used.copy()
        for j in started:
            if instance.job_queue[j] >= 0:
                own[instance.job_queue[j]] += instance.job_use[j]
        for u in evicted:
            if instance.unit_queue[u] >= 0:
                own[instance.unit_queue[u]] -= instance.unit_use[u]
        return own

    def fits(self, own: IntArray, j: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Flavors (true or false each) of which the path above job `j` uses no more than it may, or j uses nothing."""
        path = self.path(int(self.instance.job_queue[j]))
        within = (self.usage(own)[path] <= self.allowed[path]).all(axis=0)
        return np.asarray(within | (self.instance.job_use[j] == 0))

    def borrows(self, own: IntArray, j: int) -> bool:
        """Whether job `j`'s queue uses more than its subtree quota of a flavor that the job uses."""
        q = int(self.instance.job_queue[j])
        over = self.usage(own)[q] > self.subtree[q]
        return bool((over & (self.instance.job_use[j] > 0)).any())

    def contested(self, j: int) -> IntArray:
        """The flavors that are named as contested, or that job `j` lacks now; if none, all that it uses (rule 9)."""
        if self.instance.contested.any():
            return np.flatnonzero(self.instance.contested)
        uses = self.instance.job_use[j] > 0
        if int(self.instance.job_queue[j]) < 0:
            return np.flatnonzero(uses)
        lacking = uses & ~self.fits(self.changed([j], []), j)
        return np.flatnonzero(lacking if lacking.any() else uses)

    def exceeded(self) -> list[tuple[int, int]]:
        """(queue, flavor) that uses more than it may already, before anything starts."""
        return [(int(q), int(f)) for q, f in np.argwhere(self.used > self.allowed)]


def within_limits(instance: Instance, started: list[int], evicted: list[int]) -> bool:
    """Rule 7, limits beside the quotas: whether they hold where these jobs start and these units are evicted."""
    if not len(instance.limit_left):
        return True
    use = instance.limit_job[:, started].sum(axis=1)
    given = instance.limit_unit[:, evicted].sum(axis=1)
    return not bool(((use > 0) & (use > instance.limit_left + given)).any())
