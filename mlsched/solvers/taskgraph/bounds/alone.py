"""What a job needs when it has the cluster to itself: placement-aware critical paths.

Heads and tails of `Layout` follow the longest chain of durations. Alone on all nodes a job may still take longer: more
replicas than a node holds must send between nodes or wait for each other. Every plan of the instance, cut to one job,
is a plan for that job alone, so the optima of the small problems below bound every plan. They are found by CP-SAT and
only proved bounds are used.
"""

from __future__ import annotations

import copy
import dataclasses

import numpy as np

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._cp_model import TaskModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance
from mlsched.solvers.backends.limits import within

#: Deterministic time that each small problem may take, and the most runs of a job that is looked at.
WORK_EACH, MOST_RUNS = 0.5, 60


def sharpened(layout: Layout) -> tuple[Layout, float]:
    """The layout with larger heads, tails and least completions of mandatory runs, and the work spent.

    The layout itself when nothing is gained. Jobs whose critical path is attained are left alone.
    """
    result, work = layout, 0.0
    if layout.reason is not None or layout.jobs < 2:
        return layout, work
    for j, tasks in enumerate(layout.tasks_of):
        runs = (layout.least[j] - layout.first[j]) * len(tasks)
        if len(tasks) < 2 or not runs or runs > MOST_RUNS or not any(layout.into[k] for k in tasks):
            continue
        single = _Single(layout, j)
        best = single.least(single.model.completion[0])
        if best > layout.least_completion(j):
            if result is layout:
                result = _copied(layout)
            result.alone[j] = best
            single.sharpen(result)
        work += single.work
    return result, work


def _copied(layout: Layout) -> Layout:
    result = copy.copy(layout)
    result.__dict__.pop("mandatory", None)  # cached from the old heads and tails
    result.head = [dict(row) for row in layout.head]
    result.tail = [dict(row) for row in layout.tail]
    result.alone, result.others = list(layout.alone), list(layout.others)
    return result


class _Single:
    """A job's mandatory iterations alone on the cluster."""

    def __init__(self, layout: Layout, j: int) -> None:
        self.offset, self.work = layout.tasks_of[j][0], 0.0
        self.model = TaskModel(Layout(alone(layout, j)), ("total_jct",))

    def least(self, expression: object) -> int:
        """A proved lower bound of an expression, mostly its minimum."""
        from ortools.sat.python import cp_model

        cp = self.model.cp
        cp.minimize(expression)
        solver = within(Limits(work=WORK_EACH))
        status = solver.solve(cp)
        self.work += float(solver.response_proto.deterministic_time)
        # An unknown status carries no bound; 0 is one, since no time is negative.
        return round(solver.best_objective_bound) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0

    def sharpen(self, layout: Layout) -> None:
        """Raise the heads and tails of the job's runs."""
        completion = self.model.completion[0]
        for (k, i), start in self.model.start.items():
            if isinstance(start, int):
                continue  # a run under way
            task = k + self.offset
            layout.head[task][i] = max(layout.head[task][i], self.least(start))
            layout.tail[task][i] = max(layout.tail[task][i], self.least(completion - self.model.end[k, i]))


def alone(layout: Layout, j: int) -> Instance:
    """The instance of job j's mandatory iterations alone."""
    instance = layout.instance
    tasks = np.array(layout.tasks_of[j], dtype=np.int64)
    edges = np.flatnonzero(instance.task_job[instance.edge_from] == j)
    fixed = np.flatnonzero(instance.task_job[instance.fixed_task] == j)
    offset = int(tasks[0])
    of_job = ("arrival", "deadline", "urgency", "required", "accuracy", "finished", "on_time")
    of_task = ("duration", "demand", "eligible", "parameters", "home", "last_end")
    least = np.array([layout.least[j]], dtype=np.int64)
    return dataclasses.replace(
        instance,
        **{name: getattr(instance, name)[[j]] for name in of_job},
        **{name: getattr(instance, name)[tasks] for name in of_task},
        **{name: getattr(instance, name)[edges] for name in ("edge_lag", "edge_volume", "edge_delay")},
        **{name: getattr(instance, name)[fixed] for name in ("fixed_node", "fixed_start")},
        min_iterations=least,
        max_iterations=least,
        task_job=np.zeros(len(tasks), dtype=np.int64),
        edge_from=instance.edge_from[edges] - offset,
        edge_to=instance.edge_to[edges] - offset,
        fixed_task=instance.fixed_task[fixed] - offset,
    )
