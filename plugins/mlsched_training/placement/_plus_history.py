"""A history of placements with measured speeds, and the speed model that is fitted to it (Harmony Section IV-C).

The history imitates a cluster's logs: placed jobs, and the measured speed of each among the others. Here the judge
measures in the simulated cluster. Only the judge reads the interference and network coefficients behind the speeds:
everything that is trained afterwards, exact answers included, uses the fitted model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import IntArray
from mlsched.instances.placement import Instance, Plan, generate
from mlsched.instances.placement.judge import speeds
from mlsched.learned.placement.plus_speeds import ALONE, PAIRS, network_shares

#: Rounds of the fit.
ROUNDS = 30
#: Draws an instance of a cluster.
Draw = Callable[[np.random.Generator], Instance]


def synthetic_instances(kind: str) -> Draw:
    """Return instances of the paper's testbed with one kind of interference, from idle to full clusters."""

    def draw_instance(rng: np.random.Generator) -> Instance:
        return generate(rng, contention=rng.uniform(0.4, 1.2), model=kind, all_reduce=float(rng.choice([0.0, 0.3])))

    return draw_instance


def fit_tables(rng: np.random.Generator, jobs: int, draw: Draw) -> tuple[dict[str, Array], tuple[str, ...], float]:
    """Return tables of the speed model (tensor -> float32), its types, and its mean relative error on other jobs.

    draw(rng): an instance of the cluster; new jobs of such are placed at random until there are `jobs` with those that
    run. The last tenth is held out. Fitted are the coefficients of `plus_speeds`, at least 0, by the
    squares of relative errors.
    """
    rows, owner, types, slowdown, names = _rows_of_history(rng, jobs, draw)
    held_out = owner >= int(0.9 * len(slowdown))
    table = _fitted_coefficients(rows[~held_out], owner[~held_out], types, slowdown)
    predicted = _predicted_slowdown(table, rows, owner, types)
    last = np.unique(owner[held_out])
    error = float(np.mean(np.abs(slowdown[last] / predicted[last] - 1)))
    count = len(names)
    parts = [table[:, :count], table[:, count : 2 * count], table[:, -2], table[:, -1]]
    tables = {
        name: np.ascontiguousarray(part, dtype=np.float32) for name, part in zip((*PAIRS, *ALONE), parts, strict=True)
    }
    return tables, names, error


def _rows_of_history(
    rng: np.random.Generator, jobs: int, draw: Draw
) -> tuple[Array, Array, Array, Array, tuple[str, ...]]:
    """Return rows of causes of slowdown, shape (rows, 2 types + 2), and data of jobs.

    A row is a server with a part of a job. Returned are the rows, the job of each row, the type and the measured
    slowdown of every job, and the names of the types.
    """
    rows: list[Array] = []
    owner: list[int] = []
    types: list[int] = []
    slowdown: list[float] = []
    names: tuple[str, ...] = ()
    while len(slowdown) < jobs:
        i = draw(rng)
        names, plan = i.types, placed_at_random(i, rng)
        w, p = np.concatenate([i.run_workers, plan.workers]), np.concatenate([i.run_ps, plan.ps])
        kinds = np.concatenate([i.run_type, i.job_type])
        fastest = np.concatenate([i.run_speed, i.job_speed])
        for a, speed in enumerate(speeds(i, plan)):
            if speed:
                for s in np.flatnonzero(w[a] + p[a]).tolist():
                    rows.append(_row_on_server(w, p, kinds, a, s, len(names)))
                    owner.append(len(slowdown))
                slowdown.append(float(fastest[a]) / speed)
                types.append(int(kinds[a]))
    return np.array(rows), np.array(owner), np.array(types), np.array(slowdown), names


def _row_on_server(w: IntArray, p: IntArray, kinds: IntArray, a: int, s: int, count: int) -> Array:
    """Return the row of job a on server s: other jobs' workers, then PSs, by type; then its network terms."""
    others = np.arange(len(kinds)) != a
    row = np.zeros(2 * count + 2)
    np.add.at(row, kinds[others], w[others, s])
    np.add.at(row, count + kinds[others], p[others, s])
    row[-2:] = network_shares(w[a, s], p[a, s], w[a].sum(), p[a].sum(), False)
    return row


def placed_at_random(instance: Instance, rng: np.random.Generator) -> Plan:
    """Place every new job task by task on random servers with space, or not at all if it does not fit completely."""
    w, p = np.zeros((2, len(instance.job_type), len(instance.server_free)), dtype=np.int64)
    free = instance.server_free.copy()
    for j in rng.permutation(len(w)).tolist():
        room, w_j, p_j = free.copy(), w[j].copy(), p[j].copy()
        tasks = [(w_j, instance.worker_demand[j])] * int(instance.job_workers[j])
        tasks += [(p_j, instance.ps_demand[j])] * int(instance.job_ps[j])
        # Some jobs are kept together, so that the history has complete jobs on a server as well as scattered jobs.
        liking = rng.exponential(size=len(room)) ** rng.choice([0.0, 20.0])
        hosted = np.concatenate([instance.run_workers + instance.run_ps, w + p]) > 0
        mates = instance.apart[instance.job_type[j], np.concatenate([instance.run_type, instance.job_type])] > 0
        open_servers = ~hosted[mates].any(axis=0)
        for on, demand in tasks:
            able = np.flatnonzero((room >= demand).all(axis=1) & open_servers)
            if not able.size:
                break
            s = int(rng.choice(able, p=liking[able] / liking[able].sum()))
            on[s] += 1
            room[s] -= demand
        else:
            w[j], p[j], free = w_j, p_j, room
    return Plan(workers=w, ps=p)


def _predicted_slowdown(table: Array, rows: Array, owner: Array, types: Array) -> Array:
    """Return the predicted slowdown of every job, that of its slowest server.

    Args:
        table: Coefficients of each type.
        rows: Regressors of each (job, server) with tasks.
        owner: Job of each row.
        types: Type of each job.
    """
    predicted = np.ones(len(types))
    np.maximum.at(predicted, owner, 1 + (rows * table[types[owner]]).sum(axis=1))
    return predicted


def _fitted_coefficients(rows: Array, owner: Array, types: Array, slowdown: Array) -> Array:
    """Return coefficients (types x columns of `rows`), alternating between slowest servers and least squares."""
    table = np.full((int(types.max()) + 1, rows.shape[1]), 0.2)
    starts = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
    kind, measurements = types[owner[starts]], slowdown[owner[starts]]
    for _ in range(ROUNDS):
        each = (rows * table[types[owner]]).sum(axis=1)
        order = np.lexsort((-each, owner))
        slowest = rows[order[starts]] / measurements[:, None]  # relative errors count
        for t in range(len(table)):
            mine = kind == t
            coefficients = np.linalg.lstsq(slowest[mine], (1 - 1 / measurements)[mine], rcond=None)[0]
            table[t] = np.maximum(coefficients, 0.0)
    return table
