"""The fluid model a second time, and an integral one in slots: formulations of a workers horizon for tests alone.

`mip` orders the events by binaries with big-M rows over all configurations; `slots` gives each job one whole
configuration in each slot of time, whole iterations only. Neither shares anything with the library's own algorithms.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from hypothesis import strategies as st

from mlsched.instances.workers import NEVER, Horizon


@st.composite
def horizons(draw, *, jobs: int = 3, workers: int = 2, ps: int = 2, resources: int = 2):
    """Small horizons: ties, equal jobs, gaps in tables, resources that never run short, empty segments."""
    count = draw(st.integers(1, jobs), label="jobs")
    kinds, wide, high = draw(st.integers(1, resources)), draw(st.integers(1, workers)), draw(st.integers(1, ps))

    def table(entries, *shape):
        size = int(np.prod(shape))
        return np.array(draw(st.lists(entries, min_size=size, max_size=size)), dtype=np.int64).reshape(shape)

    seconds = table(st.sampled_from([2, 3, 5, 8, 12, 20, 2**30]), count, wide, high)
    seconds[:, 0, 0] = np.minimum(seconds[:, 0, 0], 20)
    time = np.where(seconds < 2**30, seconds * 10**9, NEVER)
    worker = table(st.sampled_from([0, 1, 1, 2, 3, 5]), count, kinds)
    servers = table(st.sampled_from([0, 0, 1, 2]), count, kinds)
    remaining = table(st.sampled_from([1, 2, 3, 5, 8]), count)
    if count > 1 and draw(st.booleans()):
        time[1], worker[1], servers[1] = time[0], worker[0], servers[0]
    capacity = np.maximum(table(st.integers(1, 6), kinds), (worker + servers).max(axis=0))
    most = draw(st.sampled_from([3_000, 10_000, 40_000, 200_000]), label="latest arrival")
    return Horizon(
        resources=tuple(f"resource-{r}" for r in range(kinds)),
        models=("a", "b"),
        capacity=capacity,
        worker_demand=worker,
        ps_demand=servers,
        time=time,
        remaining=remaining,
        model=table(st.integers(0, 1), count),
        arrival=np.sort(table(st.integers(0, 4), count)) * (most // 4),
    )


def _configurations(horizon, job):
    """(workers, PSs, seconds of an iteration, demand) of every configuration in which the job can train alone."""
    found = []
    _, wide, high = horizon.time.shape
    for w in range(1, wide + 1):
        for p in range(1, high + 1):
            demand = w * horizon.worker_demand[job] + p * horizon.ps_demand[job]
            if horizon.time[job, w - 1, p - 1] != NEVER and (demand <= horizon.capacity).all():
                found.append((w, p, int(horizon.time[job, w - 1, p - 1]) / 1e9, demand.tolist()))
    return found


def _solve(model, gap=1e-9):
    solver = pyo.SolverFactory("appsi_highs")
    solver.options.update({"mip_rel_gap": gap, "mip_abs_gap": 1e-9, "threads": 1, "mip_feasibility_tolerance": 1e-9})
    solver.solve(model)
    return float(pyo.value(model.cost))


def mip(horizon):
    """total_jct of the fluid optimum in ms: binaries say at which of 2n points in time a job arrives or finishes."""
    jobs = range(len(horizon.arrival))
    arrival = [int(a) / 1000 for a in horizon.arrival]
    choices = {j: _configurations(horizon, j) for j in jobs}
    longest = max(arrival) + sum(int(b) * min(c[2] for c in choices[j]) for j, b in enumerate(horizon.remaining))
    points, spans = range(2 * len(jobs)), range(2 * len(jobs) - 1)
    m = pyo.ConcreteModel()
    m.t = pyo.Var(points, bounds=(0, longest))
    m.comes = pyo.Var(jobs, points, domain=pyo.Binary)
    m.ends = pyo.Var(jobs, points, domain=pyo.Binary)
    m.finish = pyo.Var(jobs, bounds=(0, longest))
    m.x = pyo.Var([(j, c, e) for j in jobs for c in range(len(choices[j])) for e in spans], bounds=(0, longest))
    m.rows = pyo.ConstraintList()
    for e in points:
        m.rows.add(sum(m.comes[j, e] + m.ends[j, e] for j in jobs) == 1)
        if e:
            m.rows.add(m.t[e] >= m.t[e - 1])
    for j in jobs:
        m.rows.add(sum(m.comes[j, e] for e in points) == 1)
        m.rows.add(sum(m.ends[j, e] for e in points) == 1)
        for e in points:
            m.rows.add(m.t[e] >= arrival[j] - longest * (1 - m.comes[j, e]))
            m.rows.add(m.t[e] <= arrival[j] + longest * (1 - m.comes[j, e]))
            m.rows.add(m.finish[j] >= m.t[e] - longest * (1 - m.ends[j, e]))
        for e in spans:
            here = sum(m.comes[j, f] - m.ends[j, f] for f in range(e + 1))
            spent = sum(m.x[j, c, e] for c in range(len(choices[j])))
            m.rows.add(spent <= longest * here)
            m.rows.add(spent <= m.t[e + 1] - m.t[e])
        done = sum(m.x[j, c, e] / choice[2] for c, choice in enumerate(choices[j]) for e in spans)
        m.rows.add(done >= int(horizon.remaining[j]))
    for e in spans:
        for r, there in enumerate(horizon.capacity.tolist()):
            used = sum(m.x[j, c, e] * choice[3][r] for j in jobs for c, choice in enumerate(choices[j]))
            m.rows.add(used <= there * (m.t[e + 1] - m.t[e]))
    m.cost = pyo.Objective(expr=sum(m.finish[j] - arrival[j] for j in jobs))
    return 1000 * _solve(m)


def slots(horizon, milliseconds):
    """total_jct in ms when whole configurations change only at slots, and each slot counts whole iterations only.

    None when an arrival is no slot's beginning or too many slots would be needed.
    """
    jobs = range(len(horizon.arrival))
    if any(int(a) % milliseconds for a in horizon.arrival):
        return None
    choices, need = {}, 0
    for j in jobs:
        choices[j] = [(c[3], int(milliseconds / 1000 / c[2] + 1e-9)) for c in _configurations(horizon, j)]
        best = max(done for _, done in choices[j])
        if not best:
            return None
        need += -(-int(horizon.remaining[j]) // best)
    begin = [int(a) // milliseconds for a in horizon.arrival]
    count = max(begin) + need
    if count > 40:
        return None
    m = pyo.ConcreteModel()
    m.x = pyo.Var(
        [(j, c, t) for j in jobs for c in range(len(choices[j])) for t in range(begin[j], count)], domain=pyo.Binary
    )
    m.open = pyo.Var([(j, t) for j in jobs for t in range(begin[j], count)], domain=pyo.Binary)
    m.rows = pyo.ConstraintList()
    for j in jobs:
        mine = range(len(choices[j]))
        for t in range(begin[j], count):
            m.rows.add(sum(m.x[j, c, t] for c in mine) <= m.open[j, t])
            if t > begin[j]:
                m.rows.add(m.open[j, t] <= m.open[j, t - 1])
        done = sum(m.x[j, c, t] * choices[j][c][1] for c in mine for t in range(begin[j], count))
        m.rows.add(done >= int(horizon.remaining[j]))
    for t in range(count):
        for r, there in enumerate(horizon.capacity.tolist()):
            here = [j for j in jobs if begin[j] <= t]
            used = sum(m.x[j, c, t] * choice[0][r] for j in here for c, choice in enumerate(choices[j]))
            if here and not isinstance(used, (int, float)):
                m.rows.add(used <= there)
    m.cost = pyo.Objective(expr=milliseconds * sum(m.open[j, t] for j in jobs for t in range(begin[j], count)))
    return _solve(m)


def contended(rng, jobs=3, gap=8000):
    """A horizon in which jobs of very different demands and lengths delay each other; gap: ms between arrivals."""
    worker = rng.integers(1, 7, (jobs, 2))
    seconds = rng.integers(2, 20, (jobs, 2, 1))
    return Horizon(
        resources=("gpu", "cpu"),
        models=("a",),
        capacity=np.array([6, 6]),
        worker_demand=worker,
        ps_demand=np.zeros((jobs, 2), dtype=np.int64),
        time=seconds * 10**9,
        remaining=rng.integers(1, 10, jobs),
        model=np.zeros(jobs, dtype=np.int64),
        arrival=np.sort(rng.integers(0, 5, jobs)) * gap,
    )
