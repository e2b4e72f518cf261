"""Placement by enumeration: every whole placement of every job, or waiting."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import answerer
from mlsched.formulations.placement._pace import Pace
from mlsched.instances.placement import Instance, Plan

#: Plans a run may examine: about 5 s.
MOST_PLANS = 2**20
#: Placements evaluated at once.
CHUNK = 20_000


@answerer("brute-force", problem="placement", backend="direct", objectives=("total_speed",))
def answer(instance: Instance, *, objective: str, limits: Limits) -> Outcome:
    """Examine every plan; instances of up to 2^20 combinations that fit (about 5 s)."""
    pace, running = Pace(instance), len(instance.run_type)
    jobs, servers = len(instance.job_type), len(instance.server_free)
    most = min(instance.most_new, instance.most_jobs - running)
    w, p = np.zeros((2, 1, jobs, servers), dtype=np.int64)
    left, placed = instance.server_free[None].copy(), np.zeros(1, dtype=np.int64)
    hosted = (instance.run_workers + instance.run_ps > 0).T.astype(np.int64)
    # How many jobs of each type every server hosts: which types may still come.
    kinds = np.zeros((servers, len(instance.types)), dtype=np.int64)
    for i, kind in enumerate(instance.run_type.tolist()):
        kinds[:, kind] += hosted[:, i]
    types = kinds[None].copy()
    for j in range(jobs):
        mine_w, mine_p = _whole(instance, j, servers)
        need = mine_w[:, :, None] * instance.worker_demand[j] + mine_p[:, :, None] * instance.ps_demand[j]
        here = mine_w + mine_p > 0
        banned = (types @ instance.apart[instance.job_type[j]]) > 0
        grown, count = [], len(w)
        for k in range(len(mine_w)):
            fits = (left >= need[k]).all(axis=(1, 2)) & (placed < most) & ~(banned & here[k]).any(axis=1)
            rows = np.flatnonzero(fits)
            grown.append((np.full(len(rows), k), rows))
            count += len(rows)
            if count > MOST_PLANS:
                raise TooLarge(f"brute-force: more than {MOST_PLANS} plans: use cp-sat or highs")
        options, rows = (np.concatenate([g[i] for g in grown]) for i in (0, 1))
        new_w, new_p, new_types = w[rows], p[rows], types[rows]
        new_w[:, j], new_p[:, j] = mine_w[options], mine_p[options]
        new_types[:, :, instance.job_type[j]] += here[options]
        w, p = np.concatenate([w, new_w]), np.concatenate([p, new_p])
        left = np.concatenate([left, left[rows] - need[options]])
        types, placed = np.concatenate([types, new_types]), np.concatenate([placed, placed[rows] + 1])
    best, value = _best(instance, pace, w, p)
    return Outcome("optimal", Plan(workers=w[best], ps=p[best]), value, work={"plans": len(w)})


def _best(instance: Instance, pace: Pace, w: IntArray, p: IntArray) -> tuple[int, int]:
    """Index and value of the best plan."""
    best, value = 0, -1
    for start in range(0, len(w), CHUNK):
        part = slice(start, start + CHUNK)
        rows = len(w[part])
        full = [
            np.concatenate([np.broadcast_to(run, (rows, *run.shape)), new[part]], axis=1)
            for run, new in ((instance.run_workers, w), (instance.run_ps, p))
        ]
        totals = pace.total(*full)
        if int(totals.max()) > value:
            best, value = start + int(totals.argmax()), int(totals.max())
    return best, value


def _whole(instance: Instance, job: int, servers: int) -> tuple[IntArray, IntArray]:
    """All ways to put all tasks of `job` on servers: workers and PSs, ways x servers."""
    of_w, of_p = (_split(int(n), servers) for n in (instance.job_workers[job], instance.job_ps[job]))
    if len(of_w) * len(of_p) * servers > MOST_PLANS:
        raise TooLarge(f"brute-force: job {job} has too many placements: use cp-sat or highs")
    return np.repeat(of_w, len(of_p), axis=0), np.tile(of_p, (len(of_w), 1))


def _split(count: int, servers: int) -> Any:
    """All vectors of `servers` counts that sum to `count`."""
    if servers == 1:
        return np.array([[count]], dtype=np.int64)
    rows = []
    for first in range(count + 1):
        rest = _split(count - first, servers - 1)
        rows.append(np.concatenate([np.full((len(rest), 1), first), rest], axis=1))
    return np.concatenate(rows)
