"""Placement by enumeration: every way to place all tasks of each job, or to let it wait."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.placement import Instance, Plan
from mlsched.instances.placement.pace import Pace

#: Limit on plans per run: about 5 s.
MOST_PLANS = 2**20
#: Limit on pairs of a placement of one job and a plan of the others: about 5 s, though few may fit.
MOST_PAIRS = 2**30
#: Placements evaluated at once.
CHUNK = 20_000
#: For up to this number of tasks of a job on a server, the fitting plans are cached (a byte per plan).
MOST_MASKS = 128


@exact_algorithm("brute-force", problem="placement", objectives=("total_speed",), information="oracle")
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Examine every plan; instances of up to 2^20 combinations that fit (about 5 s)."""
    pace, running, deadline = Pace(instance), len(instance.run_type), Deadline(limits.seconds)
    jobs, servers = len(instance.job_type), len(instance.server_free)
    most = min(instance.most_new, instance.most_jobs - running)
    w, p = np.zeros((2, 1, jobs, servers), dtype=np.int64)
    free, placed = instance.server_free[..., None].copy(), np.zeros(1, dtype=np.int64)
    for j in range(jobs):
        mine_w, mine_p = _placements_of_job(instance, j, servers)
        banned = _conflicting_servers(instance, j, w + p)
        options, rows = _fitting_pairs(instance, j, (mine_w, mine_p), free, banned, placed < most, deadline)
        new_w, new_p = w[rows], p[rows]
        new_w[:, j], new_p[:, j] = mine_w[options], mine_p[options]
        w, p = np.concatenate([w, new_w]), np.concatenate([p, new_p])
        if j < jobs - 1:
            need_w = mine_w.T[:, None] * instance.worker_demand[j, :, None]
            need_p = mine_p.T[:, None] * instance.ps_demand[j, :, None]
            need = (need_w + need_p)[..., options]
            free = np.concatenate([free, free[..., rows] - need], axis=-1)
            placed = np.concatenate([placed, placed[rows] + 1])
    best, value = _best(instance, pace, w, p, deadline)
    return Outcome("optimal", Plan(workers=w[best], ps=p[best]), value, work={"plans": len(w)})


def _conflicting_servers(instance: Instance, job: int, tasks: IntArray) -> BoolArray:
    """Return on which servers of which plans (servers x plans) a type conflicts with that of `job`.

    tasks (plans x jobs x servers): number of tasks of each new job on a server.
    """
    apart = instance.apart[instance.job_type[job]] > 0
    running = (instance.run_workers + instance.run_ps > 0)[apart[instance.run_type]].any(axis=0)
    banned = np.tile(running[:, None], len(tasks))
    for other in np.flatnonzero(apart[instance.job_type[:job]]).tolist():
        banned |= tasks[:, other].T > 0
    return banned


def _fitting_pairs(
    instance: Instance,
    job: int,
    ways: tuple[IntArray, IntArray],
    free: IntArray,
    banned: BoolArray,
    may: BoolArray,
    deadline: Deadline,
) -> tuple[IntArray, IntArray]:
    """Return all pairs of a placement of `job` and a plan with room for it, as indices of both.

    Args:
        instance: The instance.
        job: Index of the job.
        ways: Workers and PSs of each placement, shape (placements, servers) each.
        free: Free resources of each plan, shape (servers, resources, plans).
        banned: Servers with a type that must be separate from the job's, shape (servers, plans).
        may: Which plans may place one more job.
        deadline: Raises OutOfTime when it has passed.
    """

    if len(ways[0]) * free.shape[-1] > MOST_PAIRS:
        raise TooLarge(f"brute-force: more than {MOST_PAIRS} ways to add job {job}: use cp-sat or highs")

    @functools.lru_cache(maxsize=MOST_MASKS)
    def room(server: int, workers: int, ps: int) -> Any:
        demand = workers * instance.worker_demand[job] + ps * instance.ps_demand[job]
        return (free[server] >= demand[:, None]).all(axis=0) & ~banned[server]

    fitting, count = [], free.shape[-1]
    for k, parts in enumerate(deadline.over(np.stack(ways, axis=2).tolist())):
        fits = may
        for server, (workers, ps) in enumerate(parts):
            if workers + ps > 0:
                fits = fits & room(server, workers, ps)
        rows = np.flatnonzero(fits)
        fitting.append((np.full(len(rows), k), rows))
        count += len(rows)
        if count > MOST_PLANS:
            raise TooLarge(f"brute-force: more than {MOST_PLANS} plans: use cp-sat or highs")
    options, rows = (np.concatenate([f[i] for f in fitting]) for i in (0, 1))
    return options, rows


def _best(instance: Instance, pace: Pace, w: IntArray, p: IntArray, deadline: Deadline) -> tuple[int, int]:
    """Return index and value of the best plan."""
    best, value = 0, -1
    for start in deadline.over(range(0, len(w), CHUNK)):
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


def _placements_of_job(instance: Instance, job: int, servers: int) -> tuple[IntArray, IntArray]:
    """Return all placements of all tasks of `job` on servers: workers and PSs, placements x servers."""
    of_w, of_p = (_split_count(int(n), servers) for n in (instance.job_workers[job], instance.job_ps[job]))
    if len(of_w) * len(of_p) * servers > MOST_PLANS:
        raise TooLarge(f"brute-force: job {job} has too many placements: use cp-sat or highs")
    return np.repeat(of_w, len(of_p), axis=0), np.tile(of_p, (len(of_w), 1))


def _split_count(count: int, servers: int) -> IntArray:
    """Return all vectors of `servers` counts that sum to `count`."""
    if servers == 1:
        return np.array([[count]], dtype=np.int64)
    rows = []
    for first in range(count + 1):
        rest = _split_count(count - first, servers - 1)
        rows.append(np.concatenate([np.full((len(rest), 1), first), rest], axis=1))
    return np.concatenate(rows)
