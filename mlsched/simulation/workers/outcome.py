"""Results of a workers run: per-job columns and figures of merit (Chic, Section 6.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.aliases import Columns, Data
from mlsched.core.fields import IntArray
from mlsched.simulation.metrics import percentiles
from mlsched.simulation.workers.log import PARTS, Log
from mlsched.simulation.workers.workload import MS, NS_PER_MS, Workload

POINTS = (50, 95)


def jobs(workload: Workload, log: Log) -> dict[str, Any]:
    """Return column name -> one value per job, times in seconds.

    The columns are submit, model, iterations, wait (until it first trains), completion (from submission), training
    (with workers and PSs), lost (iterations lost to re-schedules).
    """
    c, count = log.columns(), len(workload.submit)
    start, finish = np.full(count, np.nan), np.full(count, np.nan)
    start[c["job"][::-1]] = c["start"][::-1]  # rows are ordered by start; writing them backwards keeps each job's first
    is_end = c["left"] == 0
    finish[c["job"][is_end]] = c["end"][is_end]
    training_ms = np.bincount(c["job"], weights=c["end"] - c["start"], minlength=count)
    return {
        "submit_s": workload.submit / MS,
        "model": workload.model,
        "iterations": workload.iterations,
        "wait_s": (start - workload.submit) / MS,
        "completion_s": (finish - workload.submit) / MS,
        "training_s": training_ms / MS,
        "lost": _lost_iterations(workload, c),
    }


def _lost_iterations(workload: Workload, c: dict[str, IntArray]) -> Any:
    """Return the iterations that each job started and lost.

    The last segment of a job loses nothing: there, the time beyond its work is less than a ms.
    """
    time = workload.iteration[workload.model[c["job"]], c["workers"] - 1, c["ps"] - 1]
    trained = (c["end"] - c["start"]) * NS_PER_MS / time
    order = np.lexsort((c["start"], c["job"]))
    job, remaining = c["job"][order], c["left"][order]
    before = np.append(0, remaining[:-1])
    first = np.append(True, job[1:] != job[:-1])
    before = np.where(first, workload.iterations[job] * PARTS, before)
    lost_work = np.maximum(trained[order] - (before - remaining) / PARTS, 0)
    lost_work[remaining == 0] = 0
    return np.bincount(job, weights=lost_work, minlength=len(workload.submit))


def summary(workload: Workload, log: Log) -> Data:
    """Return the mean completion time (the paper's ACT) and its distribution, makespan, utilisation, and lost work.

    The utilisation is the used share of each resource from the first submission to the last completion. Workers and PSs
    that idle after their job's completion until the next scheduling event count as free.
    """
    table = jobs(workload, log)
    completion = table["completion_s"]
    count = len(completion)
    return {
        "jobs": count,
        "average_completion_s": float(completion.mean()) if count else None,
        "shortest_completion_s": float(completion.min()) if count else None,
        "completion_s": percentiles(completion, POINTS),
        "longest_completion_s": float(completion.max()) if count else None,
        "average_wait_s": float(table["wait_s"].mean()) if count else None,
        "makespan_s": _makespan_of(workload, log) / MS,
        "utilisation": utilisation(workload, log),
        "lost_iterations_share": float(table["lost"].sum() / workload.iterations.sum()) if count else None,
        "segments": len(log.rows),
    }


def _makespan_of(workload: Workload, log: Log) -> int:
    return max((row[2] for row in log.rows), default=0) - int(workload.submit.min(initial=2**62)) if log.rows else 0


def utilisation(workload: Workload, log: Log) -> dict[str, float]:
    """Return resource -> used share over the makespan; 0 if the cluster lacks the resource."""
    c, span = log.columns(), _makespan_of(workload, log)
    length, model = (c["end"] - c["start"])[:, None], workload.model[c["job"]]
    need = c["workers"][:, None] * workload.worker_demand[model] + c["ps"][:, None] * workload.ps_demand[model]
    use = (need * length).sum(axis=0).tolist()
    return {
        name: amount / (total * span) if total and span else 0.0
        for name, amount, total in zip(workload.resources, use, workload.capacity.tolist(), strict=True)
    }


def series(workload: Workload, log: Log) -> Columns:
    """Return completion times and waits, for plots of their distribution."""
    table = jobs(workload, log)
    return {"completion time [s]": table["completion_s"], "wait [s]": table["wait_s"]}
