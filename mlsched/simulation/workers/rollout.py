"""Rollout of a rule over a horizon: the clock runs it on the horizon's jobs, revealed at their arrival.

The result is a schedule of integer workers and PSs, a special case of the horizon's fluid model. An iteration lost to a
re-schedule (Eq. 7) is additional time of a job in a configuration. The judge of `Stages` requires all iterations and
does not limit the time, so the plan is feasible as executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.workers import Horizon, Stages
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.wake import Wake
from mlsched.simulation.workers.log import Log
from mlsched.simulation.workers.options import Options
from mlsched.simulation.workers.workload import MS, NS_PER_MS, Workload
from mlsched.simulation.workers.world import WorkersWorld


def rollout(instance: Horizon, rule: Rule, seed: int) -> Stages:
    """Return the plan of `rule`, called at events, under Eq. 7's floor and the rule's own options (its window)."""
    if not len(instance.arrival):
        return stages(instance, Log())
    world = WorkersWorld(workload_of(instance), Options(**rule.options))
    run_clock(world, rule, scheduling_events=Wake.parse("events"), seed=seed, unit=MS)
    return stages(instance, world.log)


def workload_of(horizon: Horizon) -> Workload:
    """Convert the horizon's jobs to a workload.

    A workload has tables per model, a horizon per job. Jobs of one model that differ in demand or speed become further
    models, listed after the horizon's own, so that smaller indices keep their meaning in the horizon.
    """
    rows: dict[tuple[int, bytes], int] = {}  # (model, its tables) -> the workload's model
    first: dict[int, int] = {}  # the workload's model -> one of its jobs
    model = []
    models_taken: set[int] = set()
    extra = len(horizon.models)
    for job, kind in enumerate(horizon.model.tolist()):
        key = (kind, b"".join(np.ascontiguousarray(a[job]).tobytes() for a in _write_out_tables(horizon)))
        if key not in rows:
            if kind in models_taken:
                rows[key], extra = extra, extra + 1
            else:
                rows[key] = kind
            models_taken.add(kind)
            first[rows[key]] = job
        model.append(rows[key])
    names = list(horizon.models) + [
        f"{horizon.models[int(horizon.model[first[m]])]} ({m})" for m in range(len(horizon.models), extra)
    ]
    if len(set(names)) != len(names):
        raise InvalidInput(f"models = {horizon.models!r}: further kinds of these models need names of their own")
    # A model without jobs takes the tables of the first job: they are never read.
    jobs = [first.get(m, 0) for m in range(extra)]
    worker, ps, time = (table[jobs] for table in _write_out_tables(horizon))
    return Workload(
        resources=horizon.resources,
        models=tuple(names),
        capacity=horizon.capacity,
        worker_demand=worker,
        ps_demand=ps,
        iteration=time,
        submit=horizon.arrival,
        model=np.array(model, dtype=np.int64),
        iterations=horizon.remaining,
        source="a horizon",
    )


def horizon_of(workload: Workload) -> Horizon:
    """Convert the jobs of a workload to a horizon instance: the inverse of `workload_of`."""
    kind = workload.model
    return Horizon(
        resources=workload.resources,
        models=workload.models,
        capacity=workload.capacity,
        worker_demand=workload.worker_demand[kind],
        ps_demand=workload.ps_demand[kind],
        time=workload.iteration[kind],
        remaining=workload.iterations,
        model=kind,
        arrival=workload.submit,
    )


def _write_out_tables(horizon: Horizon) -> tuple[IntArray, IntArray, IntArray]:
    return horizon.worker_demand, horizon.ps_demand, horizon.time


def stages(horizon: Horizon, log: Log) -> Stages:
    """Convert a finished run to a plan of the horizon: one stage between consecutive starts or ends."""
    c: Mapping[str, Any] = log.columns()
    ends = np.unique(np.concatenate([c["start"], c["end"]]))
    place = {time: k for k, time in enumerate(ends.tolist())}  # stages by their end time
    finish = np.zeros(len(horizon.arrival), dtype=np.int64)
    rows: list[tuple[int, int, int, int, int]] = []
    for job, start, end, workers, ps, remaining in zip(*(column.tolist() for column in c.values()), strict=True):
        for k in range(place[start] + 1, place[end] + 1):
            rows.append((k, job, workers, ps, (int(ends[k]) - int(ends[k - 1])) * NS_PER_MS))
        if remaining == 0:
            finish[job] = place[end]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 5)
    stage, job, workers, ps, time = table.T.copy()
    return Stages(ends=ends * NS_PER_MS, stage=stage, job=job, workers=workers, ps=ps, time=time, finish=finish)
