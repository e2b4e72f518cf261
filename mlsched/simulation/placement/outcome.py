"""Results of a placement run: per-job columns, and the paper's mean completion time in intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.aliases import Columns, Data
from mlsched.core.fields import FloatArray, IntArray
from mlsched.instances.placement.instance import MILLION
from mlsched.simulation.metrics import percentiles
from mlsched.simulation.placement.log import Log
from mlsched.simulation.placement.workload import Workload


def jobs(workload: Workload, log: Log) -> dict[str, Any]:
    """Return column name -> one value per job.

    - submit, start (placed), finish (its last epoch is trained), leave (its servers are released): in s.
    - wait, completion (finish - submit), whole (from the interval of its submission to that of its departure, both
      counted): in intervals.
    - slowdown: time from start to finish over its isolated length.
    """
    start, finish, leave = times(workload, log)
    length = workload.interval
    training = (finish - start) / length
    return {
        "submit": workload.submit,
        "start": start,
        "finish": finish,
        "leave": leave,
        "wait": (start - workload.submit) / length,
        "completion": (finish - workload.submit) / length,
        "whole": -(-leave // length) - workload.submit // length,
        "slowdown": training * workload.job_speed / MILLION,
    }


def times(workload: Workload, log: Log) -> tuple[IntArray, IntArray, IntArray]:
    """Return when each job is placed, is done, and leaves, s; -1 for never."""
    c, count = log.columns(), len(workload.submit)
    start, finish, leave = np.full((3, count), -1, dtype=np.int64)
    # Rows are ordered by job, then start: writing them backwards leaves each job's first.
    start[c["job"][::-1]] = c["start"][::-1]
    leave[c["job"]] = c["end"]
    same = np.append(False, c["job"][1:] == c["job"][:-1]) if len(c["job"]) else np.zeros(0, dtype=bool)
    before = np.where(same, np.append(0, c["done"][:-1]) if len(c["job"]) else 0, 0)
    last = c["done"] >= workload.total
    needed = -(-(workload.total - before[last]) // np.maximum(c["speed"][last], 1))
    finish[c["job"][last]] = c["start"][last] + needed
    return start, finish, leave


def summary(workload: Workload, log: Log) -> Data:
    """Return the paper's figure of merit (mean completion time in intervals) and its components.

    waiting_jobs: mean number of jobs that wait for a place while jobs arrive. utilisation: share of each resource used
    by placed jobs until the last one leaves.
    """
    table = jobs(workload, log)
    end = int(table["leave"].max(initial=0))
    arriving = int(workload.submit[-1] - workload.submit[0]) if len(workload.submit) else 0
    last = int(workload.submit[-1]) if len(workload.submit) else 0
    waited = np.clip(np.minimum(table["start"], last) - workload.submit, 0, None)
    return {
        "jobs": len(workload.submit),
        "average_completion": _mean_or_none(table["completion"]),
        "average_whole": _mean_or_none(table["whole"]),
        "completion_percentiles": percentiles(table["completion"]),
        "average_wait": _mean_or_none(table["wait"]),
        "average_slowdown": _mean_or_none(table["slowdown"]),
        "waiting_jobs": float(waited.sum() / arriving) if arriving else 0.0,
        "utilisation": _resource_shares(workload, table["leave"] - table["start"], end),
        "makespan": end / workload.interval,
    }


def _resource_shares(workload: Workload, ticks_held: IntArray, end: int) -> dict[str, float]:
    demand = workload.job_workers[:, None] * workload.worker_demand + workload.job_ps[:, None] * workload.ps_demand
    use, capacity = (demand * ticks_held[:, None]).sum(axis=0), workload.server_capacity.sum(axis=0)
    return {
        name: float(use[r] / (capacity[r] * end)) if capacity[r] and end else 0.0
        for r, name in enumerate(workload.resources)
    }


def _mean_or_none(values: FloatArray | IntArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def series(workload: Workload, log: Log) -> Columns:
    """Return samples for plots of distributions."""
    table = jobs(workload, log)
    return {"completion time, intervals": table["completion"], "slowdown": table["slowdown"]}
