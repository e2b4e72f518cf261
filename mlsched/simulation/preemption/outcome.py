"""Results of a preemption run: per-job columns, and the paper's tables of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.aliases import Columns, Data
from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.simulation.metrics import PERCENTILES, percentiles, slowdown
from mlsched.simulation.preemption import backlog
from mlsched.simulation.preemption.log import Log
from mlsched.simulation.preemption.workload import Workload

INTERVAL_PERCENTILES = (50, 75, 95, 99)


def jobs(workload: Workload, log: Log) -> dict[str, Any]:
    """Return column name -> one value per job.

    The columns are submit, te, execution, start (first), finish, wait, slowdown and preemptions.
    """
    columns = log.columns()
    count = len(workload.submit)
    start, finish = np.full(count, -1), np.full(count, -1)
    # Rows are ordered by start: writing them backwards leaves each job's first.
    start[columns["job"][::-1]] = columns["start"][::-1]
    is_done = columns["finished"] == 1
    finish[columns["job"][is_done]] = columns["end"][is_done]
    wait = finish - workload.submit - workload.execution
    return {
        "submit": workload.submit,
        "te": workload.te,
        "execution": workload.execution,
        "start": start,
        "finish": finish,
        "wait": wait,
        "slowdown": slowdown(wait, workload.execution),
        "preemptions": np.bincount(columns["job"][columns["signal"] >= 0], minlength=count),
    }


def resumptions(log: Log) -> tuple[IntArray, IntArray]:
    """Return the time of each signal, s, and seconds until the victim's next start (FitGpp, Table 2's interval).

    Victims that finish within their grace period are left out.
    """
    columns = log.columns()
    order = np.lexsort((columns["start"], columns["job"]))
    job, start, signal = columns["job"][order], columns["start"][order], columns["signal"][order]
    resumed = (job[1:] == job[:-1]) & (signal[:-1] >= 0)
    return np.asarray(signal[:-1][resumed]), np.asarray((start[1:] - signal[:-1])[resumed])


def summary(workload: Workload, log: Log) -> Data:
    """Return the paper's figures of merit, and whether the run had a steady state (`backlog.summary`)."""
    table = jobs(workload, log)
    share, work = shares(workload)
    rows = log.columns()
    runs = backlog.Segments(rows["job"], rows["start"], rows["end"])
    return {
        "jobs": len(table["te"]),
        "te_jobs": int(table["te"].sum()),
        **merits(table, resumptions(log)),
        "preemptions": int(table["preemptions"].sum()),
        "mean_completion_s": float((table["finish"] - table["submit"]).mean()) if len(table["te"]) else 0.0,
        "makespan_s": int(table["finish"].max(initial=0)),
        "backlog": backlog.summary(workload.submit, table["finish"], runs, share, work),
    }


def merits(table: Columns, resumed: tuple[IntArray, IntArray], start: float = 0.0, end: float = np.inf) -> Data:
    """Return the paper's figures of merit of the jobs submitted and the signals sent in [start, end), s.

    They are slowdown percentiles by kind, re-scheduling intervals in minutes, and shares of jobs preempted.

    Args:
        table: Result of `jobs`.
        resumed: Result of `resumptions`.
        start, end: Limits of the time, s.
    """
    here = (table["submit"] >= start) & (table["submit"] < end)
    te, preemptions, slowdowns = table["te"][here] == 1, table["preemptions"][here], table["slowdown"][here]
    signal, interval = resumed
    intervals = interval[(signal >= start) & (signal < end)] / 60
    return {
        "te_slowdown": percentiles(slowdowns[te], PERCENTILES),
        "be_slowdown": percentiles(slowdowns[~te], PERCENTILES),
        "rescheduling_interval_min": percentiles(intervals, INTERVAL_PERCENTILES),
        "preempted_share": _share_of(preemptions > 0),
        "preempted_share_of_be": _share_of(preemptions[~te] > 0),
        "preempted_share_by_count": {str(n): _share_of(preemptions == n) for n in (1, 2)}
        | {">=3": _share_of(preemptions >= 3)},
    }


def shares(workload: Workload) -> tuple[FloatArray, FloatArray]:
    """Return each job's demand over the cluster's capacity, averaged over the resources, and that times its days."""
    total = np.maximum(workload.node_capacity.sum(axis=0), 1)
    share = (workload.demand / total).mean(axis=1)
    return share, share * workload.execution / backlog.DAY


def _share_of(marked: BoolArray) -> float:
    """Return the share of the entries that are true, 0 without entries."""
    return float(marked.mean()) if len(marked) else 0.0


def series(workload: Workload, log: Log) -> dict[str, FloatArray]:
    """Return slowdown samples by kind, for plots of their distribution."""
    table = jobs(workload, log)
    te = table["te"] == 1
    return {"TE slowdown": table["slowdown"][te], "BE slowdown": table["slowdown"][~te]}
