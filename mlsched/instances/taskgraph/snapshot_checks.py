"""Rules across the fields of a snapshot. Each check raises InvalidInput for the first wrong entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import refuse_first
from mlsched.instances.taskgraph import checks, gpus
from mlsched.instances.taskgraph.states import DONE, PAUSED, RUNNING, WAITING

if TYPE_CHECKING:
    from mlsched.instances.taskgraph.snapshot import Snapshot

#: Most losses of one job in a snapshot.
MOST_SAMPLES = 64


def check(snapshot: Snapshot) -> None:
    """Run all checks."""
    checks.jobs(snapshot)
    checks.tasks(snapshot)
    checks.edges(snapshot)
    checks.past(snapshot)
    checks.rising("accuracy", snapshot.accuracy)
    _check_jobs(snapshot)
    _check_tasks(snapshot)
    _check_samples(snapshot)
    gpus.check(snapshot)
    _check_gpus(snapshot)
    _check_types(snapshot)


def _check_jobs(snapshot: Snapshot) -> None:
    """Check that classes and tables exist, and that jobs are unfinished, arrived and unique."""
    for name, rows, what in (
        ("task_class", snapshot.eligible, "classes"),
        ("accuracy_table", snapshot.accuracy, "tables"),
    ):
        values = getattr(snapshot, name)
        refuse_first(values >= len(rows), name, values, f"expected below {len(rows)} ({what})")
    if len(snapshot.arrival) and not snapshot.accuracy.shape[1]:
        raise InvalidInput("accuracy: 0 columns, expected at least one")
    last, now = snapshot.stop_after, snapshot.now
    refuse_first(snapshot.finished >= last, "finished", snapshot.finished, "expected below stop_after")
    refuse_first(last > snapshot.max_iterations, "stop_after", last, "expected at most max_iterations")
    refuse_first(snapshot.arrival > now, "arrival", snapshot.arrival, f"expected at most now ({now})")
    if len(np.unique(snapshot.job_id)) != len(snapshot.job_id):
        raise InvalidInput("job_id: names a job twice")


def _check_tasks(snapshot: Snapshot) -> None:
    """Check that a task's fields agree with its state; use is at least the demand of the running tasks."""
    nodes, now, waits = len(snapshot.node_capacity), snapshot.now, snapshot.state == WAITING
    refuse_first(snapshot.node >= nodes, "node", snapshot.node, f"expected below {nodes} (the number of nodes)")
    refuse_first((snapshot.node < 0) != waits, "node", snapshot.node, "expected -1 exactly for the tasks that wait")
    for name, may_have in (("start", ~waits), ("end", snapshot.state == DONE), ("progress", ~waits)):
        values = getattr(snapshot, name)
        refuse_first((values != 0) & ~may_have, name, values, "expected 0 for a task in this state")
    for name in ("start", "end", "waiting_since"):
        values = getattr(snapshot, name)
        refuse_first(values > now, name, values, f"expected at most now ({now})")
    if snapshot.pausing == "none":
        is_paused = snapshot.state == PAUSED
        refuse_first(is_paused, "state", snapshot.state, "must not be 2 (paused) where pausing is 'none'")
    idle = (snapshot.state != RUNNING)[:, None] & (snapshot.usage > 0)
    refuse_first(idle, "usage", snapshot.usage, "expected 0 for a task that does not run")
    running = np.flatnonzero((snapshot.state == RUNNING) & (snapshot.duration > 0))
    load = np.zeros(snapshot.node_capacity.shape, dtype=np.int64)
    np.add.at(load, snapshot.node[running], snapshot.demand[running])
    refuse_first(snapshot.in_use < load, "in_use", snapshot.in_use, "expected at least what the running tasks hold")


def _check_types(snapshot: Snapshot) -> None:
    """Check that the nodes' types exist, and that each gang is on one type."""
    many = max(1, snapshot.slowness.shape[1])
    refuse_first(snapshot.node_type >= many, "node_type", snapshot.node_type, f"expected below {many} (types)")
    gang_tasks = np.flatnonzero((snapshot.state == RUNNING) & (snapshot.gang[snapshot.task_job] == 1))
    kind = snapshot.node_type[snapshot.node[gang_tasks]]
    apart = np.zeros(len(gang_tasks), dtype=bool)
    apart[1:] = (np.diff(kind) != 0) & (np.diff(snapshot.task_job[gang_tasks]) == 0)
    refuse_first(apart, "node_type", kind, "expected that of all nodes that its gang holds")


def _check_samples(snapshot: Snapshot) -> None:
    """Check that losses are listed by job and iteration, and only for finished iterations."""
    job, iteration = snapshot.sample_job, snapshot.sample_iteration
    jobs = len(snapshot.arrival)
    refuse_first(job >= jobs, "sample_job", job, f"expected below {jobs} (the number of jobs)")
    refuse_first(iteration > snapshot.finished[job], "sample_iteration", iteration, "expected finished")
    back = np.zeros(len(job), dtype=bool)
    back[1:] = np.diff(job) < 0
    refuse_first(back, "sample_job", job, "expected at least the entry before it: samples come job by job")
    again = np.zeros(len(job), dtype=bool)
    again[1:] = (np.diff(job) == 0) & (np.diff(iteration) <= 0)
    refuse_first(again, "sample_iteration", iteration, "expected after the one before it of the same job")
    many = np.bincount(job, minlength=jobs)
    if many.max(initial=0) > MOST_SAMPLES:
        worst = int(many.argmax())
        raise InvalidInput(f"sample_job: names job {worst} {many[worst]} times, expected at most {MOST_SAMPLES}")


def _check_gpus(snapshot: Snapshot) -> None:
    """Check that the running tasks' GPUs, the use of each GPU, and the demands agree with each other."""
    unit, names, holder, use = snapshot.gpu_unit, snapshot.gpu, snapshot.gpu_holder, snapshot.gpu_in_use
    many = gpus.counts(snapshot)
    if use.shape[1] != many.max(initial=0):
        raise InvalidInput(
            f"gpu_in_use: has {use.shape[1]} columns, expected {many.max(initial=0)} (the most GPUs of a node)"
        )
    runs = (snapshot.state == RUNNING) & (snapshot.duration > 0)
    need = np.where(runs, snapshot.demand[:, gpus.gpu_column(snapshot.resources)], 0) if unit else np.zeros_like(names)
    single = (need > 0) & (need <= unit)
    refuse_first((names >= 0) != single, "gpu", names, "expected -1 but for running tasks of at most one GPU")
    if not unit:
        return
    here = np.arange(use.shape[1]) < many[:, None]
    refuse_first((use > 0) & ~here, "gpu_in_use", use, "expected 0 for a GPU that the node does not have")
    refuse_first(use > unit, "gpu_in_use", use, f"expected at most gpu_unit ({unit})")
    node = np.where(snapshot.node < 0, 0, snapshot.node)
    refuse_first(names >= many[node], "gpu", names, "expected a GPU that the node has")
    tasks = len(names)
    refuse_first(holder >= tasks, "gpu_holder", holder, f"expected below {tasks} (the number of tasks)")
    held, rows = np.where(holder < 0, 0, holder), np.arange(len(use))[:, None]
    wrong = (holder >= 0) & ((need[held] < unit) | (node[held] != rows) if tasks else False)
    refuse_first(wrong, "gpu_holder", holder, "expected a task that runs there with whole GPUs")
    whole = np.bincount(holder[holder >= 0], minlength=tasks) * unit
    refuse_first((need >= unit) & (whole != need), "demand", need, "expected what gpu_holder gives the task")
    alone = np.flatnonzero(need == unit)
    refuse_first(
        holder[node[alone], names[alone]] != alone, "gpu", names[alone], "expected the GPU that gpu_holder gives it"
    )
    named = np.where(holder >= 0, unit, 0)
    parts = np.flatnonzero((need > 0) & (need < unit))
    np.add.at(named, (node[parts], names[parts]), need[parts])
    refuse_first(use < named, "gpu_in_use", use, "expected at least what the running tasks hold")
    column = snapshot.in_use[:, gpus.gpu_column(snapshot.resources)]
    refuse_first(use.sum(axis=1) != column, "in_use", column, "expected the sum of gpu_in_use")
