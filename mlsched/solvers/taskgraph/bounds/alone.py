"""The minimum times of a single job on the empty cluster: placement-aware critical paths.

Heads and tails of `Layout` follow the longest chain of durations. Even by itself a job may take longer: if it has more
replicas than a node has room for, they must send between nodes or wait for each other. Every plan of the instance,
restricted to one job, is a plan for that job, so the optima of the small problems below bound every plan. They are
found by CP-SAT and only proved bounds are used. Without this, `eight-replicas` 1001, 1003, 1004 and 1006 take 1.4
times the work.

CP-SAT's presolve takes longer than these searches: without it they prove the same in one third of the CPU time (seeds
1000 to 1002 of every preset).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._intervals import IntervalModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance
from mlsched.solvers.backends.limits import WORK, within
from mlsched.solvers.backends.search import Search
from mlsched.solvers.taskgraph.state import BUILDING

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import LinearExprT

#: Deterministic time limit of each small problem, and the most runs of an examined job.
WORK_EACH, MOST_RUNS = 0.5, 60


def sharpened(layout: Layout, remaining: Callable[[], float | None] = lambda: None) -> tuple[Layout, float]:
    """Return the layout with larger heads, tails and earliest completions of mandatory runs, and the work spent.

    Without a gain, the layout itself is returned. Jobs that attain their critical path keep it, as do all jobs not
    reached within the wall seconds of `remaining()` (None: unlimited).
    """
    work, alone = 0.0, list(layout.alone)
    head, tail = [dict(row) for row in layout.head], [dict(row) for row in layout.tail]
    if layout.reason is not None or layout.jobs < 2:
        return layout, work
    for j, tasks in enumerate(layout.tasks_of):
        runs = (layout.mandatory[j] - layout.finished[j]) * len(tasks)
        if _is_time_over(remaining()):
            break
        if len(tasks) < 2 or not runs or runs > MOST_RUNS or not any(layout.into[k] for k in tasks):
            continue
        single = _Single(layout, j, remaining)
        best = single.lower_bound(single.model.completion[0])
        if best > layout.earliest_completion(j):
            alone[j] = best
            single.sharpen(head, tail)
        work += single.work
    if alone == layout.alone:
        return layout, work
    return dataclasses.replace(layout, head=head, tail=tail, alone=alone), work


def _is_time_over(seconds: float | None) -> bool:
    return seconds is not None and seconds <= 0


class _Single:
    """The mandatory iterations of one job on the empty cluster."""

    def __init__(self, layout: Layout, j: int, remaining: Callable[[], float | None]) -> None:
        self.offset, self.work, self.remaining = layout.tasks_of[j][0], 0.0, remaining
        self.model = IntervalModel(Layout.of(alone(layout, j)), ("total_jct",))

    def lower_bound(self, expression: LinearExprT) -> int:
        """Return a proved lower bound of an expression, mostly its minimum; 0 when the time is over."""
        seconds = self.remaining()
        if _is_time_over(seconds):
            return 0
        self.model.cp.minimize(expression)
        settings = within(Limits(work=WORK_EACH, seconds=seconds)).parameters
        settings.cp_model_presolve = False
        search = Search(self.model.cp, settings)
        search.run()
        self.work += search.work[WORK] + BUILDING
        # An unknown status has no bound; 0 is valid, since times are not negative.
        return 0 if search.bound is None else round(search.bound)

    def sharpen(self, head: list[dict[int, int]], tail: list[dict[int, int]]) -> None:
        """Raise the heads and tails of the job's runs."""
        completion = self.model.completion[0]
        for (k, i), start in self.model.start.items():
            if isinstance(start, int):
                continue  # a started run
            task = k + self.offset
            head[task][i] = max(head[task][i], self.lower_bound(start))
            tail[task][i] = max(tail[task][i], self.lower_bound(completion - self.model.end[k, i]))


def alone(layout: Layout, j: int) -> Instance:
    """Return the instance with only job j's mandatory iterations."""
    instance = layout.instance
    tasks = np.array(layout.tasks_of[j], dtype=np.int64)
    edges = np.flatnonzero(instance.task_job[instance.edge_from] == j)
    fixed_part = np.flatnonzero(instance.task_job[instance.fixed_task] == j)
    offset = int(tasks[0])
    of_job = ("arrival", "deadline", "urgency", "required", "accuracy", "finished", "on_time")
    of_task = ("duration", "demand", "eligible", "parameters", "role", "replica", "home", "last_end")
    minimum = np.array([layout.mandatory[j]], dtype=np.int64)
    return dataclasses.replace(
        instance,
        **{name: getattr(instance, name)[[j]] for name in of_job},
        **{name: getattr(instance, name)[tasks] for name in of_task},
        **{name: getattr(instance, name)[edges] for name in ("edge_lag", "edge_volume", "edge_delay")},
        **{name: getattr(instance, name)[fixed_part] for name in ("fixed_node", "fixed_start", "fixed_gpu")},
        task_names=(),
        min_iterations=minimum,
        max_iterations=minimum,
        task_job=np.zeros(len(tasks), dtype=np.int64),
        edge_from=instance.edge_from[edges] - offset,
        edge_to=instance.edge_to[edges] - offset,
        fixed_task=instance.fixed_task[fixed_part] - offset,
    )
