"""What the jobs of a log ask for."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import IntArray
from mlsched.instances.traces import Trace
from mlsched.simulation.nodes import RESOURCES

#: Tasks that a job may have.
MOST_TASKS = 10**5


@dataclasses.dataclass(frozen=True)
class Asked:
    """The jobs of a log in order of submit, less those that ask for nothing.

    rows: which rows of the trace they are; of_jobs: what each asks for (jobs x RESOURCES); of_tasks: of each job, what
    the log says of each of its tasks (tasks x RESOURCES), empty where it says nothing; counted: the resource by which
    tasks are counted; said: what is said of it.
    """

    rows: IntArray
    of_jobs: IntArray
    of_tasks: list[IntArray]
    counted: int
    said: list[str]

    @classmethod
    def of(cls, trace: Trace, nodes: IntArray | None) -> Asked:
        """What the jobs of a trace ask of these nodes; InvalidInput where a job is larger than any cluster here."""
        asked, rows, said = _asked(trace, nodes)
        counted = _counted(asked)
        of_tasks = _of_tasks(trace, rows, np.flatnonzero(asked.any(axis=0)))
        sizes = np.maximum(-(-asked[:, counted] // 1000), [max(1, len(tasks)) for tasks in of_tasks] or 1)
        _refuse_large(trace, rows, sizes)
        return cls(rows, asked, of_tasks, counted, said)

    def by_gpu(self) -> IntArray:
        """What a GPU (or CPU) comes with, rounded up: of each job, or of each task where the log states its tasks."""
        asked, counted = self.of_jobs, self.counted
        each = [tasks if len(tasks) else asked[j : j + 1] for j, tasks in enumerate(self.of_tasks)]
        rows = np.concatenate(each or [asked])
        return np.asarray(-(-rows // np.maximum(-(-rows[:, counted] // 1000), 1)[:, None]))


def _asked(trace: Trace, nodes: IntArray | None) -> tuple[IntArray, IntArray, list[str]]:
    """What the jobs ask for (jobs x RESOURCES), which jobs of the trace they are, in order of submit, and what is said.

    A resource that the cluster has none of is left out, unless that would leave nothing to ask for.
    """
    order, said = np.argsort(trace.submit, kind="stable"), []
    asked = np.stack([trace.cpu_milli, trace.memory_mib, trace.gpus_milli], axis=1)[order].clip(0)
    there = range(len(RESOURCES)) if nodes is None else np.flatnonzero(nodes.any(axis=0)).tolist()
    lacking = [r for r in np.flatnonzero(asked.any(axis=0)).tolist() if r not in there]
    if lacking and _counted(asked) in there:
        asked[:, lacking] = 0
        names = " and ".join(RESOURCES[r] for r in lacking)
        said.append(f"{names} left out: the cluster states none")
        nothing = ~asked.any(axis=1)
        if nothing.any():
            said.append(f"{nothing.sum()} jobs that ask for nothing else left out")
            asked, order = asked[~nothing], order[~nothing]
    return asked, order, said


def _counted(asked: IntArray) -> int:
    """The resource by which a job's tasks are counted: GPUs, and CPUs where no job asks for a GPU."""
    gpu, cpu = RESOURCES.index("gpu_milli"), RESOURCES.index("cpu_milli")
    return gpu if asked[:, gpu].any() or not asked[:, cpu].any() else cpu


def _of_tasks(trace: Trace, rows: IntArray, there: IntArray) -> list[IntArray]:
    """What the log says of each task of each job (tasks x RESOURCES), of the resources that count; empty: nothing."""
    if not trace.tasks:
        return []
    counts = np.isin(np.arange(len(RESOURCES)), there)
    return [np.array(trace.tasks[row], dtype=np.int64).reshape(-1, len(RESOURCES)) * counts for row in rows.tolist()]


def _refuse_large(trace: Trace, rows: IntArray, sizes: IntArray) -> None:
    """Refuse jobs of more tasks than any cluster here has, before memory is filled with them."""
    largest = int(sizes.argmax())
    if sizes[largest] > MOST_TASKS or np.unique(sizes).sum() > 10 * MOST_TASKS:
        name = shorten(repr(trace.ids[int(rows[largest])]))
        raise InvalidInput(
            f"{shorten(trace.source, 100)}: job {name} asks for {sizes[largest]} GPUs or CPUs: jobs must be of at "
            f"most {MOST_TASKS}, and of fewer sizes if they are so large; check the unit of the column"
        )
