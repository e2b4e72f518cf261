"""Training jobs by the hundred thousand: many jobs share few graphs, and each says how often and how fast it runs its.

A template is a small graph of tasks. A job is a template with an arrival, numbers of iterations and a scale of time.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, labels, refuse_falling, refuse_first, text
from mlsched.core.record import Record, specs
from mlsched.instances.taskgraph import checks, gpus
from mlsched.instances.taskgraph.instance import FULL_ACCURACY
from mlsched.simulation.nodes import described

#: Scales and parts of an iteration are in parts per million; so are ticks wherever an iteration's length is counted.
WHOLE = 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Jobs(Record):
    """Jobs that arrive over time, in order of arrival, the cluster that they run on, and what schedulers are told.

    Tasks and edges are those of templates; a task of job j takes `duration * scale[j] / 10^6` ticks in each iteration,
    and schedulers are told `estimate * told[j] / 10^6` until it has run once. A gang of n GPUs is a template of n equal
    tasks without edges. Past its last column, a table of accuracies or losses stays what that holds.

    Schedulers are told the accuracies of row `accuracy_told`. They see the losses of a job's finished iterations: those
    of its table, or, without one, the share of wrong answers relative to the untrained model's.
    A task uses `usage` of what it demands, on average, which may be more: see the world's option of that name.

    A task is what a job holds on one node. Whenever a job is wholly placed after some of its tasks have paused or
    moved, it holds its nodes for `pause_cost` before it goes on.

    Nodes may be of several types (`slowness` has a column for each): then all jobs are gangs without edges, of one
    class each, the tasks of a job hold nodes of one type at a time, and each takes `slowness` times as long there.
    """

    kind: ClassVar[str] = "taskgraph.jobs"
    problem: ClassVar[str] = "taskgraph"

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    node_capacity: IntArray = array("nodes", "resources", high=UNLIMITED, doc="capacity of each node")
    eligible: IntArray = array("classes", "nodes", high=1, doc="1: the node may run the tasks of the class")
    accuracy: IntArray = array("tables", "accuracies", high=FULL_ACCURACY, doc="ppm after 0, 1, ... iterations")
    gang: IntArray = array("templates", high=1, doc="1: the tasks start in one round, and pause in one round")
    accuracy_table: IntArray = array("templates", high=UNLIMITED, doc="row of `accuracy` that is each template's table")
    task_template: IntArray = array("tasks", high=UNLIMITED, doc="template of each task, non-decreasing")
    duration: IntArray = array("tasks", high=UNLIMITED, doc="ticks of one run, for a scale of 10^6")
    estimate: IntArray = array("tasks", high=UNLIMITED, doc="what schedulers are told of it, for `told` of 10^6")
    demand: IntArray = array("tasks", "resources", high=UNLIMITED, doc="demand of each task")
    task_class: IntArray = array("tasks", high=UNLIMITED, doc="class of each task")
    parameters: IntArray = array("tasks", doc="model parameters that the task holds")
    edge_from: IntArray = array("edges", high=UNLIMITED, doc="task that sends")
    edge_to: IntArray = array("edges", high=UNLIMITED, doc="task that receives")
    edge_lag: IntArray = array("edges", high=1, doc="0: in the same iteration; 1: in the next")
    edge_volume: IntArray = array("edges", doc="traffic in each iteration, if between nodes")
    edge_delay: IntArray = array("edges", high=UNLIMITED, doc="ticks that the transfer takes, if between nodes")
    template: IntArray = array("jobs", high=UNLIMITED, doc="template of each job")
    arrival: IntArray = array("jobs", high=UNLIMITED, doc="arrival of each job, ticks, non-decreasing")
    scale: IntArray = array("jobs", low=1, high=10**15, doc="factor on the durations, ppm")
    told: IntArray = array("jobs", low=1, high=10**15, doc="factor on the estimates, ppm")
    deadline: IntArray = array("jobs", high=UNLIMITED, doc="deadline of each job, ticks; UNLIMITED for none")
    urgency: IntArray = array("jobs", high=1000, doc="urgency of each job, larger is more urgent")
    required: IntArray = array("jobs", high=FULL_ACCURACY, doc="required accuracy, ppm")
    min_iterations: IntArray = array("jobs", high=10**6, doc="least iterations")
    max_iterations: IntArray = array("jobs", low=1, high=10**6, doc="most iterations")
    movement: str = text(
        choices=("none", "between_iterations", "anytime"), default="none", doc="may tasks change node; see `moving`"
    )
    accuracy_at: str = text(choices=("deadline", "final"), default="deadline", doc="which accuracy counts")
    tick_ms: int = integer(high=UNLIMITED, default=0, doc="length of a tick in milliseconds; 0: not stated")
    source: str = text(default="", doc="where the jobs come from and under which interpretations")
    gpu_unit: int = integer(high=UNLIMITED, default=0, doc="of the GPU resource, what one GPU is; 0: GPUs are one pool")
    accuracy_told: IntArray = array(
        "templates", low=-1, high=UNLIMITED, fill=-1, doc="row of `accuracy` that schedulers are told; -1: the true one"
    )
    loss: IntArray = array("loss_tables", "losses", high=UNLIMITED, fill=0, doc="ppm of the untrained model's loss")
    loss_table: IntArray = array(
        "templates", low=-1, high=UNLIMITED, fill=-1, doc="row of `loss` that is each template's; -1: none"
    )
    role: IntArray = array("tasks", high=2, fill=0, doc="0: worker, 1: parameter server, 2: reducer")
    replica: IntArray = array("tasks", high=UNLIMITED, fill=0, doc="which replica of the model the task is of")
    usage: IntArray = array("tasks", "resources", high=10**8, fill=WHOLE, doc="mean use, ppm of the demand")
    user: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="user that each job belongs to")
    option: IntArray = array("jobs", high=2, fill=0, doc="0, 1, 2: option i, ii, iii of MLFS, when the job may stop")
    permits: IntArray = array("jobs", high=7, fill=0, doc="options it may be switched to: the sum of their 1, 2, 4")
    payment: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="rate that its user pays, ppm")
    time_limit: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="running time its user stated, ticks; 0: none")
    pause_cost: IntArray = array(
        "jobs",
        high=10**15,
        fill=0,
        doc="how long a job that goes on after a pause or a move makes no progress, 10^-6 ticks",
    )
    job_names: tuple[str, ...] = labels("jobs", default=(), doc="name of each job, for people; may be left out")
    user_names: tuple[str, ...] = labels("users", default=(), doc="name of each user, for people; may be left out")
    priority: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="rules that order jobs serve a larger one first")
    group: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="group that each job belongs to")
    group_names: tuple[str, ...] = labels("groups", default=(), doc="name of each group, for people")
    partition: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="partition that each job asked for")
    partition_names: tuple[str, ...] = labels("partitions", default=(), doc="name of each, for people")
    status: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="how each job ended in the log")
    status_names: tuple[str, ...] = labels("statuses", default=(), doc="name of each, for people")
    node_names: tuple[str, ...] = labels("nodes", default=(), doc="name of each node, for people")
    failure_node: IntArray = array("failures", low=-1, high=UNLIMITED, fill=-1, doc="a node that fails")
    failure_from: IntArray = array("failures", low=-1, high=UNLIMITED, fill=-1, doc="from when on, ticks")
    failure_to: IntArray = array(
        "failures", low=-1, high=UNLIMITED, fill=-1, doc="when it is back, ticks; UNLIMITED: never"
    )
    origin_ms: int = integer(
        low=-EXACT, default=0, doc="when tick 0 is on the log's clock, ms since 1970 or its own zero"
    )
    clock: int = integer(high=3, default=0, doc="of the log: 0 not known, 1 numbers, 2 dates, 3 dates with a zone")
    rate_ppm: int = integer(low=1, default=WHOLE, doc="arrivals come so many times as fast as in the log, ppm")
    made_for_load: int = integer(high=1, default=0, doc="1: nodes made for a load, which the log's own run may exceed")
    submit_ms: IntArray = array("jobs", low=-1, fill=-1, doc="submit as logged, ms after `origin_ms`")
    logged_job: IntArray = array("runs", low=-1, fill=-1, doc="job of each run as logged, non-decreasing")
    logged_start: IntArray = array("runs", low=-EXACT, fill=-EXACT, doc="when it began, ms after `origin_ms`")
    logged_end: IntArray = array("runs", low=-EXACT, fill=-EXACT, doc="when it ended, likewise")
    place_run: IntArray = array("places", low=-1, fill=-1, doc="a node of a logged run: which run")
    place_name: IntArray = array("places", low=-2, fill=-2, doc="which of `place_names`, -1: none is said")
    place_gpus: IntArray = array("places", low=-2, fill=-2, doc="1/1000 GPUs that the run held there, -1: not said")
    place_names: tuple[str, ...] = labels("hosts", default=(), doc="nodes as the log calls them")
    type_names: tuple[str, ...] = labels("types", default=(), doc="name of each type of nodes, for people")
    node_type: IntArray = array("nodes", high=UNLIMITED, fill=0, doc="type of each node")
    slowness: IntArray = array(
        "classes",
        "types",
        low=1,
        high=10**12,
        fill=WHOLE,
        doc="how long tasks of the class take on nodes of the type, ppm of their duration; no columns: as stated",
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
            raise InvalidInput("accuracy: has no column, expected at least one")
        refuse_first(
            (self.duration == 0) != (self.estimate == 0), "estimate", self.estimate, "expected 0 where the duration is"
        )
        if len(self.loss) and not self.loss.shape[1]:
            raise InvalidInput("loss: has no column, expected at least one, or no table")
        gpus.check(self)
        nodes = len(self.node_capacity)
        wrong = (self.failure_node < 0) | (self.failure_node >= nodes)
        refuse_first(wrong, "failure_node", self.failure_node, f"expected below {nodes}")
        refuse_first(self.failure_from < 0, "failure_from", self.failure_from, "expected at least 0")
        refuse_first(self.failure_to <= self.failure_from, "failure_to", self.failure_to, "expected after failure_from")
        self._check_logged()
        self._check_types()
        self._check_lengths()

    def _check_logged(self) -> None:
        """What the log says of its runs names jobs, runs and hosts that there are."""
        jobs, runs, hosts = len(self.arrival), len(self.logged_job), len(self.place_names)
        refuse_falling("logged_job", self.logged_job)
        refuse_first(
            (self.logged_job < 0) | (self.logged_job >= jobs), "logged_job", self.logged_job, f"expected below {jobs}"
        )
        early = self.logged_end <= self.logged_start
        refuse_first(early, "logged_end", self.logged_end, "expected after logged_start")
        wrong = (self.place_run < 0) | (self.place_run >= runs)
        refuse_first(wrong, "place_run", self.place_run, f"expected below {runs}")
        wrong = (self.place_name < -1) | (self.place_name >= hosts)
        refuse_first(wrong, "place_name", self.place_name, f"expected below {hosts}")
        refuse_first(self.place_gpus < -1, "place_gpus", self.place_gpus, "expected at least -1")
        if runs:
            refuse_first(self.submit_ms < 0, "submit_ms", self.submit_ms, "expected known where runs are logged")

    def _check_types(self) -> None:
        """Types that nodes name exist; where there are some, jobs are gangs without edges, of one class each."""
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
        """Refuse times beyond UNLIMITED, in floats since products of integers may wrap."""
        most = np.zeros((2, len(self.gang)))
        np.add.at(most[0], self.task_template, self.duration)
        np.add.at(most[1], self.task_template, self.estimate)
        delays = np.zeros(len(self.gang))
        np.add.at(delays, self.task_template[self.edge_from], self.edge_delay)
        for name, length in (("scale", most[0]), ("told", most[1])):
            factor = getattr(self, name)
            iteration = length[self.template] * self._slowest * factor / WHOLE + delays[self.template]
            late = self.arrival + np.ceil(iteration) * self.max_iterations > UNLIMITED
            refuse_first(late, name, factor, f"the job could end after tick {UNLIMITED}; use longer ticks")

    @property
    def fastest(self) -> npt.NDArray[np.float64]:
        """jobs: the least factor on its durations, on the types that may run it; 1 without types."""
        if not self.slowness.shape[1]:
            return np.ones(len(self.template))
        least = np.where(self.runs_on, self.slowness, self.slowness.max(initial=WHOLE)).min(axis=1, initial=10**12)
        return np.asarray(least[self.class_of[self.template]] / WHOLE)

    @property
    def _slowest(self) -> npt.NDArray[np.float64]:
        """jobs: the largest factor on its durations, on the types that may run it; 1 without types."""
        if not self.slowness.shape[1]:
            return np.ones(len(self.template))
        most = np.where(self.runs_on, self.slowness, WHOLE).max(axis=1, initial=WHOLE)
        return np.asarray(most[self.class_of[self.template]] / WHOLE)

    @property
    def class_of(self) -> IntArray:
        """templates: the class of the first task, which where nodes have types is that of all."""
        return np.asarray(self.task_class[[first for first, _ in self.tasks]])

    @property
    def runs_on(self) -> npt.NDArray[np.bool_]:
        """classes x types: whether some node of the type may run the tasks of the class."""
        there = [self.eligible[:, self.node_type == m].any(axis=1) for m in range(self.slowness.shape[1])]
        return np.array(there, dtype=np.bool_).reshape(-1, len(self.eligible)).T

    @property
    def one_type(self) -> list[npt.NDArray[np.bool_]]:
        """Sets of nodes, on one of which the tasks of a job must be together: those of each type, else all."""
        return [self.node_type == m for m in range(max(1, self.slowness.shape[1]))]

    @property
    def submit(self) -> IntArray:
        """Arrivals in order of time, ticks."""
        return self.arrival

    @property
    def cluster(self) -> str:
        """The cluster in words, e.g. "3x(4 gpu, 16 cpu)"; node shapes in order of first appearance, with types."""
        types = [self.type_names[kind] for kind in self.node_type.tolist()] if self.type_names else []
        return described(self.node_capacity, self.resources, types)

    @functools.cached_property
    def tasks(self) -> list[tuple[int, int]]:
        """Of each template: its first task, and the number after its last."""
        ends = np.searchsorted(self.task_template, np.arange(len(self.gang) + 1)).tolist()
        return list(zip(ends[:-1], ends[1:], strict=True))

    def only(self, kept: IntArray) -> dict[str, Any]:
        """The columns of these jobs alone, for `replace`."""
        of_jobs = [name for name, spec in specs(type(self)).items() if getattr(spec, "shape", ())[:1] == ("jobs",)]
        names = tuple(self.job_names[job] for job in kept.tolist()) if self.job_names else ()
        rank = np.full(len(self.arrival), -1)
        rank[kept] = np.arange(len(kept))
        runs = np.flatnonzero(rank[self.logged_job] >= 0)
        number = np.full(len(self.logged_job), -1)
        number[runs] = np.arange(len(runs))
        places = np.flatnonzero(number[self.place_run] >= 0)
        return (
            {name: getattr(self, name)[kept] for name in of_jobs}
            | {"job_names": names, "logged_job": rank[self.logged_job][runs]}
            | {name: getattr(self, name)[runs] for name in ("logged_start", "logged_end")}
            | {"place_run": number[self.place_run][places]}
            | {name: getattr(self, name)[places] for name in ("place_name", "place_gpus")}
        )

    def moving(self, pausing: str, movement: str) -> str:
        """What tasks may do under the world's options of these names: "none", "between_iterations", "anytime".

        A workload's own "anytime" is for jobs that pause: where none may (`pausing`), none moves either, unless nodes
        fail, whose jobs go on elsewhere.
        """
        still = pausing == "none" and not len(self.failure_node)
        own = "none" if self.movement == "anytime" and still else self.movement
        return own if movement == "given" else movement

    def span(self, job: int) -> tuple[int, int]:
        """A job's tasks among those of the templates: the first, and the number after the last."""
        return self.tasks[int(self.template[job])]
