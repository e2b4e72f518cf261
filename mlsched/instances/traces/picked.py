"""Traces made of the rows of another: some of its jobs, in another order, at other times, or several times."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.instances.traces.trace import ABSENT, NUMBER_COLUMNS, TEXT_COLUMNS, UNKNOWN, Column, Runs, Trace

#: Columns that are copied unchanged; times on the log's clock are recomputed.
_NUMBERS = tuple(name for name in NUMBER_COLUMNS if name not in ("submit", "eligible_ms"))


def picked(
    trace: Trace, rows: Column, submit: Column, *, ids: Sequence[str] | None = None, runs: Runs | None = None
) -> Trace:
    """Select the jobs `rows` of a trace, submitted at `submit` (seconds after the trace's first submit).

    A job keeps the distances of its logged runs and eligible time from its submit. The new trace and its clock begin
    with its first submit.

    Args:
        trace: The original trace.
        rows: Jobs to select.
        submit: New submit times, in seconds after the trace's first submit.
        ids: Names of the jobs, by default their own.
        runs: Replacement of the jobs' own runs, with times after the trace's first submit.
    """
    order = np.argsort(submit, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    rows, submit = rows[order], submit[order]
    origin = int(submit[0]) if len(submit) else 0
    names = [trace.ids[row] for row in rows.tolist()] if ids is None else [ids[k] for k in order.tolist()]
    eligible = trace.eligible_ms[rows]
    shift = 1000 * (submit - trace.submit[rows])
    columns: dict[str, Any] = {name: getattr(trace, name)[rows] for name in _NUMBERS}
    columns |= {name: tuple(getattr(trace, name)[row] for row in rows.tolist()) for name in TEXT_COLUMNS}
    columns["eligible_ms"] = np.where(eligible == ABSENT, ABSENT, eligible + shift - 1000 * origin)
    if runs is None:
        runs = _shifted_runs_of(trace, rows, shift)
    else:
        by = np.argsort(rank[runs.job], kind="stable")
        places = tuple(runs.places[i] for i in by.tolist())
        runs = Runs(rank[runs.job][by], runs.start_ms[by], runs.end_ms[by], places)
    return dataclasses.replace(
        trace,
        ids=tuple(names),
        submit=submit - origin,
        **columns,
        tasks=tuple(trace.tasks[row] for row in rows.tolist()) if trace.tasks else (),
        runs=Runs(runs.job, runs.start_ms - 1000 * origin, runs.end_ms - 1000 * origin, runs.places),
        origin_ms=trace.origin_ms + 1000 * origin,
    )


def _shifted_runs_of(trace: Trace, rows: Column, shift: Column) -> Runs:
    """Return the logged runs of jobs (which may repeat), each shifted by a number of ms."""
    bounds = np.searchsorted(trace.runs.job, np.stack([rows, rows + 1]))
    counts = bounds[1] - bounds[0]
    total = int(counts.sum())
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    source = np.repeat(bounds[0], counts) + within
    later = np.repeat(shift, counts)
    places = tuple(trace.runs.places[i] for i in source.tolist())
    start, end = trace.runs.start_ms[source] + later, trace.runs.end_ms[source] + later
    return Runs(np.repeat(np.arange(len(rows)), counts), start, end, places)


def from_eligible(trace: Trace) -> tuple[Trace, int]:
    """Return the trace with jobs submitted at their eligible times, and the number of changed jobs."""
    has_eligible = trace.eligible_ms != ABSENT
    submit = np.where(has_eligible, np.maximum(trace.submit, trace.eligible_ms // 1000), trace.submit)
    changed = int((submit != trace.submit).sum())
    if not changed:
        return trace, 0
    return picked(trace, np.arange(len(trace)), submit, runs=trace.runs), changed


def separated(trace: Trace) -> tuple[Trace, int]:
    """Return the trace with one job per run of an interrupted job, and the number of added jobs.

    The first run has the job's id and submit; further runs are `id#run2`, ..., submitted when the previous run ended,
    in integer seconds. A run needs the GPUs that it had, if the log states them. Simultaneous runs (pods of one job)
    stay one job.
    """
    runs, count = trace.runs, len(trace)
    first = np.searchsorted(runs.job, np.arange(count + 1))
    rows, submit, ids, owner = list[int](), list[int](), list[str](), np.zeros(len(runs), dtype=np.int64)
    alone: dict[int, int] = {}  # row of the new trace -> its single run
    for job in range(count):
        own = range(int(first[job]), int(first[job + 1]))
        apart = len(own) > 1 and all(runs.start_ms[k + 1] >= runs.end_ms[k] for k in own[:-1])
        for k, run in enumerate(own if apart else own[:1] or (-1,)):
            begin = int(trace.submit[job])
            rows.append(job)
            submit.append(begin if not k else max(begin, int(runs.end_ms[run - 1]) // 1000))
            ids.append(trace.ids[job] if not k else f"{trace.ids[job]}#run{k + 1}")
            if apart:
                owner[run], alone[len(rows) - 1] = len(rows) - 1, run
        if own and not apart:
            owner[own.start : own.stop] = len(rows) - 1
    more = len(rows) - count
    if not more:
        return trace, 0
    selection = np.array(rows, dtype=np.int64)
    columns = {name: getattr(trace, name)[selection].copy() for name in ("duration_ms", "gpu_count", "gpus_milli")}
    for row, run in alone.items():
        columns["duration_ms"][row] = runs.end_ms[run] - runs.start_ms[run]
        gpu_counts = [gpus for _, gpus in runs.places[run]]
        if gpu_counts and UNKNOWN not in gpu_counts:
            columns["gpus_milli"][row], columns["gpu_count"][row] = sum(gpu_counts), -(-sum(gpu_counts) // 1000)
    times = np.array(submit, dtype=np.int64)
    new_trace = picked(trace, selection, times, ids=ids, runs=Runs(owner, runs.start_ms, runs.end_ms, runs.places))
    order = np.argsort(times, kind="stable")
    return dataclasses.replace(new_trace, **{name: values[order] for name, values in columns.items()}), more
