"""Impossible entries of a log: more in use than the cluster has, starts before submits, unknown nodes.

The check uses only the workload's logged runs, in milliseconds, without rounding to ticks. It makes three comparisons
at every moment: all runs with all nodes; the jobs of a class (a partition, a GPU type) with the nodes that may run
them; and, if the log names nodes, the GPUs in use on each with the GPUs of that node. A run without places uses its
job's demand. At any moment, ends come before starts.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.simulation.nodes import WORDS
from mlsched.simulation.taskgraph.iterations.workload import Jobs

#: Spans of time and jobs that are listed per kind.
NAMED = 3


@dataclasses.dataclass(frozen=True)
class Finding:
    """Impossible entry of a log.

    Attributes:
        kind: "capacity", "start before submit" or "unknown node".
        start_ms, end_ms: Time span after the origin of the log's clock.
        amount, capacity: Worst use and capacity of `resource`, in its usual unit.
        jobs: Names.
    """

    kind: str
    sentence: str
    start_ms: int
    end_ms: int
    resource: str = ""
    where: str = ""
    amount: float = 0.0
    capacity: float = 0.0
    jobs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


def lint(jobs: Jobs) -> list[Finding]:
    """Return the findings, by kind and time; empty if the log is possible or lacks run times."""
    if not len(jobs.logged_job):
        return []
    return [*_capacity_findings(jobs), *_node_findings(jobs), *_early_starts(jobs), *_unknown_nodes(jobs)]


def held(jobs: Jobs) -> IntArray:
    """Return the use of each logged run, shape (runs, resources).

    GPUs are those of its places if given; other resources are the same share of the job's demand.
    """
    demand = np.zeros((len(jobs.gang), len(jobs.resources)), dtype=np.int64)
    np.add.at(demand, jobs.task_template, jobs.demand * (jobs.duration > 0)[:, None])
    amounts = demand[jobs.template[jobs.logged_job]]
    gpu = gpu_column(jobs.resources)
    if gpu < 0 or not len(jobs.place_run):
        return amounts
    known_gpus = np.zeros(len(amounts), dtype=np.int64)
    np.add.at(known_gpus, jobs.place_run, jobs.place_gpus)
    is_known = np.zeros(len(amounts), dtype=np.bool_)
    is_known[jobs.place_run] = True
    is_known[jobs.place_run[jobs.place_gpus < 0]] = False
    whole = amounts[:, gpu].copy()
    of_milli = GPU_UNITS[jobs.resources[gpu]] / 1000
    has = np.rint(known_gpus * of_milli).astype(np.int64)
    part = is_known & (has < whole) & (whole > 0)
    amounts[part] = amounts[part] * has[part, None] // whole[part, None]
    amounts[is_known, gpu] = has[is_known]
    return amounts


def moment(jobs: Jobs, ms: int) -> str:
    """Return a time of the log as text: a date if the log has dates, else seconds on its own clock."""
    if jobs.clock < 2:
        return f"{(jobs.origin_ms + ms) / 1000:.10g} s"
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=jobs.origin_ms + ms)
    return when.isoformat(sep=" ", timespec="seconds") + (" UTC" if jobs.clock == 3 else "")


def _capacity_findings(jobs: Jobs) -> list[Finding]:
    """Return the times with more in use than the capacity of all nodes, or of the nodes of a class."""
    amounts, findings = held(jobs), list[Finding]()
    first = np.array([begin for begin, _ in jobs.tasks], dtype=np.int64)
    of_class = jobs.task_class[first][jobs.template[jobs.logged_job]] if len(first) else jobs.logged_job
    groups = [("the cluster", np.ones(len(amounts), dtype=np.bool_), jobs.node_capacity.sum(axis=0))]
    for number, may in enumerate(jobs.eligible == 1):
        if not may.all() and (of_class == number).any():
            inside = np.array([not (other & ~may).any() for other in jobs.eligible == 1])  # classes within these nodes
            groups.append((_class_name(jobs, number, of_class), inside[of_class], jobs.node_capacity[may].sum(axis=0)))
    for where, rows, capacity in groups:
        runs = np.flatnonzero(rows)
        for r, resource in enumerate(jobs.resources):
            findings += _overload_findings(jobs, runs, amounts[runs, r], int(capacity[r]), resource, where)
    return findings


def _class_name(jobs: Jobs, number: int, of_class: IntArray) -> str:
    """Describe the nodes of a class: by the partition of its jobs, if they share one."""
    partitions = np.unique(jobs.partition[jobs.logged_job[of_class == number]])
    partition = jobs.partition_names[int(partitions[0])] if len(partitions) == 1 and jobs.partition_names else ""
    count = int(jobs.eligible[number].sum())
    return f"partition {partition} ({count} nodes)" if partition else f"{count} nodes that may run such jobs"


def _node_findings(jobs: Jobs) -> list[Finding]:
    """Return the times with more GPUs in use on a node than it has."""
    gpu = gpu_column(jobs.resources)
    if gpu < 0 or not jobs.node_names or not len(jobs.place_run):
        return []
    number = {name: node for node, name in enumerate(jobs.node_names)}
    node_of = np.array([number.get(name, -1) for name in jobs.place_names] + [-1], dtype=np.int64)[jobs.place_name]
    findings: list[Finding] = []
    factor = GPU_UNITS[jobs.resources[gpu]] / 1000
    known_gpus = np.flatnonzero((node_of >= 0) & (jobs.place_gpus > 0))
    known_gpus = known_gpus[np.argsort(node_of[known_gpus], kind="stable")]
    nodes, first = np.unique(node_of[known_gpus], return_index=True)
    for node, rows in zip(nodes.tolist(), np.split(known_gpus, first)[1:], strict=True):
        amount = np.rint(jobs.place_gpus[rows] * factor).astype(np.int64)
        capacity, where = int(jobs.node_capacity[node, gpu]), f"node {jobs.node_names[node]}"
        findings += _overload_findings(jobs, jobs.place_run[rows], amount, capacity, jobs.resources[gpu], where)
    return findings


def _overload_findings(
    jobs: Jobs, runs: IntArray, amount: IntArray, capacity: int, resource: str, where: str
) -> list[Finding]:
    """Return the spans of time in which these runs use more of a resource than its capacity."""
    if not len(runs) or int(amount.sum()) <= capacity:
        return []
    times = np.concatenate([jobs.logged_end[runs], jobs.logged_start[runs]])
    change = np.concatenate([-amount, amount])
    order = np.lexsort((change, times))
    times, level = times[order], np.cumsum(change[order])
    last = np.append(times[1:] != times[:-1], True)  # the level of a moment is that after all of its changes
    times, level = times[last], level[last]
    above = level > capacity
    begins = np.flatnonzero(above & ~np.append(False, above[:-1]))
    findings = []
    for place, begin in enumerate(begins.tolist()):
        end = begin + int((~above[begin:]).argmax())
        peak = begin + int(level[begin:end].argmax())
        findings.append(_excess_at(jobs, runs, int(times[begin]), int(times[end]), int(times[peak]), int(level[peak]),
                             capacity, resource, where))  # fmt: skip
        if place + 1 == NAMED and len(begins) > NAMED:
            span = sum(int(times[b + int((~above[b:]).argmax())] - times[b]) for b in begins.tolist())
            sentence = f"{len(begins) - NAMED} more times on {where}; {span / 3_600_000:.4g} h in all"
            start, until = int(times[begins[NAMED]]), int(times[-1])
            return [*findings, Finding("capacity", sentence, start, until, resource, where)]
    return findings


def _excess_at(
    jobs: Jobs, runs: IntArray, start: int, end: int, peak: int, amount: int, capacity: int, resource: str, where: str
) -> Finding:
    """Return the finding that use exceeds the capacity of a place from `start` to `end`, most at `peak`."""
    word, factor = WORDS.get(resource, (resource, 1))
    there = runs[(jobs.logged_start[runs] <= peak) & (jobs.logged_end[runs] > peak)]
    those = np.unique(jobs.logged_job[there])
    names = _names(jobs, those.tolist())
    unit = {"gpu": "GPUs", "cpu": "CPUs", "gb": "GB"}.get(word, word)
    job_list = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    sentence = (
        f"from {moment(jobs, start)} to {moment(jobs, end)}, {amount / factor:.10g} {unit} are in use on {where}, "
        f"which has {capacity / factor:.10g} (at {moment(jobs, peak)}, by {len(those)} jobs: {job_list})"
    )
    return Finding(
        "capacity", sentence, start, end, resource, where, amount / factor, capacity / factor, tuple(names[:100])
    )


def _names(jobs: Jobs, numbers: Sequence[int]) -> list[str]:
    return [jobs.job_names[job] if jobs.job_names else f"job {job}" for job in numbers]


def _early_starts(jobs: Jobs) -> list[Finding]:
    """Return jobs that start before they are submitted."""
    rows = np.flatnonzero(jobs.logged_start < jobs.submit_ms[jobs.logged_job])
    those = np.unique(jobs.logged_job[rows]).tolist()
    findings = []
    for job, name in zip(those[:NAMED], _names(jobs, those[:NAMED]), strict=True):
        start = int(jobs.logged_start[jobs.logged_job == job].min())
        submit = int(jobs.submit_ms[job])
        sentence = f"{name} starts at {moment(jobs, start)}, {(submit - start) / 1000:.10g} s before its submit"
        findings.append(Finding("start before submit", sentence, start, submit, jobs=(name,)))
    if len(those) > NAMED:
        first = int(jobs.logged_start[rows].min())
        findings.append(Finding("start before submit", f"{len(those) - NAMED} more jobs", first, first))
    return findings


def _unknown_nodes(jobs: Jobs) -> list[Finding]:
    """Return runs on nodes that the cluster lacks."""
    if not jobs.node_names:
        return []
    there = set(jobs.node_names)
    missing = [number for number, name in enumerate(jobs.place_names) if name not in there]
    rows = np.flatnonzero(np.isin(jobs.place_name, missing))
    if not len(rows):
        return []
    runs = jobs.place_run[rows]
    first, last = int(jobs.logged_start[runs].min()), int(jobs.logged_end[runs].max())
    names = [jobs.place_names[number] for number in missing]
    job_list = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    held_there = jobs.place_gpus[rows].clip(0).sum() / 1000
    sentence = (
        f"{len(np.unique(jobs.logged_job[runs]))} jobs ran on {job_list}, which the list of nodes does not have "
        f"({held_there:.10g} GPUs of theirs, the first at {moment(jobs, first)})"
    )
    return [Finding("unknown node", sentence, first, last, where=names[0], amount=held_there)]
