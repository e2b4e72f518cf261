"""Results of a quality run: per-job columns, figures of merit (Section 6.2), and losses and cores over time."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Array, Columns, Data
from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.metrics import percentiles
from mlsched.simulation.quality.log import Log
from mlsched.simulation.quality.workload import Workload

#: Loss reductions whose times the paper reports, percent.
LEVELS = (90, 95)
#: Groups of Fig. 8 and the largest rank (share of the active jobs, highest loss first) in each.
GROUPS = {"high": 0.25, "medium": 0.5, "low": 1.0}


def jobs(workload: Workload, log: Log) -> dict[str, Any]:
    """Return column name -> one value per job, times in s after its submission.

    The columns are start, time to 90 and 95 % of the loss reduction, completion, loss_seconds (integral of the
    normalised loss over its stay) and core_seconds used.
    """
    c, count = log.columns(), len(workload.submit)
    start = np.full(count, np.nan)
    start[c["job"][::-1]] = c["start"][::-1]
    core_seconds = np.bincount(c["job"], weights=c["cores"] * (c["end"] - c["start"]), minlength=count)
    completion = _time_of_work(workload, log, workload.total)
    return {
        "submit": workload.submit,
        "start": start - workload.submit,
        **{f"time_to_{level}_s": reached(workload, log, level / 100) for level in LEVELS},
        "completion_s": completion,
        "loss_seconds": _loss_seconds(workload, log, completion),
        "core_seconds": core_seconds,
    }


def reached(workload: Workload, log: Log, share: float) -> FloatArray:
    """Return seconds from each job's submission to the first iteration with this share of its loss reduction."""
    below = workload.normalised() <= 1 - share + 1e-12
    needed = np.minimum(below.argmax(axis=1), workload.last)  # 0 iterations if the loss cannot fall
    return _time_of_work(workload, log, needed * workload.work)


def _time_of_work(workload: Workload, log: Log, served_work: IntArray) -> FloatArray:
    """Return seconds from submission until each job has done `served_work` core-milliseconds."""
    c = log.columns()
    order = np.argsort(c["job"], kind="stable")
    job, start, after, cores = (c[name][order] for name in ("job", "start", "served", "cores"))
    seconds = np.where(served_work == 0, 0.0, np.nan)
    enough = np.flatnonzero((after >= served_work[job]) & (served_work[job] > 0))
    first = enough[np.unique(job[enough], return_index=True)[1]]  # rows are in order of time
    before = np.where((first > 0) & (job[first - 1] == job[first]), after[first - 1], 0)
    completion = start[first] + (served_work[job[first]] - before) / (1000.0 * cores[first])
    seconds[job[first]] = completion - workload.submit[job[first]]
    return seconds


@dataclasses.dataclass(frozen=True)
class Course:
    """Run between its scheduling events: m intervals, each of `seconds` from `time` on.

    Attributes:
        active: Jobs present in each interval, shape (jobs, m).
        loss: Normalised loss at the interval's start.
        cores: Cores in use; 0 once the job is done, though its cores are taken back only at the next scheduling event.
    """

    time: IntArray
    seconds: IntArray
    active: npt.NDArray[np.bool_]
    loss: FloatArray
    cores: IntArray

    def average_loss(self) -> FloatArray:
        """Return the mean normalised loss of the active jobs of each interval, NaN without active jobs (Fig. 7(a))."""
        count = self.active.sum(axis=0)
        total = np.where(self.active, self.loss, 0.0).sum(axis=0)
        mean: Array = np.divide(total, count, out=np.full(len(self.time), np.nan), where=count > 0)
        return np.asarray(mean, dtype=np.float64)

    def groups(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return Fig. 8: group -> (share of the cores in use, share of the jobs) in each interval with at least 4 jobs.

        Active jobs in order of falling loss: the first quarter, the second, the other half.
        """
        order = np.argsort(np.where(self.active, -self.loss, np.inf), axis=0, kind="stable")
        rank = np.argsort(order, axis=0, kind="stable")
        count, cores_used = self.active.sum(axis=0), self.cores.sum(axis=0)
        is_counted = (count >= 4) & (cores_used > 0)
        position = (rank + 0.5) / np.maximum(count, 1)
        groups, low = {}, 0.0
        for name, high in GROUPS.items():
            member = self.active & (position > low) & (position <= high)
            cores = np.where(member, self.cores, 0).sum(axis=0)
            groups[name] = (
                cores[is_counted] / cores_used[is_counted],
                member.sum(axis=0)[is_counted] / count[is_counted],
            )
            low = high
        return groups


def course(workload: Workload, log: Log) -> Course:
    """Return the run interval by interval; an interval begins at each allocation of cores, arrival and departure."""
    c = log.columns()
    time = np.unique(np.concatenate([c["start"], c["end"], workload.submit]))
    count = len(workload.submit)
    seconds = np.diff(time)
    time = time[:-1]
    level = np.full((count, len(time) + 1), np.nan)
    level[:, 0] = workload.normalised()[:, 0]
    span = np.maximum(workload.loss[:, 0] - workload.lowest, 1)
    level[c["job"], np.searchsorted(time, c["end"])] = (c["loss"] - workload.lowest[c["job"]]) / span[c["job"]]
    # Between its entries, a job keeps its last level: copy it to the right.
    last_row = np.where(np.isnan(level), 0, np.arange(len(time) + 1))
    loss = np.take_along_axis(level, np.maximum.accumulate(last_row, axis=1), axis=1)[:, :-1]
    leave = workload.submit + _time_of_work(workload, log, workload.total)
    active = (time >= workload.submit[:, None]) & (time < leave[:, None])
    cores = np.zeros((count, len(time) + 1), dtype=np.int64)
    np.add.at(cores, (c["job"], np.searchsorted(time, c["start"])), c["cores"])
    np.subtract.at(cores, (c["job"], np.searchsorted(time, c["end"])), c["cores"])
    return Course(time, seconds, active, loss, np.where(active, np.cumsum(cores, axis=1)[:, :-1], 0))


def _loss_seconds(workload: Workload, log: Log, completion: FloatArray) -> FloatArray:
    """Integrate each job's normalised loss from submission to completion, with the loss at each interval's start."""
    over_time = course(workload, log)
    stay = np.clip((workload.submit + completion)[:, None] - over_time.time, 0, over_time.seconds)
    return np.asarray(np.where(over_time.active, over_time.loss * stay, 0.0).sum(axis=1))


def summary(workload: Workload, log: Log) -> Data:
    """Return the paper's figures of merit and additional ones; times in s, means over the jobs.

    - average_loss: mean over the active jobs, averaged over the time with active jobs.
    - summed_loss: sum over the active jobs, averaged over the same time.
    - loss_seconds: a job's integral.
    - cores_by_loss: Fig. 8.
    """
    table, over_time = jobs(workload, log), course(workload, log)
    busy = over_time.active.any(axis=0)
    weights = over_time.seconds[busy]
    totals = np.where(over_time.active, over_time.loss, 0.0).sum(axis=0)[busy]
    core_seconds = float(table["core_seconds"].sum())
    end = float((workload.submit + table["completion_s"]).max(initial=0))
    averages = {
        name: float(np.nanmean(table[name])) if len(workload.submit) else 0.0
        for name in ("time_to_90_s", "time_to_95_s", "completion_s", "loss_seconds")
    }
    return {
        "jobs": len(workload.submit),
        "average_loss": float(np.average(over_time.average_loss()[busy], weights=weights)) if busy.any() else None,
        "summed_loss": float(np.average(totals, weights=weights)) if busy.any() else None,
        **averages,
        "time_to_90_percentiles_s": percentiles(table["time_to_90_s"]),
        "completion_percentiles_s": percentiles(table["completion_s"]),
        "cores_by_loss": {name: _mean_or_none(shares) for name, (shares, _) in over_time.groups().items()},
        "active_jobs": float(np.average(over_time.active.sum(axis=0)[busy], weights=weights)) if busy.any() else 0.0,
        "core_seconds": core_seconds,
        "utilisation": core_seconds / (workload.cores * end) if end else 0.0,
        "makespan_s": end,
    }


def _mean_or_none(values: FloatArray) -> float | None:
    return float(values.mean()) if values.size else None


def series(workload: Workload, log: Log) -> Columns:
    """Return samples for plots of distributions."""
    table = jobs(workload, log)
    return {f"time to {level} % loss reduction [s]": table[f"time_to_{level}_s"] for level in LEVELS} | {
        "completion time [s]": table["completion_s"]
    }
