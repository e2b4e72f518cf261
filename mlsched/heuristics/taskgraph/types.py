"""Choice of the type of nodes of a job, if there are several: a gang uses one type at a time.

A rule without rates treats nodes alike. A job of one task chooses among all of them; a gang of several tries the
types one after another, the fullest first. A rule that sees rates tries the types on which the job is fastest first
(`fastest`), and may leave out some (`only`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import BoolArray, IntArray
from mlsched.heuristics.taskgraph.measures import tasks_of

if TYPE_CHECKING:
    from mlsched.heuristics.taskgraph.place import Placer
    from mlsched.instances.taskgraph import Snapshot

#: Slowness is in parts per million.
WHOLE = 10**6


def of(snapshot: Snapshot, seen: bool) -> Types | None:
    """Return the types of a snapshot's nodes; None for a single type. seen: the rule sees rates."""
    return Types(snapshot, seen) if snapshot.node_type.any() else None


class Types:
    """`masks`: the nodes of each type; `only`: job -> its allowed types at present, in the order of trial."""

    def __init__(self, snapshot: Snapshot, seen: bool) -> None:
        self._snapshot = snapshot
        self.masks: list[BoolArray] = [snapshot.node_type == m for m in range(int(snapshot.node_type.max()) + 1)]
        self.only: dict[int, list[int]] = {}
        self._seen = seen

    def start(self, placer: Placer, task: int) -> bool:
        """Start a task, with its gang, on the first type that has room; return False without room."""
        for among in self._candidate_sets(placer, task):
            placer.among = among
            if placer.start_here(task):
                break
        else:
            placer.among = None
            return False
        placer.among = None
        return True

    def _candidate_sets(self, placer: Placer, task: int) -> list[BoolArray | None]:
        """Return the sets of nodes that a task, with its gang, tries one after another; None: all nodes."""
        job = int(self._snapshot.task_job[task])
        if self._seen:
            order = self.only.get(job)
            return [self.masks[m] for m in (fastest(self._snapshot, task) if order is None else order)]
        first, end = tasks_of(self._snapshot, job)
        if not self._snapshot.gang[job] or end - first == 1:
            return [None]
        free = np.maximum(placer.free, 0) @ (1 / placer.largest)
        return sorted(self.masks, key=lambda nodes: float(free[nodes].sum()))


def refuse_types(snapshot: Snapshot) -> None:
    """Refuse a snapshot whose nodes are of several types, for rules that choose a node for each task."""
    if snapshot.node_type.any():
        raise InvalidInput(
            "nodes: several types, expected one type for the rules of MLFS; choose another rule, such as srpt, or "
            "leave "
            "out throughputs"
        )


def fastest(snapshot: Snapshot, task: int) -> list[int]:
    """Return the types of nodes that may run a task, the fastest first; equal types in their order."""
    kind = int(snapshot.task_class[task])
    there: list[int] = np.unique(snapshot.node_type[snapshot.eligible[kind] == 1]).tolist()
    return sorted(there, key=lambda m: slowness_on(snapshot, task, m))


def slowness_on(snapshot: Snapshot, task: int, kind: int) -> int:
    """Return how long a task takes on nodes of a type, in ppm of the stated duration."""
    return int(snapshot.slowness[snapshot.task_class[task], kind]) if snapshot.slowness.shape[1] else WHOLE


def least_slowness(snapshot: Snapshot) -> IntArray:
    """Return each job's slowness on its fastest type, in ppm of the stated duration; of the class of its first task."""
    first = np.searchsorted(snapshot.task_job, np.arange(len(snapshot.arrival)))
    if not snapshot.slowness.shape[1]:
        return np.full(len(first), WHOLE)
    there = [snapshot.eligible[:, snapshot.node_type == m].any(axis=1) for m in range(snapshot.slowness.shape[1])]
    least = np.where(np.array(there).T, snapshot.slowness, np.iinfo(np.int64).max).min(axis=1)
    return np.asarray(least[snapshot.task_class[first]])
