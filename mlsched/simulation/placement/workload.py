"""Stream of training jobs for the placement world, with their servers and interference."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, array, integer, labels, refuse_falling, refuse_first, text
from mlsched.core.record import Record
from mlsched.instances.placement import Instance
from mlsched.instances.placement.instance import MILLION, MOST_SLOWDOWN, MOST_USE

#: The paper's scheduling interval, s (Section VI-B).
INTERVAL = 1200
#: Warn if the queue at the last arrival exceeds this many mean isolated lengths; a burst stays below.
LONG_QUEUE = 5
#: Fields that an instance and a workload share.
MODEL = (
    "types",
    "pressures",
    "sigma_worker",
    "sigma_ps",
    "apart",
    "use_worker",
    "use_ps",
    "linear",
    "quadratic",
    "rho_ps",
    "rho_worker",
    "network_at",
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Workload(Record):
    """Jobs in arrival order, and empty servers. The interference and network model is that of `Instance`."""

    kind: ClassVar[str] = "placement.workload"
    problem: ClassVar[str] = "placement"

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    types: tuple[str, ...] = labels("types", doc="names of the types of job (models)")
    pressures: tuple[str, ...] = labels("pressures", doc="names of what the linear and quadratic models look at")
    server_capacity: IntArray = array("servers", "resources", doc="capacity of each server")
    sigma_worker: IntArray = array(
        "types",
        "types",
        high=MOST_SLOWDOWN,
        doc="slowdown of a job of the row's type, caused by one worker of the column's type, in millionths",
    )
    sigma_ps: IntArray = array(
        "types",
        "types",
        high=MOST_SLOWDOWN,
        doc="slowdown of a job of the row's type, caused by one PS of the column's type, in millionths",
    )
    apart: IntArray = array("types", "types", high=1, doc="1: jobs of these types never share a server; symmetric")
    use_worker: IntArray = array("types", "pressures", high=MOST_USE, doc="use by a worker, 1e-3 of a server")
    use_ps: IntArray = array("types", "pressures", high=MOST_USE, doc="use by a PS, 1e-3 of a server")
    linear: IntArray = array(
        "types", "pressures", high=MOST_SLOWDOWN, doc="slowdown per whole server that other jobs use, in millionths"
    )
    quadratic: IntArray = array(
        "types",
        "pressures",
        "pressures",
        high=MOST_SLOWDOWN,
        doc="slowdown per product of two such uses, in millionths",
    )
    rho_ps: IntArray = array("types", high=MOST_SLOWDOWN, doc="slowdown if all PSs are elsewhere, in millionths")
    rho_worker: IntArray = array(
        "types", high=MOST_SLOWDOWN, doc="slowdown if all other workers are elsewhere (all-reduce), in millionths"
    )
    submit: IntArray = array("jobs", doc="submission time, s, never falling")
    job_type: IntArray = array("jobs", doc="type of each job")
    job_speed: IntArray = array("jobs", low=1, high=10**9, doc="K of each job, 1e-6 of the job per interval")
    job_workers: IntArray = array("jobs", low=1, high=1000, doc="W: workers of each job")
    job_ps: IntArray = array("jobs", high=1000, doc="P: PSs of each job; 0 for all-reduce")
    worker_demand: IntArray = array("jobs", "resources", doc="demand of one worker")
    ps_demand: IntArray = array("jobs", "resources", doc="demand of one PS")
    network_at: str = text(choices=("workers", "tasks"), default="workers", doc="where rho_ps counts")
    interval: int = integer(low=1, high=10**6, default=INTERVAL, doc="seconds of the interval in which K is stated")
    source: str = text(default="", doc="where the jobs come from and under which interpretations")

    def check(self) -> None:
        refuse_falling("submit", self.submit)
        if not len(self.server_capacity):
            raise InvalidInput("server_capacity: 0 servers, expected at least one")
        types = len(self.types)
        refuse_first(self.job_type >= types, "job_type", self.job_type, f"expected below {types} (the number of types)")
        self.instance(np.zeros(0, dtype=np.int64))

    def instance(self, waiting: IntArray) -> Instance:
        """Return the question of placing some jobs on the empty servers, validated."""
        none, servers = np.zeros(0, dtype=np.int64), len(self.server_capacity)
        table = np.zeros((0, servers), dtype=np.int64)
        return Instance(
            resources=self.resources,
            server_capacity=self.server_capacity,
            server_free=self.server_capacity,
            run_type=none,
            run_speed=none,
            run_workers=table,
            run_ps=table,
            **self.model(),
            **self.jobs(waiting),
        )

    def model(self) -> Data:
        """Return the instance fields that describe types, interference and network."""
        return {name: getattr(self, name) for name in MODEL}

    def jobs(self, chosen: IntArray) -> dict[str, Any]:
        """Return the instance fields that describe the chosen jobs as new jobs."""
        names = ("job_type", "job_speed", "job_workers", "job_ps", "worker_demand", "ps_demand")
        return {name: getattr(self, name)[chosen] for name in names}

    @property
    def total(self) -> int:
        """Return the work of a complete job in the unit of the log, which is 1e-6 jobs times seconds of an interval."""
        return MILLION * self.interval

    @property
    def cluster(self) -> str:
        """Describe the cluster, e.g. "6x(8 cpu, 2 gpu, 48 ram)"; shapes in order of first appearance."""
        counts: dict[tuple[int, ...], int] = {}
        for row in self.server_capacity.tolist():
            counts[tuple(row)] = counts.get(tuple(row), 0) + 1
        return " + ".join(
            f"{n}x({', '.join(f'{c} {r}' for c, r in zip(shape, self.resources, strict=True))})"
            for shape, n in counts.items()
        )


def never_start(workload: Workload) -> list[str]:
    """List the jobs that can never start, as they do not fit the empty servers completely; empty if all can."""
    fits: dict[tuple[int, ...], bool] = {}
    wrong = []
    for j in range(len(workload.submit)):
        w, p = int(workload.job_workers[j]), int(workload.job_ps[j])
        key = (w, p, *workload.worker_demand[j].tolist(), *workload.ps_demand[j].tolist())
        if key not in fits:
            fits[key] = _fits_whole(workload, w, p, workload.worker_demand[j], workload.ps_demand[j])
        if not fits[key]:
            wrong.append(j)
    if not wrong:
        return []
    j = wrong[0]
    return [
        f"{len(wrong)} of {len(workload.submit)} jobs do not fit the empty servers {workload.cluster}; the first is "
        f"job {j} ({workload.job_workers[j]} workers, {workload.job_ps[j]} PSs)"
    ]


def _fits_whole(workload: Workload, workers: int, ps: int, worker: IntArray, each: IntArray) -> bool:
    """Check whether the empty servers have room: server by server, most PSs for each number of workers."""
    most = np.full(workers + 1, -1, dtype=np.int64)
    most[0] = 0
    for capacity in workload.server_capacity:
        before = most.copy()
        for here in range(1 + min(workers, _copies(capacity, worker, workers))):
            room = _copies(capacity - here * worker, each, ps)
            reach = before[: workers + 1 - here]
            most[here:] = np.maximum(most[here:], np.where(reach >= 0, reach + room, -1))
    return bool(most[workers] >= ps)


def _copies(free: IntArray, demand: IntArray, most: int) -> int:
    """Return the number of tasks of a demand that fit into `free`, up to `most`."""
    needed = demand > 0
    return min(most, int((free[needed] // demand[needed]).min(initial=most)))


def overload(workload: Workload) -> list[str]:
    """List the resources with more arriving work than capacity, even without any slowdown."""
    if len(workload.submit) < 2:
        return []
    intervals, longest = _count_intervals(workload), LONG_QUEUE * float((MILLION / workload.job_speed).mean())
    return [
        f"the offered load on {name} is {load:.2f} times the servers' capacity, without any interference: the queue "
        "grows while jobs arrive"
        for name, load in offered_load(workload).items()
        if (load - 1) * intervals > longest
    ]


def offered_load(workload: Workload) -> dict[str, float]:
    """Return resource -> demand x isolated length of all jobs over capacity x arrival time (last interval included).

    The real load is larger by the slowdown of the jobs, which depends on the policy.
    """
    if not len(workload.submit):
        return dict.fromkeys(workload.resources, 0.0)
    intervals = _count_intervals(workload)
    demand = workload.job_workers[:, None] * workload.worker_demand + workload.job_ps[:, None] * workload.ps_demand
    load = (demand / workload.job_speed[:, None] * MILLION).sum(axis=0)
    capacity = workload.server_capacity.sum(axis=0)
    return {
        name: float(load[r] / (capacity[r] * intervals)) if capacity[r] else float("inf") if load[r] else 0.0
        for r, name in enumerate(workload.resources)
    }


def _count_intervals(workload: Workload) -> float:
    """Return the number of intervals with arrivals, the last included."""
    return (int(workload.submit[-1]) - int(workload.submit[0])) / workload.interval + 1
