"""What a policy sees besides where every iteration queues anew (`queueing=iteration`): how what runs and what waits
stand to each other (MLFS, Section 3.4; the state holds all of it, a row has it summed up).

Two orders are summed up: by Eq. 6's priority, and by the estimated time left, the price of a pause counted as `srpt`
with `preempt` does. Of each: how much of the cluster the jobs ahead ask for, and whether the job is within the
cluster's capacity in that order, wherever it has room.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph.measures import Floats, by_class, per_job, remaining_time, shares
from mlsched.heuristics.taskgraph.preemption import prices_of_pauses, within_capacity
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: Columns of the whole: "gave way" is what was chosen to give way and has not come back, "waits" a logarithm.
OF_ALL = ("gave way, of the cluster", "waits, of the cluster")
#: Columns of the choice's job; what is ahead counts half of itself, at most 1.
OF_JOB = (
    "would go on",
    "a pause, of what is left",
    "ahead by Eq. 6, of the cluster",
    "within the cluster by Eq. 6",
    "ahead by what is left, of the cluster",
    "within the cluster by what is left",
)
#: All of them, after the mark of the choice of who gives way.
OF_COMPETITION = ("give way", *OF_ALL, *OF_JOB)
#: So many clusters' worth of waiting jobs, plus 1, as a power of two, count as 1.
MOST_WAITING = 6


class Standing:
    """How the jobs of a snapshot stand to each other. priority: tasks, Eq. 6. `share`: jobs, of the cluster.

    `waits`: OF_ALL's second column; `of_jobs`: jobs x OF_JOB.
    """

    def __init__(self, snapshot: Snapshot, stop_after: IntArray, priority: Floats) -> None:
        self.share = per_job(snapshot, shares(snapshot))
        runs = per_job(snapshot, snapshot.state == RUNNING) > 0
        self.waits = float(np.log2(1 + self.share[~runs].sum())) / MOST_WAITING
        highest = np.full(len(runs), -np.inf)
        np.maximum.at(highest, snapshot.task_job, priority)
        left = remaining_time(snapshot, stop_after)
        columns: list[npt.NDArray[np.generic]] = [
            (snapshot.first_start >= 0) & ~runs,
            snapshot.pause_cost / np.maximum(snapshot.pause_cost + left, 1),
        ]
        whole = np.zeros((len(runs), len(snapshot.resources)), dtype=np.int64)
        np.add.at(whole, snapshot.task_job, snapshot.demand)
        for key in (-highest, left + prices_of_pauses(snapshot)):
            order = np.lexsort((snapshot.job_id, snapshot.arrival, ~runs, key, *by_class(snapshot)))
            ahead, within = np.empty(len(order)), np.empty(len(order), dtype=np.bool_)
            ahead[order] = np.cumsum(self.share[order]) - self.share[order]
            within[order] = within_capacity(whole[order], snapshot.node_capacity.sum(axis=0))
            columns += [np.minimum(ahead / 2, 1), within]
        self.of_jobs = np.stack(columns, axis=1).astype(np.float32)
