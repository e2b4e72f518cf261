"""Slowdowns and speeds of many placements at once, in exact int64 arithmetic.

Concurrent jobs are numbered: running jobs first, then the new jobs. A row of `w` and `p` counts the workers and PSs of
each job on one server.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.placement import Instance

#: Exact slowdowns are numerators over `scale * 10^9`, in thousandths.
UNIT = 10**6


class Pace:
    """The slowdown of every concurrent job on a server, from who else is there."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.running = len(instance.run_type)
        self.kind = np.concatenate([instance.run_type, instance.job_type])
        self.speed = np.concatenate([instance.run_speed, instance.job_speed])
        self.workers = np.concatenate([instance.run_workers.sum(axis=1), instance.job_workers])
        self.ps = np.concatenate([instance.run_ps.sum(axis=1), instance.job_ps])
        count = len(self.kind)
        others = 1 - np.eye(count, dtype=np.int64)
        pair = np.ix_(self.kind, self.kind)
        # Floats represent these sums of integers exactly (they stay far below 2^53), and multiply faster.
        self.by_worker = (instance.sigma_worker[pair] * others).T.astype(np.float64)
        self.by_ps = (instance.sigma_ps[pair] * others).T.astype(np.float64)
        self.use = [
            (
                (others * instance.use_worker[self.kind, d]).T.astype(np.float64),
                (others * instance.use_ps[self.kind, d]).T.astype(np.float64),
            )
            for d in range(len(instance.pressures))
        ]
        self.linear = instance.linear[self.kind]
        self.quadratic = instance.quadratic[self.kind]
        self.per_ps, self.per_worker = np.maximum(self.ps, 1), np.maximum(self.workers - 1, 1)
        self.scale = self.per_ps * self.per_worker
        self.rho_ps = instance.rho_ps[self.kind] * (self.ps > 0)
        self.rho_worker = instance.rho_worker[self.kind] * (self.workers > 1)

    def at_server(self, w: IntArray, p: IntArray) -> IntArray:
        """Return the slowdown in thousandths on servers that host `w`, `p`, all (rows, jobs); 0 without a part."""
        fw, fp = w.astype(np.float64), p.astype(np.float64)
        exact = UNIT * (UNIT + (fw @ self.by_worker + fp @ self.by_ps).astype(np.int64))
        use = [(fw @ by_w + fp @ by_p).astype(np.int64) for by_w, by_p in self.use]
        for d, u in enumerate(use):
            exact += 1000 * self.linear[:, d] * u
            for e, v in enumerate(use):
                exact += self.quadratic[:, d, e] * u * v
        pulls = (w > 0) if self.instance.network_at == "workers" else (w + p > 0)
        network = self.rho_ps * (self.ps - p) * self.per_worker * pulls
        network += self.rho_worker * (self.workers - w) * self.per_ps * (w > 0)
        slowdown = (self.scale * exact + UNIT * network) // (self.scale * 1000 * UNIT)
        return np.asarray(slowdown * (w + p > 0))

    def speeds(self, slowdown: IntArray) -> IntArray:
        """Return the speed of each job at a slowdown, shape (..., jobs); 0 if the slowdown is 0 (not placed)."""
        return np.asarray(np.where(slowdown > 0, self.speed * 1000 // np.maximum(slowdown, 1), 0))

    def total(self, w: IntArray, p: IntArray) -> IntArray:
        """Return total_speed of each placement, shape (plans, jobs, servers), running jobs included."""
        plans, jobs, servers = w.shape
        hosted = [np.moveaxis(x, 1, 2).reshape(plans * servers, jobs) for x in (w, p)]
        # Many plans share server contents: each distinct row is priced once.
        first, which = _distinct(*hosted)
        rows = self.at_server(*(x[first] for x in hosted))[which]
        slowest = rows.reshape(plans, servers, jobs).max(axis=1)
        return np.asarray(self.speeds(slowest).sum(axis=1))


def _distinct(w: IntArray, p: IntArray) -> tuple[IntArray, IntArray]:
    """Return the indices of the distinct rows of (w, p), shape (rows, jobs), and the distinct row of each row."""
    number, most = np.zeros(len(w), dtype=np.int64), 1  # a row so far as one number below `most`
    for column in (*w.T, *p.T):
        base = int(column.max(initial=0)) + 1
        if most * base >= 2**63:
            seen, number = np.unique(number, return_inverse=True)
            most = len(seen)
        number, most = number * base + column, most * base
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    return first, which


def parts_of(workers: int, ps: int) -> list[tuple[int, int]]:
    """Return all nonempty parts (w, p) of a job that one server may host."""
    return [(w, p) for w in range(workers + 1) for p in range(ps + 1) if w + p > 0]


def patterns_of(workers: int, ps: int, allowed: set[tuple[int, int]]) -> list[dict[tuple[int, int], int]]:
    """Return all multisets of allowed parts that sum to (workers, ps), as part -> multiplicity."""
    parts = [part for part in sorted(parts_of(workers, ps), reverse=True) if part in allowed]
    patterns: list[dict[tuple[int, int], int]] = []

    def extend(first: int, w: int, p: int, chosen: dict[Any, int]) -> None:
        if w == 0 and p == 0:
            patterns.append(dict(chosen))
            return
        for index in range(first, len(parts)):
            a, b = parts[index]
            if a <= w and b <= p:
                chosen[parts[index]] = chosen.get(parts[index], 0) + 1
                extend(index, w - a, p - b, chosen)
                chosen[parts[index]] -= 1
                if not chosen[parts[index]]:
                    del chosen[parts[index]]

    extend(0, workers, ps, {})
    return patterns
