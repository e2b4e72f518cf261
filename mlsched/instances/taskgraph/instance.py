"""The task-graph decision and its plan.

Jobs train in iterations. An iteration runs a graph of tasks (model partitions x mini-batches, parameter servers,
reducers) on the nodes of a cluster. Decide the node and start of each task, and the number of iterations of each job.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import ModuleType
from typing import ClassVar

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, ints, labels, refuse_first, text
from mlsched.instances.taskgraph import checks, gpus, judge
from mlsched.instances.taskgraph.columns import FULL_ACCURACY, Cluster, Graph, Terms, Units


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Timetable(contract.Plan):
    """Node and start of every task of every iteration: one row per run, in any order.

    `iteration` counts from 0, including iterations finished before the plan. A job runs as many iterations as it has
    rows for; it stops after the last. `gpu` is a label, not a slot: runs with parts of GPUs and the same label at the
    same time on the same node share one of its GPUs (see the judge's rule 6). Complete GPUs need no label.
    """

    kind: ClassVar[str] = "taskgraph.plan"

    job: IntArray = array("runs", high=UNLIMITED, doc="job of the task")
    iteration: IntArray = array("runs", high=UNLIMITED, doc="iteration of the job, from 0")
    task: IntArray = array("runs", high=UNLIMITED, doc="task (index over the tasks of all jobs)")
    node: IntArray = array("runs", high=UNLIMITED, doc="node that runs it")
    start: IntArray = array("runs", doc="when it starts, ticks")
    gpu: IntArray = array("runs", low=-1, high=UNLIMITED, fill=-1, doc="GPU of a part of one; -1: none named")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Instance(Units, Graph, Terms, Cluster, contract.Instance):
    """A horizon of training jobs (MLFS Eq. 1).

    Time is in ticks, whose length the instance's maker chooses. Tasks are listed job by job. Job j runs n iterations,
    `min_iterations[j] <= n <= max_iterations[j]`, each of all its tasks once; a task's runs follow one another. An edge
    from task u to v of the same job applies inside an iteration (`edge_lag` 0) or from an iteration to the next (1): v
    starts no earlier than u ends, and `edge_delay` later if the two runs are on different nodes; `edge_volume` counts
    as traffic then. A task stays on one node throughout (`movement = "none"`) or may change it between two iterations
    ("between_iterations"); an edge of lag 1 from a task to itself gives the price of moving. A run uses its demand of
    its node's resources from its start for `duration` ticks (with duration 0, it uses nothing). A `gpu_unit` above 0
    distinguishes the GPUs of a node: each has this amount of the resource that counts GPUs. A task then needs 0, a part
    of one GPU, or complete GPUs; it may be on another GPU of its node in another iteration.

    The first iteration counts `accuracy[j, 1]`, and so on; `accuracy[j, 0]` belongs to the untrained model. By
    `accuracy_at`, a job's accuracy counts the iterations finished by its deadline, or all of its iterations ("final").

    A residual problem (a cluster that is already running) has `now > 0`. Then `finished` iterations are done. Runs
    start at `now` or later, except the `fixed` runs, which have started already, in iteration `finished` of their job,
    and must appear in the plan unchanged. `home` is the node of the task's last run in a finished iteration (-1:
    absent), `last_end` the end of that run, `on_time` the number of finished iterations that ended by the deadline.
    `fixed_gpu` is the GPU of a current run on a part of a GPU.
    """

    kind: ClassVar[str] = "taskgraph.instance"
    problem: ClassVar[str] = "taskgraph"
    called: ClassVar[contract.Question] = "offline"
    plan_type: ClassVar[type[contract.Plan]] = Timetable
    judge: ClassVar[ModuleType] = judge
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective("total_jct", "min", "ticks", "sum over jobs of completion minus arrival"),
        Objective("deadlines_met", "max", "jobs", "jobs that complete by their deadline"),
        Objective("traffic", "min", "volume", "volume of edges between different nodes, over all running iterations"),
        Objective("accuracy_met", "max", "jobs", "jobs whose accuracy reaches the required one"),
        Objective("total_accuracy", "max", "ppm", "sum of the jobs' accuracies"),
        Objective("makespan", "min", "ticks", "latest completion minus earliest arrival"),
    )

    accuracy: IntArray = array("jobs", "accuracies", high=FULL_ACCURACY, doc="ppm after 0, 1, ... iterations")
    task_job: IntArray = array("tasks", high=UNLIMITED, doc="job of each task, non-decreasing")
    duration: IntArray = array("tasks", high=UNLIMITED, doc="ticks that one run takes")
    eligible: IntArray = array("tasks", "nodes", high=1, doc="1: the node may run the task")
    movement: str = text(choices=("none", "between_iterations"), default="none", doc="whether tasks may change node")
    now: int = integer(high=UNLIMITED, default=0, doc="no new run starts earlier, ticks")
    finished: IntArray = array("jobs", high=10**6, fill=0, doc="iterations finished before now")
    on_time: IntArray = array("jobs", high=10**6, fill=0, doc="of these, those that ended by the deadline")
    home: IntArray = array("tasks", low=-1, high=UNLIMITED, fill=-1, doc="node of the last finished run, -1: none")
    last_end: IntArray = array("tasks", high=UNLIMITED, fill=0, doc="end of the last finished run, ticks")
    fixed_task: IntArray = array("fixed", high=UNLIMITED, fill=0, doc="tasks started in their job's current iteration")
    fixed_node: IntArray = array("fixed", high=UNLIMITED, fill=0, doc="where")
    fixed_start: IntArray = array("fixed", high=UNLIMITED, fill=0, doc="when")
    fixed_gpu: IntArray = array("fixed", low=-1, high=UNLIMITED, fill=-1, doc="GPU of a part of one; or -1")
    job_names: tuple[str, ...] = labels(
        "jobs", default=(), distinct=False, display_only=True, doc="name of each job, for people"
    )
    task_names: tuple[str, ...] = labels(
        "tasks", default=(), distinct=False, display_only=True, doc="name of each task, for people"
    )

    def check(self) -> None:
        checks.jobs(self)
        self._check_accuracy()
        checks.tasks(self)
        gpus.check(self)
        checks.edges(self)
        checks.past(self)
        self._check_fixed()
        self._check_fixed_gpus()
        self._check_sizes()

    def _check_accuracy(self) -> None:
        needed = int(self.max_iterations.max(initial=0)) + 1
        if len(self.arrival) and self.accuracy.shape[1] < needed:
            have = self.accuracy.shape[1]
            raise InvalidInput(f"accuracy: has {have} columns, expected {needed} (0 to the most iterations)")
        checks.rising("accuracy", self.accuracy)

    def _check_fixed(self) -> None:
        nodes, tasks = len(self.node_capacity), len(self.task_job)
        refuse_first(self.fixed_task >= tasks, "fixed_task", self.fixed_task, f"expected below {tasks} (the tasks)")
        refuse_first(self.fixed_node >= nodes, "fixed_node", self.fixed_node, f"expected below {nodes} (the nodes)")
        late = self.fixed_start > self.now
        refuse_first(late, "fixed_start", self.fixed_start, f"expected at most now ({self.now})")
        if len(np.unique(self.fixed_task)) != len(self.fixed_task):
            raise InvalidInput("fixed_task: names a task twice; a task has one current run")
        jobs = self.task_job[self.fixed_task]
        early = self.fixed_start < self.arrival[jobs]
        refuse_first(early, "fixed_start", self.fixed_start, "expected at least the arrival of its job")
        refuse_first(
            self.finished[jobs] == self.max_iterations[jobs],
            "fixed_task",
            self.fixed_task,
            "must not be of a job whose iterations are all finished",
        )
        refuse_first(
            self.eligible[self.fixed_task, self.fixed_node] == 0,
            "fixed_node",
            self.fixed_node,
            "expected eligible for its task",
        )
        homes = self.home[self.fixed_task]
        away = (homes >= 0) & (homes != self.fixed_node) & (self.movement == "none")
        refuse_first(away, "fixed_node", self.fixed_node, "expected the task's home, for movement = 'none'")

    def _check_fixed_gpus(self) -> None:
        """Check that current runs on parts of GPUs name their GPU."""
        if not self.gpu_unit:
            refuse_first(self.fixed_gpu >= 0, "fixed_gpu", self.fixed_gpu, "expected -1 where gpu_unit is 0")
            return
        r, many = gpus.gpu_column(self.resources), gpus.counts(self)[self.fixed_node]
        refuse_first(self.fixed_gpu >= many, "fixed_gpu", self.fixed_gpu, "expected a GPU of the run's node, from 0")
        needs, lasts = self.demand[self.fixed_task, r], self.duration[self.fixed_task]
        parts = (needs > 0) & (needs < self.gpu_unit) & (lasts > 0) & (self.fixed_start + lasts > self.now)
        refuse_first(parts & (self.fixed_gpu < 0), "fixed_gpu", self.fixed_gpu, "must name the GPU of a part of one")

    def _check_sizes(self) -> None:
        """Refuse objectives that can exceed 2^53, in Python integers since int64 products may wrap."""
        runs = self.max_iterations[self.task_job].tolist()
        work = sum(d * n for d, n in zip(self.duration.tolist(), runs, strict=True))
        rounds = [int(self.max_iterations[self.task_job[u]]) for u in self.edge_from.tolist()]
        work += sum(d * n for d, n in zip(self.edge_delay.tolist(), rounds, strict=True))
        end = self.now + int(self.arrival.max(initial=0)) + work
        if end * max(1, len(self.arrival)) > EXACT:
            raise InvalidInput(f"total_jct can reach {end * len(self.arrival)}, expected below 2^53; use longer ticks")
        traffic = sum(v * n for v, n in zip(self.edge_volume.tolist(), rounds, strict=True))
        if traffic > EXACT:
            raise InvalidInput(f"traffic can reach {traffic}, expected below 2^53; use a larger unit of volume")

    def job_name(self, job: int) -> str:
        """Return the name of a job, or "job" and its number."""
        return self.job_names[job] if self.job_names else f"job {job}"

    def task_name(self, task: int) -> str:
        """Return the name of a task, or its number."""
        return self.task_names[task] if self.task_names else str(task)

    def table(self, plan: Timetable) -> dict[str, object]:
        """Return the timetable with names, one row per run, in the order of starts; times in ticks."""
        order = np.lexsort((plan.task, plan.node, plan.start))
        task = plan.task[order]
        return {
            "job": np.array([self.job_name(j) for j in plan.job[order].tolist()], dtype=object),
            "task": np.array([self.task_name(t) for t in task.tolist()], dtype=object),
            "iteration": plan.iteration[order],
            "node": plan.node[order],
            "start": plan.start[order],
            "end": plan.start[order] + self.duration[task],
        }

    def timetable(
        self, iteration: list[int], task: list[int], node: list[int], start: list[int], gpu: Sequence[int] = ()
    ) -> Timetable:
        """Build a Timetable of these runs; the jobs follow from the tasks. Without `gpu`, labels are absent."""
        return Timetable(
            job=self.task_job[task] if task else ints([]),
            iteration=ints(iteration),
            task=ints(task),
            node=ints(node),
            start=ints(start),
            gpu=ints(gpu or [-1] * len(task)),
        )
