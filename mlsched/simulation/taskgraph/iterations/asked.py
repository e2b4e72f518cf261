"""Demands of a log's jobs."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import IntArray
from mlsched.instances.traces import Trace
from mlsched.simulation.nodes import RESOURCES, WORDS

#: Most tasks of a job.
MOST_TASKS = 10**5


@dataclasses.dataclass(frozen=True)
class Asked:
    """Jobs of a log in order of submission, without jobs of zero demand.

    Attributes:
        rows: Their rows in the trace.
        of_jobs: Demand of each job, shape (jobs, RESOURCES).
        of_tasks: Logged demand of each task of each job, shape (tasks, RESOURCES); empty if the log lacks it.
        counted: Resource by which tasks are counted.
        said: Description of the demands.
    """

    rows: IntArray
    of_jobs: IntArray
    of_tasks: list[IntArray]
    counted: int
    said: list[str]

    @classmethod
    def of(cls, trace: Trace, nodes: IntArray | None) -> Asked:
        """Return the demands of a trace's jobs on these nodes.

        Raises:
            InvalidInput: A job has more than MOST_TASKS tasks, or no job can run for lack of a resource.
        """
        demand, rows, notes = _asked(trace, nodes)
        resource = _counting_resource(demand)
        of_tasks = _logged_tasks(trace, rows, np.flatnonzero(demand.any(axis=0)))
        sizes = np.maximum(-(-demand[:, resource] // 1000), [max(1, len(tasks)) for tasks in of_tasks] or 1)
        _reject_large_jobs(trace, rows, sizes)
        return cls(rows, demand, of_tasks, resource, notes)

    def by_gpu(self) -> IntArray:
        """Return the resources per GPU (or CPU), rounded up: of each job, or of each task if the log has its tasks."""
        demand, resource = self.of_jobs, self.counted
        each = [tasks if len(tasks) else demand[j : j + 1] for j, tasks in enumerate(self.of_tasks)]
        rows = np.concatenate(each or [demand])
        # Each row over its number of GPUs, at least 1; both are rounded up.
        return np.asarray(-(-rows // np.maximum(-(-rows[:, resource] // 1000), 1)[:, None]))


def _asked(trace: Trace, nodes: IntArray | None) -> tuple[IntArray, IntArray, list[str]]:
    """Return demands, rows in the trace, and a description, for the jobs in order of submission.

    The demands have shape (jobs, RESOURCES). A resource that the cluster lacks is left out, and with it the jobs that
    request nothing else. If the cluster lacks the resource by which tasks are counted, all demands stay.

    Raises:
        InvalidInput: Every job requests the resource by which tasks are counted, and the cluster lacks it.
    """
    order, notes = np.argsort(trace.submit, kind="stable"), []
    demand = np.stack([trace.cpu_milli, trace.memory_mib, trace.gpus_milli], axis=1)[order].clip(0)
    there = range(len(RESOURCES)) if nodes is None else np.flatnonzero(nodes.any(axis=0)).tolist()
    counted = _counting_resource(demand)
    if counted not in there and demand[:, counted].all():
        word = WORDS[RESOURCES[counted]][0]
        raise InvalidInput(
            f"cluster: states no {word}, which every job of the log requests; state it for each node, for example "
            f"{'4x(16cpu,8gpu)' if word == 'cpu' else '4x(8gpu)'}"
        )
    lacking = [r for r in np.flatnonzero(demand.any(axis=0)).tolist() if r not in there]
    if lacking and counted in there:
        demand[:, lacking] = 0
        names = " and ".join(RESOURCES[r] for r in lacking)
        notes.append(f"{names} left out: the cluster states none")
        nothing = ~demand.any(axis=1)
        if nothing.any():
            notes.append(f"{nothing.sum()} jobs that ask for nothing else left out")
            demand, order = demand[~nothing], order[~nothing]
    return demand, order, notes


def _counting_resource(demand: IntArray) -> int:
    """Return the resource by which a job's tasks are counted: GPUs, or CPUs if all jobs lack GPUs."""
    gpu, cpu = RESOURCES.index("gpu_milli"), RESOURCES.index("cpu_milli")
    return gpu if demand[:, gpu].any() or not demand[:, cpu].any() else cpu


def _logged_tasks(trace: Trace, rows: IntArray, there: IntArray) -> list[IntArray]:
    """Return the logged demands of each job's tasks for counted resources, shape (tasks, RESOURCES), or []."""
    if not trace.tasks:
        return []
    counts = np.isin(np.arange(len(RESOURCES)), there)
    return [np.array(trace.tasks[row], dtype=np.int64).reshape(-1, len(RESOURCES)) * counts for row in rows.tolist()]


def _reject_large_jobs(trace: Trace, rows: IntArray, sizes: IntArray) -> None:
    """Reject jobs with more tasks than any cluster here can run, before memory is filled with them."""
    largest = int(sizes.argmax())
    if sizes[largest] > MOST_TASKS or np.unique(sizes).sum() > 10 * MOST_TASKS:
        name = shorten(repr(trace.ids[int(rows[largest])]))
        raise InvalidInput(
            f"{shorten(trace.source, 100)}: job {name} needs {sizes[largest]} GPUs or CPUs, expected at most "
            f"{MOST_TASKS}, and fewer sizes of large jobs; check the unit of the column"
        )
