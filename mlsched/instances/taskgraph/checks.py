"""Rules across fields that all records with training jobs share: horizons, snapshots and workloads.

Each function takes a record with the fields that it names and raises InvalidInput for the first violation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, refuse_first

if TYPE_CHECKING:
    from mlsched.instances.taskgraph.instance import Instance
    from mlsched.instances.taskgraph.snapshot import Snapshot


def jobs(record: Any) -> None:
    """Check that a node exists, and that a job's least iterations do not exceed its most."""
    if not len(record.node_capacity):
        raise InvalidInput("node_capacity: 0 nodes, expected at least one")
    minimum = record.min_iterations
    refuse_first(minimum > record.max_iterations, "min_iterations", minimum, "expected at most max_iterations")


def rising(name: str, table: IntArray) -> None:
    """Check that the rows of a table never decrease from one column to the next."""
    falls = np.zeros(table.shape, dtype=bool)
    falls[:, 1:] = np.diff(table, axis=1) < 0
    refuse_first(falls, name, table, "expected at least the entry before it")


def tasks(record: Instance | Snapshot) -> None:
    """Check that tasks are listed job by job (`task_job`), and that every job has a task."""
    grouped("task_job", record.task_job, len(record.arrival), "job")


def grouped(name: str, owner: IntArray, owners: int, what: str) -> None:
    """Check that `owner` lists the owner of each entry, grouped by owner, and that every owner has an entry."""
    refuse_first(owner >= owners, name, owner, f"expected below {owners} (the number of {what}s)")
    back = np.zeros(len(owner), dtype=bool)
    back[1:] = np.diff(owner) < 0
    refuse_first(back, name, owner, f"expected at least the entry before it: tasks come {what} by {what}")
    lacking = np.flatnonzero(np.bincount(owner, minlength=owners) == 0)
    if lacking.size:
        raise InvalidInput(f"{name}: {what} {lacking[0]} has 0 tasks, expected at least one")


def edges(record: Instance | Snapshot) -> None:
    """Check that edges join tasks of one job, and that edges inside an iteration are acyclic."""
    joined(record, record.task_job, "job")


def joined(record: Any, owner: IntArray, what: str) -> None:
    """Check that edges join tasks of one `owner`, and that edges of lag 0 are acyclic."""
    count = len(owner)
    for name in ("edge_from", "edge_to"):
        ends = getattr(record, name)
        refuse_first(ends >= count, name, ends, f"expected below {count} (the number of tasks)")
    apart = owner[record.edge_from] != owner[record.edge_to]
    refuse_first(apart, "edge_to", record.edge_to, f"expected a task of the same {what} as edge_from")
    inside = record.edge_lag == 0
    _refuse_cycle(count, record.edge_from[inside].tolist(), record.edge_to[inside].tolist())


def past(record: Instance | Snapshot) -> None:
    """Check the finished iterations, and the places and times of the last of them."""
    nodes = len(record.node_capacity)
    refuse_first(
        record.finished > record.max_iterations, "finished", record.finished, "expected at most max_iterations"
    )
    refuse_first(record.on_time > record.finished, "on_time", record.on_time, "expected at most finished")
    refuse_first(record.home >= nodes, "home", record.home, f"expected below {nodes} (the number of nodes)")
    refuse_first(
        (record.home < 0) != (record.finished[record.task_job] == 0),
        "home",
        record.home,
        "expected -1 exactly for the tasks of jobs without a finished iteration",
    )
    refuse_first(record.last_end > record.now, "last_end", record.last_end, f"expected at most now ({record.now})")
    early = (record.home >= 0) & (record.last_end < record.arrival[record.task_job])
    refuse_first(early, "last_end", record.last_end, "expected at least the arrival of its job")


def _refuse_cycle(count: int, tails: list[int], heads: list[int]) -> None:
    """Raise InvalidInput when these edges form a cycle (Kahn's algorithm)."""
    waiting = [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for u, v in zip(tails, heads, strict=True):
        waiting[v] += 1
        after[u].append(v)
    ready = [v for v in range(count) if not waiting[v]]
    for u in ready:  # grows while it is read
        for v in after[u]:
            waiting[v] -= 1
            if not waiting[v]:
                ready.append(v)
    if len(ready) < count:
        stuck = next(v for v in range(count) if waiting[v])
        raise InvalidInput(f"edge_to: task {stuck} waits for itself through edges of lag 0; remove the cycle")
