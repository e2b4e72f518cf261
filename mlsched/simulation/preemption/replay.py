"""Independent check of a finished preemption run, using only the workload, the options and the log.

1. Every job runs, finishes exactly once, never starts before its submission, never has two places at once.
2. At every instant the demand on a node is within its capacity, for every resource.
3. Work is conserved: the work credited to a job's segments equals its execution time. A segment that ends by a release
credits its length, less the grace period if work pauses in it. For a job without a grace period the length is cut to a
snapshot.
4. A victim leaves exactly its grace period after its signal, unless it finishes within it; TE jobs are never victims.
5. Jobs are never preempted more often than the limit.
6. Starts fall on scheduling events.

The module shares no code with the world.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from mlsched.simulation.findings import SHOWN, Findings
from mlsched.simulation.preemption.log import Log
from mlsched.simulation.preemption.options import Options
from mlsched.simulation.preemption.workload import Workload
from mlsched.simulation.wake import Wake


def violations(workload: Workload, options: Options, wake: Wake, log: Log) -> list[str]:
    """Return the violations in the `log` of a run, by kind; empty if it is sound."""
    findings = Findings()
    segments: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    nodes, count = len(workload.node_capacity), len(workload.submit)
    for row in sorted(log.rows, key=lambda row: (row[2], row[3])):
        if 0 <= row[0] < count and 0 <= row[1] < nodes and row[2] <= row[3]:
            segments[row[0]].append(row)
        else:
            findings.add("log", f"the row {row} names no job or node, or ends before it starts")
    for job in range(count):
        _check_job(workload, options, wake, job, segments[job], findings)
    _check_capacity(workload, log, findings)
    return findings.sentences()


def _check_job(
    workload: Workload, options: Options, wake: Wake, job: int, rows: list[tuple[int, ...]], findings: Findings
) -> None:
    finished = [row for row in rows if row[5]]
    if len(finished) != 1:
        findings.add("lost job", f"job {job} finishes {len(finished)} times")
        return
    if not rows[-1][5]:
        findings.add("lost job", f"job {job} finishes at {finished[0][3]} s and runs again at {rows[-1][2]} s")
    submit, execution = int(workload.submit[job]), int(workload.execution[job])
    if rows[0][2] < submit:
        findings.add("early start", f"job {job} starts at {rows[0][2]} s, before its submission at {submit} s")
    for before, after in zip(rows, rows[1:], strict=False):
        if after[2] < before[3]:
            findings.add("two places", f"job {job} starts again at {after[2]} s, before it left at {before[3]} s")
    credited = sum(_credited_work(workload, options, job, row) for row in rows)
    if credited != execution:
        findings.add("work", f"job {job} did {credited} s of its {execution} s of work")
    signals = [row for row in rows if row[4] >= 0]
    if len(signals) > options.preemption_limit:
        findings.add(
            "preemption limit", f"job {job} is preempted {len(signals)} times, the limit is {options.preemption_limit}"
        )
    for row in signals:
        _check_signal(workload, job, row, findings)
    for row in rows:
        if row[4] < 0 and not row[5]:
            findings.add("signal", f"job {job} leaves at {row[3]} s without having finished or got a signal")
    if wake.interval and not wake.events:
        for row in rows:
            if row[2] % wake.interval:
                findings.add("wake", f"job {job} starts at {row[2]} s, which is no multiple of {wake.interval} s")


def _credited_work(workload: Workload, options: Options, job: int, row: tuple[int, ...]) -> int:
    """Return the seconds of work credited to a segment."""
    _, _, start, end, signal, finished = row
    grace = int(workload.grace[job])
    if signal >= 0 and grace and options.during_grace == "paused":
        return signal - start  # such a victim cannot finish before it has released
    if signal >= 0 and grace == 0 and not finished:
        return (end - start) // options.snapshot * options.snapshot
    return end - start


def _check_signal(workload: Workload, job: int, row: tuple[int, ...], findings: Findings) -> None:
    _, _, start, end, signal, finished = row
    due = signal + int(workload.grace[job])
    if workload.te[job]:
        findings.add("victim", f"TE job {job} is preempted at {signal} s")
    if not start <= signal <= end:
        findings.add("signal", f"job {job} gets a signal at {signal} s while it does not run")
    if end > due or (end < due and not finished):
        findings.add(
            "grace period", f"job {job}, signalled at {signal} s, leaves at {end} s, its grace period ends at {due} s"
        )


def _check_capacity(workload: Workload, log: Log, findings: Findings) -> None:
    """Sweep every node's starts and ends in time order; an end frees before a start at the same instant takes."""
    changes: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for job, node, start, end, _, _ in log.rows:
        if end > start and 0 <= job < len(workload.submit):
            changes[node].append((start, 1, job))
            changes[node].append((end, -1, job))
    for node, events in changes.items():
        if not 0 <= node < len(workload.node_capacity):
            continue
        capacity = workload.node_capacity[node].tolist()
        events.sort(key=lambda e: (e[0], e[1]))
        sign = np.array([e[1] for e in events])[:, None]
        use = np.cumsum(sign * workload.demand[[e[2] for e in events]], axis=0)
        for index in np.flatnonzero((use > capacity).any(axis=1))[:SHOWN].tolist():
            time, over = events[index][0], use[index].tolist()
            findings.add("capacity", f"node {node} holds {over} at {time} s, its capacity is {capacity}")
