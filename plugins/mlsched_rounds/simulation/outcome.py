"""Results of a simulation of rounds: per-job columns and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Data
from mlsched.core.fields import IntArray
from mlsched.simulation.metrics import finish_time_fairness, percentiles
from mlsched_rounds.simulation.adaptation import Progress
from mlsched_rounds.simulation.log import Log
from mlsched_rounds.simulation.workload import MICRO, Workload


def jobs(workload: Workload, log: Log) -> dict[str, Any]:
    """Return column name -> one value for each job, times in s.

    start, end: since the clock began (nan: never); completion: from arrival to end, nan for a job that was dropped;
    gpu_seconds: of running, half of them for a job that shares its GPUs; slices: rounds in which it ran; moves: number
    of changes of type; dropped: 1 for a job that the simulator gave up (Gavel: after five failed slices in a row).
    """
    c, count = log.columns(), len(workload.submit)
    start, end = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(start, c["job"], c["start"] / MICRO)
    np.maximum.at(end, c["job"], c["end"] / MICRO)
    ran = c["failed"] == 0
    dropped = ~_finished_jobs(workload, c["job"][ran], c["steps"][ran])
    seconds = _gpu_seconds(workload, c)
    order = np.lexsort([c["start"], c["job"]])
    job, kind = c["job"][order], c["type"][order]
    moves = (job[1:] == job[:-1]) & (kind[1:] != kind[:-1])
    return {
        "submit": workload.submit / MICRO,
        "start": np.where(np.isfinite(start), start, np.nan),
        "end": np.where(np.isfinite(end), end, np.nan),
        "completion": np.where(dropped, np.nan, end - workload.submit / MICRO),
        "gpu_seconds": np.bincount(c["job"], weights=seconds, minlength=count),
        "slices": np.bincount(c["job"], minlength=count),
        "moves": np.bincount(job[1:][moves], minlength=count),
        "dropped": dropped.astype(np.int64),
    }


def _gpu_seconds(workload: Workload, columns: dict[str, IntArray]) -> npt.NDArray[np.float64]:
    """Return the GPU-seconds of each row of the log; two jobs that share their GPUs have half of them each."""
    seconds = (columns["end"] - columns["start"]) / MICRO * workload.gpus[columns["job"]]
    return np.asarray(np.where(columns["partner"] >= 0, seconds / 2, seconds))


def _finished_jobs(workload: Workload, job: IntArray, steps: IntArray) -> npt.NDArray[np.bool_]:
    """Return the jobs that have done all their steps; slices are in the order of running."""
    if workload.adaptation is None:
        return np.asarray(np.bincount(job, weights=steps, minlength=len(workload.steps)) >= workload.steps)
    progress = Progress(workload.adaptation, workload.steps)
    for one, count in zip(job.tolist(), steps.tolist(), strict=True):
        progress.ran(one, count)
    return np.array([progress.left(one) == 0 for one in range(len(workload.steps))])


def summary(workload: Workload, log: Log) -> Data:
    """Return the metrics, times in s.

    - mean_completion_s: mean of the completion times of jobs that were not dropped (Gavel's average JCT).
    - makespan_s: end of the last round.
    - utilisation: GPU-seconds in which jobs ran over all GPUs' time from the first arrival to that end.
    - packed_slices: slices of jobs that shared their GPUs, if any.
    - lease_kept: share of slices on the GPUs of the round before.
    - worst_slowdown: largest completion time over the job's shortest duration.
    - finish_time_fairness: worst finish-time ratio, and share of the jobs above 1 (see `metrics`). The exclusive time
      is the shortest duration, and dropped jobs are left out.
    """
    table, c = jobs(workload, log), log.columns()
    progress = table["completion"][table["dropped"] == 0]
    first = int(workload.submit[0]) / MICRO if len(workload.submit) else 0.0
    end = float(c["end"].max(initial=0)) / MICRO
    time = int(workload.capacity.sum()) * (end - first)
    per_type = np.bincount(c["type"], weights=_gpu_seconds(workload, c), minlength=len(workload.types))
    slowdown = table["completion"] / workload.shortest
    ends = table["dropped"] == 0
    submit, stay = table["submit"][ends], table["completion"][ends]
    fair = finish_time_fairness(submit, submit + stay, workload.shortest[ends], float(workload.capacity.sum()))
    return {
        "jobs": len(workload.submit),
        "mean_completion_s": float(progress.mean()) if progress.size else None,
        "makespan_s": end,
        "completion_percentiles_s": percentiles(progress),
        "worst_slowdown": float(np.nanmax(slowdown)) if progress.size else None,
        **({"finish_time_fairness": fair} if fair else {}),
        "utilisation": float(table["gpu_seconds"].sum()) / time if time > 0 else 0.0,
        "gpu_hours": {name: float(seconds) / 3600 for name, seconds in zip(workload.types, per_type, strict=True)},
        "rounds": len(np.unique(c["round"])),
        "slices": len(c["job"]),
        **({"packed_slices": packed} if (packed := int((c["partner"] >= 0).sum())) else {}),
        "lease_kept": float(c["kept"].mean()) if c["kept"].size else None,
        "moves": int(table["moves"].sum()),
        "dropped": int(table["dropped"].sum()),
    }


def complete(workload: Workload, log: Log) -> bool:
    """Return whether all jobs were completed; the bounds apply only to such runs."""
    return not jobs(workload, log)["dropped"].any()


def series(workload: Workload, log: Log) -> Data:
    """Return samples for plots of distributions."""
    table = jobs(workload, log)
    progress = table["dropped"] == 0
    return {
        "completion time [s]": table["completion"][progress],
        "completion time / shortest duration": (table["completion"] / workload.shortest)[progress],
    }


def table(workload: Workload, log: Log) -> Data:
    """Return the results of every job, one array per column; names end in their units."""
    result = jobs(workload, log)
    timed = ("submit", "start", "end", "completion")
    names = {"model": np.array(workload.models)} if workload.models else {}
    return {
        "job": np.arange(len(workload.submit)),
        **names,
        "gpus": workload.gpus,
        "steps": workload.steps,
        **{f"{name}_s" if name in timed else name: values for name, values in result.items()},
        "shortest_s": workload.shortest,
    }
