"""The choices of each job: columns of a multiple-choice knapsack, without columns that an optimum does not need.

A column is a number of workers and PSs of a job, with its use of every resource and its cost. The first column of
each job is to wait; it is always kept. A complete list has every column of every feasible plan. Otherwise three kinds
of columns are dropped: columns that exceed the capacity by themselves, columns that cost at least as much as waiting,
and *dominated* columns. A column is dominated if another column of the job costs at most as much and uses at most as
much of every resource (of equal columns, the first is kept). For any plan with a dominated column there is an equally
good plan without it, so the optimum remains the same. Resources that the jobs cannot exceed with any choices are
dropped too.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.fields import EXACT, BoolArray, IntArray
from mlsched.instances.workers import NEVER, Instance, Plan


@dataclasses.dataclass(frozen=True)
class Columns:
    """All columns, job after job: job j has the columns `first[j]` to `first[j + 1] - 1`, and its first is to wait.

    job, workers, ps, cost: of each column. use: columns x resources that the jobs can exceed. capacity: of these
    resources, whose numbers in the instance are `resource`.
    """

    jobs: int
    job: IntArray
    workers: IntArray
    ps: IntArray
    cost: IntArray
    use: IntArray
    capacity: IntArray
    resource: IntArray

    @property
    def first(self) -> IntArray:
        """Return the first column of each job, and the number of columns as the last entry."""
        return np.searchsorted(self.job, np.arange(self.jobs + 1))

    def keep(self, mask: BoolArray | IntArray) -> Columns:
        """Return only the columns marked in `mask`."""
        full = {name: getattr(self, name)[mask] for name in ("job", "workers", "ps", "cost", "use")}
        return dataclasses.replace(self, **full)

    def plan(self, chosen: Any) -> Plan:
        """Return the plan of one column per job, by index; jobs without a column wait."""
        workers, ps = np.zeros(self.jobs, dtype=np.int64), np.zeros(self.jobs, dtype=np.int64)
        index = np.asarray(chosen, dtype=np.int64)
        workers[self.job[index]], ps[self.job[index]] = self.workers[index], self.ps[index]
        return Plan(workers=workers, ps=ps)

    def chosen(self, plan: Plan) -> IntArray:
        """Return the columns of `plan`, by index; a job waits instead if its column was dropped."""
        first, selection = self.first, []
        for j in range(self.jobs):
            mine = slice(int(first[j]), int(first[j + 1]))
            same = (self.workers[mine] == plan.workers[j]) & (self.ps[mine] == plan.ps[j])
            selection.append(int(first[j]) + (int(np.argmax(same)) if same.any() else 0))
        return np.array(selection, dtype=np.int64)


def columns(
    instance: Instance, cost: IntArray | None = None, waiting: IntArray | None = None, *, complete: bool = False
) -> Columns:
    """Return the columns of `instance` that an optimum may need, or all of them.

    cost, waiting: integers to be minimised in place of the instance's own, of the same shapes, `NEVER` included.
    """
    costs = instance.cost if cost is None else cost
    waits = instance.waiting if waiting is None else waiting
    jobs, most_workers, most_ps = costs.shape
    of_workers = np.multiply.outer(np.arange(1, most_workers + 1, dtype=np.int64), instance.worker_demand)
    of_ps = np.multiply.outer(np.arange(1, most_ps + 1, dtype=np.int64), instance.ps_demand)
    use: IntArray = of_workers.swapaxes(0, 1)[:, :, None, :] + of_ps.swapaxes(0, 1)[:, None, :, :]
    worse = NEVER if complete else waits[:, None, None]
    open_ = (use <= instance.capacity).all(axis=3) & (costs < worse)
    offered = np.where(open_, costs, NEVER)
    # Fewer workers and PSs at an equal or lower cost: most dominated columns, found for all jobs at once.
    cheapest = np.full((jobs, most_workers + 1, most_ps + 1), NEVER)
    cheapest[:, 1:, 1:] = np.minimum.accumulate(np.minimum.accumulate(offered, axis=1), axis=2)
    survivors = open_ if complete else open_ & (offered < cheapest[:, :-1, 1:]) & (offered < cheapest[:, 1:, :-1])
    rows = np.argwhere(survivors)
    at = tuple(rows.T)
    job, selection = rows[:, 0], np.full(len(rows), complete)
    value, amounts = offered[at], use[at]
    ends = np.searchsorted(job, np.arange(jobs + 1))
    for j in () if complete else range(jobs):
        mine = np.arange(ends[j], ends[j + 1])
        selection[_undominated(mine, value, amounts)] = True
    every = np.arange(jobs)
    order = np.argsort(np.concatenate([every, job[selection]]), kind="stable")
    zeros = np.zeros(jobs, dtype=np.int64)

    def joined(waiting: IntArray, running: IntArray) -> IntArray:
        return np.concatenate([waiting, running[selection]])[order]

    all_use = joined(np.zeros((jobs, len(instance.capacity)), dtype=np.int64), amounts)
    all_jobs = joined(every, job)
    short = complete | scarce_resources(all_jobs, all_use, instance.capacity, jobs)
    return Columns(
        jobs=jobs,
        job=all_jobs,
        workers=joined(zeros, rows[:, 1] + 1),
        ps=joined(zeros, rows[:, 2] + 1),
        cost=joined(waits, value),
        use=np.ascontiguousarray(all_use[:, short]),
        capacity=instance.capacity[short],
        resource=np.flatnonzero(short),
    )


def _undominated(mine: IntArray, cost: IntArray, use: IntArray) -> IntArray:
    """Return the columns `mine` without dominated columns."""
    if not len(mine):
        return mine
    # In this order a column can only be dominated by an earlier column; equals keep their order.
    order = mine[np.lexsort((use[mine].sum(axis=1), cost[mine]))]
    amounts = use[order]
    covers = (amounts[:, None, :] <= amounts[None, :, :]).all(axis=2)
    earlier = np.triu(covers, 1).any(axis=0)
    return order[~earlier]


def scarce_resources(job: IntArray, use: IntArray, capacity: IntArray, jobs: int) -> Any:
    """Return which resources the jobs exceed if each chooses its column with the largest use, shape (resources,).

    Args:
        job: Job of each column.
        use: Use of each column, shape (columns, resources).
        capacity: Capacity of each resource.
        jobs: Number of jobs.
    """
    worst = np.zeros((jobs, len(capacity)), dtype=np.int64)
    np.maximum.at(worst, job, use)
    return worst.sum(axis=0) > capacity


def total(choice: Columns, chosen: IntArray) -> int:
    """Sum the costs of the columns `chosen`; below 2^53 by the instance's own rule."""
    value = int(choice.cost[chosen].sum())
    assert 0 <= value <= EXACT
    return value
