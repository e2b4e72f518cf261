"""Stream of training jobs for the workers world, with the cluster they share."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, labels, refuse_falling, refuse_first, text
from mlsched.core.record import Record
from mlsched.instances.workers import NEVER

#: The clock of this world counts milliseconds; iterations are timed in nanoseconds.
MS, NS_PER_MS = 1000, 10**6


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Workload(Record):
    """Jobs in order of submission, their training models, and the cluster (Chic, Sections 2.2 and 6.1).

    Times are integer milliseconds, but `iteration` is in ns: B iterations of g ns take ceil(B g / 10^6) ms, and in t ms
    floor(10^6 t / g) are done. `iteration[m, w - 1, p - 1]` is the time of an iteration with w workers and p PSs,
    `NEVER` if a job of model m cannot train with them. Jobs never get more workers and PSs than the table covers.
    """

    kind: ClassVar[str] = "workers.workload"
    problem: ClassVar[str] = "workers"

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    models: tuple[str, ...] = labels("models", doc="names of the training models")
    capacity: IntArray = array("resources", high=UNLIMITED, doc="of each resource, what the cluster has")
    worker_demand: IntArray = array("models", "resources", high=UNLIMITED, doc="demand of one worker")
    ps_demand: IntArray = array("models", "resources", high=UNLIMITED, doc="demand of one PS")
    iteration: IntArray = array("models", "workers", "ps", low=1, doc="ns of one iteration, or NEVER")
    submit: IntArray = array("jobs", doc="submission time, ms, never falling")
    model: IntArray = array("jobs", doc="training model of each job")
    iterations: IntArray = array("jobs", low=1, doc="iterations of each job")
    source: str = text(default="", doc="where the jobs come from and under which interpretations")

    def check(self) -> None:
        refuse_first(
            self.model >= len(self.models),
            "model",
            self.model,
            f"expected below {len(self.models)} (the number of models)",
        )
        refuse_falling("submit", self.submit)
        slowest = np.where(self.iteration == NEVER, 0, self.iteration).max(axis=(1, 2), initial=0).tolist()
        for j, (m, count) in enumerate(zip(self.model.tolist(), self.iterations.tolist(), strict=True)):
            if count * slowest[m] > EXACT * NS_PER_MS // MS:
                raise InvalidInput(
                    f"iterations[{j}] = {count}: take up to {count * slowest[m]} ns: expected below "
                    f"{EXACT * NS_PER_MS // MS}"
                )

    @property
    def cluster(self) -> str:
        """Describe the cluster in words."""
        return ", ".join(f"{c} {r}" for c, r in zip(self.capacity.tolist(), self.resources, strict=True))


def startable(workload: Workload) -> Any:
    """Return where a job of each model can train on the empty cluster: booleans, shape (models, workers, PSs)."""
    _, most_workers, most_ps = workload.iteration.shape
    w, p = np.arange(1, most_workers + 1)[:, None], np.arange(1, most_ps + 1)[None, :]
    need = (
        workload.worker_demand[:, None, None, :] * w[None, :, :, None]
        + workload.ps_demand[:, None, None, :] * p[None, :, :, None]
    )
    return (need <= workload.capacity).all(axis=3) & (workload.iteration != NEVER)


def never_start(workload: Workload) -> list[str]:
    """List the jobs that can never start, with the numbers; empty if all can."""
    can = startable(workload).any(axis=(1, 2))[workload.model]
    if can.all():
        return []
    j = int(np.flatnonzero(~can)[0])
    name = workload.models[int(workload.model[j])]
    return [
        f"{int((~can).sum())} of {len(can)} jobs cannot train on {workload.cluster}, whatever their workers and PSs; "
        f"the first is job {j} ({name})"
    ]


#: Warn if the queue at the last arrival exceeds this many mean job times.
LONG_QUEUE = 5


def overload(workload: Workload) -> list[str]:
    """List the resources with more demand than capacity while jobs arrive, in each job's thriftiest configuration."""
    span = float(workload.submit[-1] - workload.submit[0]) if len(workload.submit) else 0.0
    overloaded = []
    for name, (load, seconds) in offered_load(workload).items():
        backlog = (load - 1) * span / MS
        if span and backlog > LONG_QUEUE * seconds:
            overloaded.append(
                f"the offered load on {name} is at least {load:.2f} times the cluster's capacity: "
                f"at the last arrival some {backlog / 3600:.1f} hours of work wait"
            )
    return overloaded


def offered_load(workload: Workload) -> dict[str, tuple[float, float]]:
    """Return resource -> (least load of the jobs, mean seconds of a job in that configuration).

    The load of a job is its demand x time over capacity x span of the arrivals, in the configuration of workers and PSs
    with the least load. It is infinite for a burst at one instant.
    """
    span = float(workload.submit[-1] - workload.submit[0]) if len(workload.submit) else 0.0
    _, most_workers, most_ps = workload.iteration.shape
    w, p = np.arange(1, most_workers + 1)[:, None], np.arange(1, most_ps + 1)[None, :]
    seconds = np.where(startable(workload), workload.iteration / 10**9, np.inf)
    loads = {}
    for r, name in enumerate(workload.resources):
        need = workload.worker_demand[:, r, None, None] * w + workload.ps_demand[:, r, None, None] * p
        with np.errstate(invalid="ignore"):
            work = np.where(np.isinf(seconds), np.inf, need * seconds).reshape(len(workload.models), -1)
        thrifty = work.argmin(axis=1)
        rows = np.arange(len(thrifty))
        total = float((workload.iterations * work[rows, thrifty][workload.model]).sum())
        time = workload.iterations * seconds.reshape(len(rows), -1)[rows, thrifty][workload.model]
        room = float(workload.capacity[r]) * span / MS
        load = total / room if room else float("inf") if total else 0.0
        loads[name] = (load, float(time.mean()) if len(time) else 0.0)
    return loads
