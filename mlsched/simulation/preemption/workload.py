"""Stream of TE and BE jobs for the preemption world, with its cluster."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, array, labels, refuse_falling, text
from mlsched.core.record import Record
from mlsched.instances.preemption.demand import fits_somewhere
from mlsched.simulation.nodes import amount, called, described


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Workload(Record):
    """Jobs in submission order and the nodes they run on. All times in integer seconds."""

    kind: ClassVar[str] = "preemption.workload"
    problem: ClassVar[str] = "preemption"

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    node_capacity: IntArray = array("nodes", "resources", doc="capacity of each node")
    submit: IntArray = array("jobs", doc="submission time, s, never falling")
    te: IntArray = array("jobs", high=1, doc="1 for a trial-and-error job, 0 for a best-effort job")
    execution: IntArray = array("jobs", low=1, doc="execution time without interruption, s")
    demand: IntArray = array("jobs", "resources", doc="demand while running")
    grace: IntArray = array("jobs", doc="grace period, s")
    source: str = text(default="", doc="where the jobs come from and under which interpretations")

    def check(self) -> None:
        refuse_falling("submit", self.submit)
        if not len(self.node_capacity):
            raise InvalidInput("node_capacity: 0 nodes, expected at least one")

    @property
    def cluster(self) -> str:
        """Describe the cluster, e.g. "84x(32 cpu, 256 ram, 8 gpu)"; node shapes in order of first appearance."""
        return described(self.node_capacity, self.resources)


#: Warn if the queue at the last arrival exceeds this many mean execution times; a burst or closed loop stays below.
LONG_QUEUE = 5


def never_start(workload: Workload) -> list[str]:
    """List the jobs that can never start, and block all behind them, with the numbers; empty if all can."""
    fits = fits_somewhere(workload.demand, workload.node_capacity)
    if fits.all():
        return []
    j = int(np.flatnonzero(~fits)[0])
    need = ", ".join(map(amount, workload.demand[j].tolist(), workload.resources))
    return [
        f"{int((~fits).sum())} of {len(fits)} jobs fit no node of {workload.cluster}; the first is job {j} ({need})"
    ]


def overload(workload: Workload) -> list[str]:
    """List the resources whose offered load exceeds the cluster while jobs arrive, with the numbers."""
    span = float(workload.submit[-1] - workload.submit[0]) if len(workload.submit) else 0.0
    overloaded = []
    for name, load in offered_load(workload).items():
        backlog = (load - 1) * span
        if span and backlog > LONG_QUEUE * float(workload.execution.mean()):
            overloaded.append(
                f"the offered load on {called(name)} is {load:.2f} times the cluster's capacity: "
                f"at the last arrival some {backlog / 3600:.1f} hours of work wait"
            )
    return overloaded


def offered_load(workload: Workload) -> dict[str, float]:
    """Return resource -> demand x execution time over capacity x span of the arrivals; infinite for a burst."""
    span = float(workload.submit[-1] - workload.submit[0]) if len(workload.submit) else 0.0
    total = workload.node_capacity.sum(axis=0)
    load = {}
    for r, name in enumerate(workload.resources):
        work = float((workload.demand[:, r].astype(float) * workload.execution).sum())
        load[name] = work / (float(total[r]) * span) if span and total[r] else float("inf") if work else 0.0
    return load
