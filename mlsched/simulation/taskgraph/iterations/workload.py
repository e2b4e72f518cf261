"""Training jobs by the hundred thousand: many jobs share few graphs, each with its own iterations and pace.

A template is a small graph of tasks. A job is a template with an arrival, numbers of iterations and a scale of time.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, IntArray, array, refuse_falling, refuse_first, text
from mlsched.core.record import specs
from mlsched.instances.taskgraph import checks, gpus
from mlsched.instances.taskgraph.columns import FULL_ACCURACY, Cluster, Graph, People, Terms, Types, Units
from mlsched.simulation.nodes import described
from mlsched.simulation.taskgraph.iterations.logged import Failures, LoggedRuns, Names

#: Scales and parts of an iteration are in parts per million, as are ticks in lengths of iterations.
WHOLE = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Jobs(Failures, Names, LoggedRuns, Types, People, Units, Graph, Terms, Cluster):
    """Jobs in order of arrival, their cluster, and the information for schedulers.

    Tasks and edges are those of templates; a task of job j takes `duration * scale[j] / 10^6` ticks in each iteration.
    The estimate for schedulers is `estimate * told[j] / 10^6` until it has run once. A gang of n GPUs is a template of
    n equal tasks without edges. Past its last column, a table of accuracies or losses stays constant.

    Schedulers get the accuracies of row `accuracy_told`. They see the losses of a job's finished iterations: those of
    its table, or, without a table, the share of wrong answers relative to the untrained model's. A task's usage is
    `usage` times its demand, on average, which may be above 1: see the simulator's option `usage`.

    A task is the part of a job on one node. Whenever a job is completely placed after some of its tasks have paused or
    moved, it uses its nodes for `pause_cost` before it continues.

    Nodes may be of several types (`slowness` has a column for each): then all jobs are gangs without edges, of one
    class each. The tasks of a job use nodes of one type at a time, and each takes `slowness` times its duration there.
    """

    kind: ClassVar[str] = "taskgraph.jobs"
    problem: ClassVar[str] = "taskgraph"

    eligible: IntArray = array("classes", "nodes", high=1, doc="1: the node may run the tasks of the class")
    accuracy: IntArray = array("tables", "accuracies", high=FULL_ACCURACY, doc="ppm after 0, 1, ... iterations")
    gang: IntArray = array("templates", high=1, doc="1: the tasks start in one round, and pause in one round")
    accuracy_table: IntArray = array("templates", high=UNLIMITED, doc="row of `accuracy` that is each template's table")
    task_template: IntArray = array("tasks", high=UNLIMITED, doc="template of each task, non-decreasing")
    duration: IntArray = array("tasks", high=UNLIMITED, doc="ticks of one run, for a scale of 10^6")
    estimate: IntArray = array("tasks", high=UNLIMITED, doc="what schedulers are told of it, for `told` of 10^6")
    task_class: IntArray = array("tasks", high=UNLIMITED, doc="class of each task")
    template: IntArray = array("jobs", high=UNLIMITED, doc="template of each job")
    scale: IntArray = array("jobs", low=1, high=10**15, doc="factor on the durations, ppm")
    told: IntArray = array("jobs", low=1, high=10**15, doc="factor on the estimates, ppm")
    movement: str = text(
        choices=("none", "between_iterations", "anytime"), default="none", doc="may tasks change node; see `moving`"
    )
    source: str = text(default="", doc="where the jobs come from and under which interpretations")
    accuracy_told: IntArray = array(
        "templates", low=-1, high=UNLIMITED, fill=-1, doc="row of `accuracy` that schedulers are told; -1: the true one"
    )
    loss: IntArray = array("loss_tables", "losses", high=UNLIMITED, fill=0, doc="ppm of the untrained model's loss")
    loss_table: IntArray = array(
        "templates", low=-1, high=UNLIMITED, fill=-1, doc="row of `loss` that is each template's; -1: none"
    )
    usage: IntArray = array("tasks", "resources", high=10**8, fill=WHOLE, doc="mean use, ppm of the demand")
    pause_cost: IntArray = array(
        "jobs",
        high=10**15,
        fill=0,
        doc="how long a job that goes on after a pause or a move makes no progress, 10^-6 ticks",
    )

    def check(self) -> None:
        checks.jobs(self)
        checks.rising("accuracy", self.accuracy)
        checks.grouped("task_template", self.task_template, len(self.gang), "template")
        checks.joined(self, self.task_template, "template")
        refuse_falling("arrival", self.arrival)
        for name, rows, what in (
            ("task_class", self.eligible, "classes"),
            ("accuracy_table", self.accuracy, "tables"),
            ("accuracy_told", self.accuracy, "tables"),
            ("loss_table", self.loss, "loss tables"),
            ("template", self.gang, "templates"),
        ):
            values = getattr(self, name)
            refuse_first(values >= len(rows), name, values, f"expected below {len(rows)} ({what})")
        if len(self.gang) and not self.accuracy.shape[1]:
            raise InvalidInput("accuracy: 0 columns, expected at least one")
        refuse_first(
            (self.duration == 0) != (self.estimate == 0), "estimate", self.estimate, "expected 0 where the duration is"
        )
        if len(self.loss) and not self.loss.shape[1]:
            raise InvalidInput("loss: 0 columns, expected at least one; otherwise omit the table")
        gpus.check(self)
        self.check_failures(len(self.node_capacity))
        self.check_logged()
        self._check_types()
        self._check_lengths()

    def _check_types(self) -> None:
        """Check that the nodes' types exist and, with types, that jobs are gangs without edges, of one class each."""
        many = self.slowness.shape[1]
        refuse_first(self.node_type >= max(many, 1), "node_type", self.node_type, f"expected below {many} (types)")
        if not many:
            return
        refuse_first(self.gang == 0, "gang", self.gang, "expected 1 where nodes have types: jobs are on one at a time")
        if len(self.edge_from):
            raise InvalidInput("edge_from: has entries; jobs on nodes of several types are gangs without edges")
        same = self.task_class == self.task_class[np.searchsorted(self.task_template, self.task_template)]
        refuse_first(
            ~same, "task_class", self.task_class, "expected that of the job's first task where nodes have types"
        )

    def _check_lengths(self) -> None:
        """Reject times beyond UNLIMITED, in floats since products of integers may wrap."""
        most = np.zeros((2, len(self.gang)))
        np.add.at(most[0], self.task_template, self.duration)
        np.add.at(most[1], self.task_template, self.estimate)
        delays = np.zeros(len(self.gang))
        np.add.at(delays, self.task_template[self.edge_from], self.edge_delay)
        for name, length in (("scale", most[0]), ("told", most[1])):
            factor = getattr(self, name)
            iteration = length[self.template] * self._slowest_factor * factor / WHOLE + delays[self.template]
            late = self.arrival + np.ceil(iteration) * self.max_iterations > UNLIMITED
            refuse_first(late, name, factor, f"the job could end after tick {UNLIMITED}; use longer ticks")

    @property
    def fastest(self) -> npt.NDArray[np.float64]:
        """Return the least factor on each job's durations, on the types that may run it; 1 without types."""
        if not self.slowness.shape[1]:
            return np.ones(len(self.template))
        least = np.where(self.runs_on, self.slowness, self.slowness.max(initial=WHOLE)).min(axis=1, initial=10**12)
        return np.asarray(least[self.class_of[self.template]] / WHOLE)

    @property
    def _slowest_factor(self) -> npt.NDArray[np.float64]:
        """Return the largest factor on each job's durations, on the types that may run it; 1 without types."""
        if not self.slowness.shape[1]:
            return np.ones(len(self.template))
        most = np.where(self.runs_on, self.slowness, WHOLE).max(axis=1, initial=WHOLE)
        return np.asarray(most[self.class_of[self.template]] / WHOLE)

    @property
    def class_of(self) -> IntArray:
        """Return the class of each template's first task, which with node types is that of all."""
        return np.asarray(self.task_class[[first for first, _ in self.tasks]])

    @property
    def runs_on(self) -> npt.NDArray[np.bool_]:
        """Return whether some node of the type may run the tasks of the class, shape (classes, types)."""
        there = [self.eligible[:, self.node_type == m].any(axis=1) for m in range(self.slowness.shape[1])]
        return np.array(there, dtype=np.bool_).reshape(-1, len(self.eligible)).T

    @property
    def one_type(self) -> list[npt.NDArray[np.bool_]]:
        """Return the sets of nodes in which the tasks of a job must be together: those of each type, else all."""
        return [self.node_type == m for m in range(max(1, self.slowness.shape[1]))]

    @property
    def submit(self) -> IntArray:
        """Return the arrivals in order of time, ticks."""
        return self.arrival

    @property
    def cluster(self) -> str:
        """Describe the cluster, e.g. "3x(4 gpu, 16 cpu)"; node shapes in order of first appearance, with types."""
        types = [self.type_names[kind] for kind in self.node_type.tolist()] if self.type_names else []
        return described(self.node_capacity, self.resources, types)

    @functools.cached_property
    def tasks(self) -> list[tuple[int, int]]:
        """Return the first task of each template, and the number after its last."""
        ends = np.searchsorted(self.task_template, np.arange(len(self.gang) + 1)).tolist()
        return list(zip(ends[:-1], ends[1:], strict=True))

    def only(self, kept: IntArray) -> dict[str, IntArray]:
        """Return the columns of only these jobs, for `replace`."""
        of_jobs = [name for name, spec in specs(type(self)).items() if getattr(spec, "shape", ())[:1] == ("jobs",)]
        names = tuple(self.job_names[job] for job in kept.tolist()) if self.job_names else ()
        return {name: getattr(self, name)[kept] for name in of_jobs} | {"job_names": names} | self.runs_of(kept)

    def moving(self, pausing: str, movement: str) -> str:
        """Return the movement of tasks under the world's options: "none", "between_iterations", "anytime".

        A workload's own "anytime" is for jobs that pause: without pauses (`pausing`) tasks do not move either, unless
        nodes fail, whose jobs continue elsewhere.
        """
        still = pausing == "none" and not len(self.failure_node)
        own = "none" if self.movement == "anytime" and still else self.movement
        return own if movement == "given" else movement

    def span(self, job: int) -> tuple[int, int]:
        """Return a job's tasks among those of the templates: the first, and the number after the last."""
        return self.tasks[int(self.template[job])]
