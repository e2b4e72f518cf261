"""Task-graph jobs that arrive over time, with what schedulers do not know of them."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, IntArray, array, integer, record, refuse_first, text
from mlsched.core.record import Record
from mlsched.instances.taskgraph import Instance, gpus
from mlsched.simulation.nodes import called, described

#: Warn if the queue at the last arrival exceeds this many mean job lengths; a burst stays below.
LONG_QUEUE = 5


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Workload(Record):
    """Horizon of jobs, with the true durations of their tasks.

    `horizon.duration` is the estimate shown to schedulers, `true_duration` the truth; both are 0 for the same tasks.
    Jobs train by their accuracy table. The cluster is empty at first: a residual horizon is rejected.
    """

    kind: ClassVar[str] = "taskgraph.workload"
    problem: ClassVar[str] = "taskgraph"

    horizon: Instance = record(Instance, doc="the jobs and the cluster, with estimated durations")
    true_duration: IntArray = array("tasks", high=UNLIMITED, doc="ticks that each run of a task really takes")
    source: str = text(default="", doc="where the jobs come from and under which interpretations")
    pause_cost: int = integer(
        high=UNLIMITED, default=0, doc="ticks without work whenever a run goes on after a pause or a move"
    )

    def check(self) -> None:
        horizon = self.horizon
        if len(self.true_duration) != len(horizon.task_job):
            raise InvalidInput(
                f"true_duration: length is {len(self.true_duration)}, expected {len(horizon.task_job)} (the tasks)"
            )
        refuse_first(
            (self.true_duration == 0) != (horizon.duration == 0),
            "true_duration",
            self.true_duration,
            "expected 0 exactly where the horizon's duration is",
        )
        if horizon.now or horizon.finished.any() or len(horizon.fixed_task):
            raise InvalidInput("horizon: has a past; a workload starts on an empty cluster, with now = 0")
        horizon.replace(duration=self.true_duration)  # the true objectives must stay below 2^53 as well

    @classmethod
    def of(cls, horizon: Instance, source: str = "") -> Workload:
        """Build a workload from a horizon whose estimates are exact."""
        return cls(horizon=horizon, true_duration=horizon.duration, source=source)

    @property
    def submit(self) -> IntArray:
        """Return the arrivals in order of time, ticks."""
        return np.sort(self.horizon.arrival)

    @property
    def cluster(self) -> str:
        """Describe the cluster, e.g. "3x(4 gpu, 16 cpu)"; node shapes in order of first appearance."""
        return described(self.horizon.node_capacity, self.horizon.resources)


def hosts(horizon: Instance) -> npt.NDArray[np.bool_]:
    """Return the nodes on which each task could ever run: eligible, large enough, and its own if it must stay.

    The shape is (tasks, nodes).
    """
    fits: Any = (horizon.demand[:, None, :] <= horizon.node_capacity[None, :, :]).all(axis=2)
    may = (fits | (horizon.duration == 0)[:, None]) & (horizon.eligible == 1)
    if horizon.movement == "none":
        bound = horizon.home.copy()
        bound[horizon.fixed_task] = horizon.fixed_node
        may &= (bound < 0)[:, None] | (bound[:, None] == np.arange(len(horizon.node_capacity)))
    return np.asarray(may)


def hopeless(horizon: Instance) -> npt.NDArray[np.bool_]:
    """Return for each job whether further iterations are impossible: one of its tasks fits none of its nodes."""
    bad: IntArray = np.bincount(horizon.task_job[~hosts(horizon).any(axis=1)], minlength=len(horizon.arrival))
    return np.asarray((bad > 0) & (horizon.finished < horizon.max_iterations))


def begun(horizon: Instance) -> npt.NDArray[np.bool_]:
    """Return for each job whether its current iteration has begun."""
    begun_jobs = np.zeros(len(horizon.arrival), dtype=np.bool_)
    begun_jobs[horizon.task_job[horizon.fixed_task]] = True
    return begun_jobs


def impossible(horizon: Instance) -> list[str]:
    """Explain why every plan is infeasible, with the numbers; empty if a plan exists.

    A job that may stop in its current state needs no node. Runs that have started must fit together.
    """
    must = hopeless(horizon) & ((horizon.finished < horizon.min_iterations) | begun(horizon))
    reasons = []
    bad = np.flatnonzero(~hosts(horizon).any(axis=1) & must[horizon.task_job])
    if bad.size:
        k = int(bad[0])
        need = ", ".join(f"{d} {r}" for d, r in zip(horizon.demand[k].tolist(), horizon.resources, strict=True))
        reasons.append(
            f"{bad.size} of {len(horizon.task_job)} tasks fit no node that may run them; the first is task {k} of job "
            f"{int(horizon.task_job[k])} ({need})"
        )
    starts, ends = horizon.fixed_start, horizon.fixed_start + horizon.duration[horizon.fixed_task]
    for start, node in zip(starts.tolist(), horizon.fixed_node.tolist(), strict=True):
        here = (horizon.fixed_node == node) & (starts <= start) & (ends > start)
        use = horizon.demand[horizon.fixed_task[here]].sum(axis=0)
        if (use > horizon.node_capacity[node]).any():
            reasons.append(
                f"the fixed runs on node {node} use {use.tolist()} at {start}: "
                f"its capacity is {horizon.node_capacity[node].tolist()}"
            )
            break
    return reasons + _crowded_node(horizon)


def _crowded_node(horizon: Instance) -> list[str]:
    """Return the first node whose individual GPUs lack room for the runs in progress."""
    unit = horizon.gpu_unit
    if not unit:
        return []
    needs = (horizon.demand[:, gpus.gpu_column(horizon.resources)] * (horizon.duration > 0))[horizon.fixed_task]
    needs = np.where(horizon.fixed_start + horizon.duration[horizon.fixed_task] > horizon.now, needs, 0)
    part = (needs > 0) & (needs < unit)
    use = np.zeros_like(gpus.empty(horizon))
    np.add.at(use, (horizon.fixed_node[part], horizon.fixed_gpu[part]), needs[part])
    whole = np.bincount(horizon.fixed_node[~part], needs[~part] // unit, minlength=len(use))
    full = (use > unit).any(axis=1) | ((use > 0).sum(axis=1) + whole > gpus.counts(horizon))
    return [f"the fixed runs on node {n} hold more than its GPUs have" for n in np.flatnonzero(full).tolist()[:1]]


def never_start(workload: Workload) -> list[str]:
    """List the jobs that can never finish, with the numbers; empty if all can."""
    return impossible(workload.horizon)


def overload(workload: Workload) -> list[str]:
    """List the resources whose offered load exceeds the cluster while jobs arrive, with the numbers."""
    horizon = workload.horizon
    span = float(np.ptp(horizon.arrival)) if len(horizon.arrival) else 0.0
    overloaded = []
    for name, load in offered_load(workload).items():
        backlog = (load - 1) * span
        rounds = horizon.max_iterations[horizon.task_job]
        length = float((workload.true_duration * rounds).sum()) / max(1, len(horizon.arrival))
        if span and backlog > LONG_QUEUE * length:
            overloaded.append(
                f"the offered load on {called(name)} is {load:.2f} times the cluster's capacity: "
                f"at the last arrival some {backlog:.0f} ticks of work wait"
            )
    return overloaded


def offered_load(workload: Workload) -> dict[str, float]:
    """Return resource -> demand x time over capacity x span of the arrivals; infinite for a burst."""
    horizon = workload.horizon
    span = float(np.ptp(horizon.arrival)) if len(horizon.arrival) else 0.0
    total = horizon.node_capacity.sum(axis=0)
    ticks = workload.true_duration.astype(float) * horizon.max_iterations[horizon.task_job]
    load = {}
    for r, name in enumerate(horizon.resources):
        work = float((horizon.demand[:, r] * ticks).sum())
        load[name] = work / (float(total[r]) * span) if span and total[r] else float("inf") if work else 0.0
    return load
