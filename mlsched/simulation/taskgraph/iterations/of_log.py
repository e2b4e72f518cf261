"""Columns from a log besides GPUs and times: users, eligible nodes, and the logged runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mlsched.core.aliases import Columns
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.safe_open import shown_path
from mlsched.instances.traces import ABSENT, UNKNOWN, Nodes, Trace
from mlsched.instances.traces.failures import read_failures
from mlsched.instances.traces.source import shown
from mlsched.simulation.taskgraph.iterations.workload import Jobs


def of_users(trace: Trace, kept: IntArray, tick: int) -> Columns:
    """Return the columns of the rows `kept` about users: time limits in ticks of `tick` s (0: unknown), and names.

    Users, groups, partitions and states are numbered, each with a tuple of their names. Jobs have the log's names.
    """
    limit = trace.time_limit_ms[kept]
    ticks = np.where(limit < 0, 0, np.minimum(np.maximum(-(-limit // (1000 * tick)), 1), UNLIMITED))
    columns: Columns = {"time_limit": ticks, "job_names": tuple(trace.ids[row] for row in kept.tolist())}
    for name in ("user", "group", "partition", "status"):
        texts = getattr(trace, name)
        picked = [texts[row] for row in kept.tolist()] if any(texts) else []
        columns[name], columns[f"{name}_names"] = _number_texts(picked, len(kept))
    return columns


def _number_texts(texts: Sequence[str], count: int) -> tuple[IntArray, tuple[str, ...]]:
    """Return a number for each of `count` texts, and the texts by number; empty if all are ''."""
    if not any(texts):
        return np.zeros(count, dtype=np.int64), ()
    names = sorted(set(texts))
    number = {name: k for k, name in enumerate(names)}
    return np.array([number[text] for text in texts], dtype=np.int64), tuple(n or "(unknown)" for n in names)


def priorities(trace: Trace, kept: IntArray, classes: str) -> tuple[IntArray, str]:
    """Return the class of each job, the highest served first, and a description.

    `classes` is "" for a single class, "log" for the numbers of the log, or "high/normal/low" for QoS, the first served
    first.
    """
    none = np.zeros(len(kept), dtype=np.int64)
    if not classes:
        there = (trace.priority[kept] != ABSENT).any() or any(trace.qos[row] for row in kept.tolist())
        return none, "priorities and QoS of the log do not count (set classes)" if there else ""
    if classes == "log":
        numbers = trace.priority[kept]
        if (numbers == ABSENT).all():
            raise InvalidInput(
                f"classes=log: priorities are missing in {shorten(trace.source, 60)}; read priority=COLUMN"
            )
        order = np.unique(numbers)  # jobs without a number come last
        return np.asarray(np.searchsorted(order, numbers)), f"{len(order)} classes by the priorities of the log"
    names = classes.split("/")
    qos = [trace.qos[row] for row in kept.tolist()]
    if unknown := sorted(set(qos) - set(names)):
        raise InvalidInput(
            f"classes={shorten(classes)}: there are jobs of {shown(unknown[0])}; name every QoS, the first served "
            f"first: {'/'.join(sorted(set(qos)))}"
        )
    rank = {name: len(names) - k - 1 for k, name in enumerate(names)}
    return np.array([rank[name] for name in qos], dtype=np.int64), f"classes by QoS: {' before '.join(names)}"


def eligible(
    trace: Trace, kept: IntArray, nodes: Nodes | None, count: int, partitions: str, gpu_types: str
) -> tuple[IntArray, IntArray, str]:
    """Return eligible nodes, shape (classes, nodes), the class of each job, and a description.

    A job may run on the nodes of its partitions with a GPU of its types, if the node list has such columns.

    Args:
        trace: Jobs of the trace.
        kept: Rows of the workload's jobs.
        nodes: Nodes of the cluster.
        count: Number of nodes.
        partitions, gpu_types: Options of these names.
    """
    rules = []
    for name, is_asked, had, option, signs in (
        ("partition", trace.partition, nodes.partition if nodes else (), partitions, ",|;"),
        ("gpu_type", trace.gpu_type, nodes.model if nodes else (), gpu_types, "|,;"),
    ):
        of_jobs = [is_asked[row] for row in kept.tolist()]
        if option == "log" and any(of_jobs) and any(had):
            rules.append((name, of_jobs, [_names(text, signs) for text in had], signs))
    if not rules:
        some = ["partitions"] if any(trace.partition) and partitions == "log" else []
        some += ["GPU types"] if any(trace.gpu_type) and gpu_types == "log" else []
        notes = f"{' and '.join(some)} of the log do not count: the cluster states none" if some else ""
        return np.ones((1, count), dtype=np.int64), np.zeros(len(kept), dtype=np.int64), notes
    keys = list(zip(*(of_jobs for _, of_jobs, _, _ in rules), strict=True))
    number = {key: k for k, key in enumerate(sorted(set(keys)))}
    rows = np.ones((len(number), count), dtype=np.int64)
    for key, row in number.items():
        for text, (name, _, had_names, signs) in zip(key, rules, strict=True):
            job_names = _names(text, signs)
            rows[row] &= np.array(
                [not job_names or not there or bool(job_names & there) for there in had_names], np.int64
            )
            if not rows[row].any():
                job = trace.ids[int(kept[keys.index(key)])]
                there = ", ".join(sorted(set().union(*had_names)))
                raise InvalidInput(
                    f"job {shown(job)} needs {name} {shown(text)}, which is missing; the cluster has "
                    f"{shorten(there, 80)}: correct the list of nodes, or run it anywhere with {name}s=ignore"
                )
    kinds, again = np.unique(rows, axis=0, return_inverse=True)
    notes = " and ".join({"partition": "partitions", "gpu_type": "GPU types"}[name] for name, *_ in rules)
    classes = again.reshape(-1)[[number[key] for key in keys]]
    return np.asarray(kinds), np.asarray(classes), f"{notes} decide which nodes may run a job"


def _names(text: str, signs: str) -> frozenset[str]:
    for sign in signs[1:]:
        text = text.replace(sign, signs[0])
    return frozenset(name.strip().lower() for name in text.split(signs[0]) if name.strip())


def logged(trace: Trace, kept: IntArray, origin_s: int) -> Columns:
    """Return the logged times and nodes of the kept jobs, in ms after `origin_s` (seconds after the first submission).

    The result is empty if the log lacks them for any job.
    """
    rank = np.full(len(trace), -1)
    rank[kept] = np.arange(len(kept))
    of_kept = np.flatnonzero(rank[trace.runs.job] >= 0)
    times: Columns = {
        "origin_ms": trace.origin_ms + 1000 * origin_s,
        "clock": trace.clock,
        "submit_ms": 1000 * (trace.submit[kept] - origin_s),
    }
    if len(np.unique(trace.runs.job[of_kept])) < len(kept):
        return times
    by = of_kept[np.lexsort((trace.runs.start_ms[of_kept], rank[trace.runs.job[of_kept]]))]
    names: dict[str, int] = {}
    rows = []
    for run, place in enumerate(trace.runs.places[i] for i in by.tolist()):
        for name, amount in place:
            rows.append((run, names.setdefault(name, len(names)) if name else -1, amount))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return times | {
        "logged_job": rank[trace.runs.job[by]],
        "logged_start": trace.runs.start_ms[by] - 1000 * origin_s,
        "logged_end": trace.runs.end_ms[by] - 1000 * origin_s,
        "place_run": table[:, 0],
        "place_name": table[:, 1],
        "place_gpus": table[:, 2],
        "place_names": tuple(names),
    }


def killed(trace: Trace, kept: IntArray, limits: str) -> tuple[IntArray, str]:
    """Return the running time of each job, in ms, and a description; "kill" limits it to the job's time limit."""
    length, limit = trace.duration_ms[kept], trace.time_limit_ms[kept]
    if limits != "kill":
        return length, ""
    over = (limit != UNKNOWN) & (length > limit)
    return np.where(over, np.maximum(limit, 1), length), f"{over.sum()} jobs are killed at their time limit"


def failing(jobs: Jobs, path: str, nodes: Nodes | None, tick_ms: float) -> Columns:
    """Read the failures of a workload's nodes from a file. Without a node list they are named 0, 1, ...

    Failures that begin before the first submission begin at tick 0; those that end before it are left out.
    """
    names = [str(number) for number in range(len(jobs.node_capacity))] if nodes is None else list(nodes.ids)
    number = {name: node for node, name in enumerate(names)}
    rows = []
    for failure in read_failures(path, jobs.clock):
        if failure.node not in number:
            raise InvalidInput(
                f"{failure.where}: node {shown(failure.node)} is not one of the cluster's {len(names)} nodes "
                f"({shorten(', '.join(names), 60)}); correct the name"
            )
        start = max(0, math.floor((failure.start_ms - jobs.origin_ms) / tick_ms))
        end = UNLIMITED if failure.end_ms is None else math.ceil((failure.end_ms - jobs.origin_ms) / tick_ms)
        if end > start:
            rows.append((number[failure.node], min(start, UNLIMITED - 1), min(end, UNLIMITED)))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    source = f"{jobs.source}; nodes fail {len(rows)} times, by {shown_path(path)}"
    return {"failure_node": table[:, 0], "failure_from": table[:, 1], "failure_to": table[:, 2], "source": source}
